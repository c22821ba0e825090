//! Servers that fail, and what is said of it.

use probehost_capability::CallResult;
use probehost_capability::http::{ErrorKind, Phase};

use crate::server::{Server, Step, answer, closed_port};
use crate::{capabilities, free, request, send};

/// H3: nothing listens.
#[tokio::test]
async fn refused() {
    let address = closed_port().await;
    let error = send(request("HEAD", format!("http://{address}/"))).await.unwrap_err();
    assert_eq!((error.kind, error.phase), (ErrorKind::Refused, Phase::Connect));
    assert_eq!(error.message, format!("{address} refused the connection"));
    assert!(error.timings.connect.is_some() && error.timings.first_byte.is_none());
}

/// H3: servers that hang up, and servers that speak something else.
#[tokio::test]
async fn hanging_up_and_nonsense() {
    use ErrorKind::{Closed, Protocol, TooLarge};
    use Phase::{Body, FirstByte};
    let send_raw = |bytes: &[u8]| vec![Step::Read, Step::Send(bytes.to_vec())];
    let many = format!("HTTP/1.1 200 OK\n{}\n", "a: b\n".repeat(101));
    let long = format!("HTTP/1.1 200 OK\na: {}\n\n", "x".repeat(70_000));
    for (script, kind, phase, says) in [
        (vec![Step::Read], Closed, FirstByte, "closed the connection before it answered"),
        (
            vec![Step::Read, Step::Reset],
            Closed,
            FirstByte,
            "reset the connection before it answered",
        ),
        (answer("HTTP/1.1 200 OK\nContent-"), Closed, Body, "closed the connection before"),
        (
            answer("HTTP/1.1 200 OK\nContent-Length: 9\n\nshort"),
            Closed,
            Body,
            "before its answer was complete",
        ),
        (
            [answer("HTTP/1.1 200 OK\nContent-Length: 9\n\n"), vec![Step::Reset]].concat(),
            Closed,
            Body,
            "before its answer was complete",
        ),
        (
            answer("HTTP/1.1 200 OK\nTransfer-Encoding: chunked\n\n5\nhel"),
            Closed,
            Body,
            "before its answer was complete",
        ),
        (send_raw(b"\x00\x01\x02\x03\xff\xfe"), Protocol, Body, "does not speak HTTP/1.1"),
        (send_raw(b"<html>secret text</html>"), Protocol, Body, "does not speak HTTP/1.1"),
        (send_raw(b"+OK POP3 ready\r\n"), Protocol, Body, "does not speak HTTP/1.1"),
        (send_raw(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), Protocol, Body, "does not speak HTTP/1.1"),
        (answer("HTTP/1.1 abc\n\n"), Protocol, Body, "does not speak HTTP/1.1"),
        (answer("HTTP/1.1 200 OK\nno colon\n\n"), Protocol, Body, "does not speak HTTP/1.1"),
        (
            answer("HTTP/1.1 200 OK\nContent-Length: x\n\n"),
            Protocol,
            Body,
            "does not speak HTTP/1.1",
        ),
        (
            answer("HTTP/1.1 200 OK\nContent-Length: 1\nContent-Length: 2\n\n"),
            Protocol,
            Body,
            "does not speak HTTP/1.1",
        ),
        (
            answer("HTTP/1.1 200 OK\nTransfer-Encoding: chunked\n\nzz\n"),
            Protocol,
            Body,
            "does not speak HTTP/1.1",
        ),
        (answer(&many), TooLarge, Body, "has more than 64 KiB or 100 headers"),
        (answer(&long), TooLarge, Body, "has more than 64 KiB or 100 headers"),
        (answer(long.trim_end().repeat(4)), TooLarge, Body, "has more than 64 KiB or 100 headers"),
    ] {
        let shown = format!("{script:?}");
        let server = Server::play(script).await;
        let error = send(request("GET", server.url("/"))).await.unwrap_err();
        assert_eq!((error.kind, error.phase), (kind, phase), "{error}\n{shown}");
        assert!(error.message.contains(says), "{error}\n{shown}");
        assert!(error.message.contains(&server.address.to_string()), "{error}");
        // P8: nothing of what the server sent.
        assert!(!error.message.contains("secret"), "{error}");
    }
}

/// A server that speaks before it is asked: SSH, SMTP.
#[tokio::test]
async fn a_banner_is_not_http() {
    let server =
        Server::play(vec![Step::Send(b"SSH-2.0-OpenSSH_9.2\r\n".into()), Step::Hang]).await;
    let error = send(request("HEAD", server.url("/"))).await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::Protocol, "{error}");
}

/// A server that answers HEAD with a body, or twice, has answered.
#[tokio::test]
async fn more_than_was_asked_for_is_left_unread() {
    for more in ["surprise", "HTTP/1.1 500 Oops\n\n"] {
        let text = format!("HTTP/1.1 200 OK\nContent-Length: 8\n\n{more}");
        let server = Server::play(answer(text)).await;
        assert_eq!(send(request("HEAD", server.url("/"))).await.unwrap().status, 200);
    }
}

/// G2: what is not granted is not dialled, and the message holds the line that grants it.
#[tokio::test]
async fn denied() {
    let server = Server::play(answer("HTTP/1.1 200 OK\n\n")).await;
    let run = crate::run(&["https://127.0.0.1:*", "http://127.0.0.2:*"], crate::AMPLE);
    let error =
        capabilities(&[]).http().send(&run, request("HEAD", server.url("/"))).await.unwrap_err();
    assert_eq!((error.kind, error.phase), (ErrorKind::Denied, Phase::Request));
    let line = format!("allow = [\"http://{}\"] under [plugins.tester]", server.address);
    assert!(error.message.contains(&line), "{error}");
    assert_eq!(server.accepted(), 0);
    let CallResult::Denied { endpoint, grant_line } = run.take_trace().calls.remove(0).result
    else {
        panic!("not denied");
    };
    assert_eq!(endpoint.to_string(), format!("http://{}", server.address));
    assert_eq!(grant_line, line);
}

/// P1: nothing of a call is left when it is dropped half-way: the server sees the end.
#[tokio::test]
async fn a_dropped_call_closes_its_connection() {
    let server = Server::play(vec![Step::Read, Step::Hang, Step::Read]).await;
    let run = free();
    let http = capabilities(&[]);
    {
        let mut call = std::pin::pin!(http.http().send(&run, request("HEAD", server.url("/"))));
        while server.seen().is_empty() {
            let wait = tokio::time::sleep(std::time::Duration::from_millis(5));
            tokio::select! {
                _ = &mut call => panic!("it was answered"),
                () = wait => {}
            }
        }
    }
    assert_eq!(run.waiting().map(|waiting| waiting.phase), Some(Phase::FirstByte));
    assert!(matches!(run.take_trace().calls[0].result, CallResult::Failed(_)));
}
