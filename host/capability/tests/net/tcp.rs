//! Connections: what is read and written, and where they are cut.

use probehost_capability::CallResult;
use probehost_capability::tcp::{
    Connection, Error, ErrorKind, MAX_CONNECTIONS, MAX_READ_BYTES, Phase,
};
use probehost_test_support::upstream::{ClosedPort, FullBacklog, Script, Step, Upstream};
use probehost_test_support::wait::eventually;

use crate::{AMPLE, SHORT, capabilities, free};

async fn connect(upstream: &Upstream) -> Connection {
    let run = free(AMPLE);
    capabilities(&[]).tcp().connect(&run, "127.0.0.1", upstream.port()).await.unwrap()
}

/// A banner, a line, an answer, the end; each call is in the trace with its times.
#[tokio::test]
async fn a_conversation() {
    let script =
        [Step::Send(b"220 ready\r\n".to_vec()), Step::ReadHead, Step::Send(b"250 well".to_vec())];
    let upstream = Upstream::script(script);
    let (run, port) = (free(AMPLE), upstream.port());
    let host = capabilities(&[("mail.example", &["127.0.0.1"])]);
    let mut connection = host.tcp().connect(&run, "Mail.Example", port).await.unwrap();
    assert!(connection.timings().dns.is_some() && connection.timings().connect.is_some());
    assert!(connection.timings().tls.is_none() && connection.certificate().is_none());
    assert_eq!(connection.read(4).await.unwrap().unwrap(), b"220 ");
    assert_eq!(connection.read(64).await.unwrap().unwrap(), b"ready\r\n");
    connection.write(b"HELO / HTTP/1.1\r\n\r\n").await.unwrap();
    assert_eq!(connection.read(0).await.unwrap().unwrap(), b"2");
    assert_eq!(connection.read(64).await.unwrap().unwrap(), b"50 well");
    assert_eq!(connection.read(64).await.unwrap(), None);
    assert_eq!(connection.read(64).await.unwrap(), None);
    let trace = run.take_trace();
    let calls: Vec<_> = trace.calls.iter().map(|call| call.what.as_str()).collect();
    let (read, write) = (
        format!("read from mail.example:{port}"),
        format!("write 19 bytes to mail.example:{port}"),
    );
    assert_eq!(calls[0], format!("connect to Mail.Example:{port}"));
    assert_eq!(calls[1..], [&read, &read, &write, &read, &read, &read, &read]);
    let well = |call: &probehost_capability::Call| {
        (call.capability, &call.result) == ("tcp", &CallResult::Ok)
    };
    assert!(trace.calls.iter().all(well), "{trace:?}");
    assert!(trace.calls[0].timings.dns.is_some());
}

async fn failing(host: &str, port: u16) -> Error {
    let table: &[(&str, &[&str])] = &[("loop.example", &["127.0.0.1"])];
    capabilities(table).tcp().connect(&free(AMPLE), host, port).await.unwrap_err()
}

/// P7: what keeps a connection from coming about is told apart.
#[tokio::test]
async fn no_connection() {
    let closed = ClosedPort::reserve().address().port();
    for (host, port, kind, phase, says) in [
        ("loop.example", closed, ErrorKind::Refused, Phase::Connect, "refused the connection"),
        ("gone.example", 80, ErrorKind::NameNotFound, Phase::Dns, "gone.example does not exist"),
        ("", 80, ErrorKind::Invalid, Phase::Request, "is no host"),
        ("[::1]", 80, ErrorKind::Invalid, Phase::Request, "without brackets"),
        ("0x7f.1", 80, ErrorKind::Invalid, Phase::Request, "is no host"),
        ("loop.example", 0, ErrorKind::Invalid, Phase::Request, "port 0"),
    ] {
        let error = failing(host, port).await;
        assert_eq!((error.kind, error.phase), (kind, phase), "{error}");
        assert!(error.message.contains(says), "{error}");
    }
}

/// P3: a server that does not take connections is cut at the deadline, and the phase is named.
#[tokio::test]
async fn a_stalled_connect() {
    let full = FullBacklog::start();
    let run = free(SHORT);
    let port = full.address().port();
    let error = capabilities(&[]).tcp().connect(&run, "127.0.0.1", port).await.unwrap_err();
    assert_eq!((error.kind, error.phase), (ErrorKind::Timeout, Phase::Connect), "{error}");
    assert_eq!(error.message, format!("timeout after 600 ms connecting to 127.0.0.1:{port}"));
    // P5: whoever cuts the run can say the same.
    assert_eq!(run.timeout_message().as_deref(), Some(error.message.as_str()));
}

/// P3: one that says nothing, too; the connection is of no use afterwards.
#[tokio::test]
async fn a_stalled_read() {
    let upstream = Upstream::script(Script::hang());
    let run = free(SHORT);
    let port = upstream.port();
    let mut connection = capabilities(&[]).tcp().connect(&run, "127.0.0.1", port).await.unwrap();
    let error = connection.read(64).await.unwrap_err();
    assert_eq!((error.kind, error.phase), (ErrorKind::Timeout, Phase::Read), "{error}");
    let says = format!("timeout after 600 ms waiting for bytes from 127.0.0.1:{port}");
    assert_eq!(error.message, says);
    assert!(error.timings.connect.is_some(), "{error:?}");
    let trace = run.take_trace();
    assert_eq!(trace.calls[1].result, CallResult::TimedOut(says));
    assert_eq!(connection.read(64).await.unwrap_err().kind, ErrorKind::Closed);
    let open = || async { upstream.open_connections() };
    eventually("the connection is closed", AMPLE, open, |open| *open == 0).await;
}

/// P3: and one that takes nothing.
#[tokio::test]
async fn a_stalled_write() {
    // A script that hangs reads and forgets; one that sleeps does not read.
    let upstream = Upstream::script([Step::Sleep(AMPLE)]);
    let run = free(SHORT);
    let port = upstream.port();
    let mut connection = capabilities(&[]).tcp().connect(&run, "127.0.0.1", port).await.unwrap();
    let error = connection.write(&vec![0; 64 << 20]).await.unwrap_err();
    assert_eq!((error.kind, error.phase), (ErrorKind::Timeout, Phase::Write), "{error}");
    assert!(error.message.contains("which does not read"), "{error}");
}

/// A reset is told from an end.
#[tokio::test]
async fn a_reset() {
    let upstream = Upstream::script(Script::reset());
    let mut connection = connect(&upstream).await;
    connection.write(b"GET / HTTP/1.1\r\n\r\n").await.unwrap();
    let error = connection.read(64).await.unwrap_err();
    assert_eq!((error.kind, error.phase), (ErrorKind::Closed, Phase::Read), "{error}");
    assert!(error.message.contains("reset the connection while it was read from"), "{error}");
}

/// G4: what a run reads is limited, over all its connections.
#[tokio::test]
async fn bytes_are_limited() {
    let upstream = Upstream::script([Step::Flood(3 << 20), Step::Hang]);
    let run = free(AMPLE);
    let host = capabilities(&[]);
    let mut first = host.tcp().connect(&run, "127.0.0.1", upstream.port()).await.unwrap();
    let mut second = host.tcp().connect(&run, "127.0.0.1", upstream.port()).await.unwrap();
    let mut total = 0;
    while total < 3 << 20 {
        total += first.read(u32::MAX).await.unwrap().unwrap().len();
    }
    let error = loop {
        match second.read(u32::MAX).await {
            Ok(bytes) => total += bytes.unwrap().len(),
            Err(error) => break error,
        }
    };
    assert_eq!(total, MAX_READ_BYTES);
    assert_eq!((error.kind, error.phase), (ErrorKind::TooLarge, Phase::Read), "{error}");
    assert!(error.message.contains("4 MiB"), "{error}");
    // Writing is still possible.
    first.write(b"x").await.unwrap();
    // P1: another run has its own.
    let mut other = connect(&upstream).await;
    assert!(other.read(64).await.unwrap().is_some());
}

/// G4: connections are counted, and one that is dropped is closed and makes room.
#[tokio::test]
async fn connections_are_limited() {
    let upstream = Upstream::script(Script::hang());
    let (run, port) = (free(AMPLE), upstream.port());
    let host = capabilities(&[]);
    let mut all = Vec::new();
    for _ in 0..MAX_CONNECTIONS {
        all.push(host.tcp().connect(&run, "127.0.0.1", port).await.unwrap());
    }
    let error = host.tcp().connect(&run, "127.0.0.1", port).await.unwrap_err();
    assert_eq!((error.kind, error.phase), (ErrorKind::Invalid, Phase::Request), "{error}");
    assert!(error.message.contains("at most 16 connections"), "{error}");
    all.pop();
    all.push(host.tcp().connect(&run, "127.0.0.1", port).await.unwrap());
    drop(all);
    let open = || async { upstream.open_connections() };
    eventually("all connections are closed", AMPLE, open, |open| *open == 0).await;
}

/// P4: a call that is dropped is no timeout.
#[tokio::test]
async fn a_call_that_is_left() {
    let upstream = Upstream::script(Script::hang());
    let run = free(AMPLE);
    let host = capabilities(&[]);
    let mut connection = host.tcp().connect(&run, "127.0.0.1", upstream.port()).await.unwrap();
    let left = tokio::time::timeout(SHORT, connection.read(64)).await;
    assert!(left.is_err());
    assert_eq!(run.waiting().map(|waiting| waiting.phase), Some(Phase::Read));
    let trace = run.take_trace();
    assert!(matches!(trace.calls[1].result, CallResult::Failed(_)), "{trace:?}");
}
