//! Datagrams: echoed, lost, too large, from nobody.

use std::net::UdpSocket;

use probehost_capability::udp::{ErrorKind, MAX_PAYLOAD, Phase, Request};
use probehost_capability::{CallResult, Run};
use probehost_test_support::udp::UdpServer;

use crate::{AMPLE, SHORT, capabilities, free};

fn request(host: &str, port: u16, payload: &[u8]) -> Request {
    Request { host: host.to_owned(), port, payload: payload.to_vec(), reply_limit: 512, tries: 1 }
}

fn to(server: &UdpServer, payload: &[u8]) -> Request {
    request("127.0.0.1", server.address().port(), payload)
}

#[tokio::test]
async fn an_echo() {
    let server = UdpServer::echo();
    let run = free(AMPLE);
    for payload in [&b"ping"[..], b""] {
        let reply = capabilities(&[]).udp().exchange(&run, to(&server, payload)).await.unwrap();
        assert_eq!(reply.payload, payload);
        assert!(reply.time < AMPLE);
    }
    let trace = run.take_trace();
    let call = &trace.calls[0];
    assert_eq!((call.capability, &call.result), ("udp", &CallResult::Ok));
    assert_eq!(call.what, format!("send 4 bytes to {}", server.address()));
}

/// P3: silence is cut at the deadline; until then it was asked as often as was wanted.
#[tokio::test]
async fn silence() {
    for tries in [0, 1, 3] {
        let server = UdpServer::silent();
        let run = free(SHORT);
        let request = Request { tries, ..to(&server, b"anybody?") };
        let error = capabilities(&[]).udp().exchange(&run, request).await.unwrap_err();
        assert_eq!((error.kind, error.phase), (ErrorKind::Timeout, Phase::Reply), "{error}");
        let peer = server.address();
        assert_eq!(error.message, format!("timeout after 600 ms waiting for a reply from {peer}"));
        assert_eq!(run.timeout_message().as_deref(), Some(error.message.as_str()));
        assert_eq!(server.received(), vec![b"anybody?".to_vec(); usize::from(tries.max(1))]);
    }
}

/// A datagram that is lost costs one of the tries.
#[tokio::test]
async fn a_lost_datagram() {
    let mut count = 0;
    let server = UdpServer::start(move |bytes| {
        count += 1;
        if count < 3 { Vec::new() } else { vec![bytes.to_vec()] }
    });
    let request = Request { tries: 5, ..to(&server, b"again") };
    let run = free(SHORT * 2);
    let reply = capabilities(&[]).udp().exchange(&run, request).await.unwrap();
    assert_eq!(reply.payload, b"again");
    assert_eq!(server.received().len(), 3);
    assert!(reply.time >= SHORT / 2, "the time is from the first try on: {reply:?}");
}

#[tokio::test]
async fn a_large_reply() {
    let server = UdpServer::start(|_| vec![vec![7; 513]]);
    let udp = capabilities(&[]);
    let error = udp.udp().exchange(&free(AMPLE), to(&server, b"?")).await.unwrap_err();
    assert_eq!((error.kind, error.phase), (ErrorKind::TooLarge, Phase::Reply), "{error}");
    assert!(error.message.contains("more than 512 bytes"), "{error}");
    let roomy = Request { reply_limit: 513, ..to(&server, b"?") };
    assert_eq!(udp.udp().exchange(&free(AMPLE), roomy).await.unwrap().payload.len(), 513);
    let most = Request { reply_limit: u32::MAX, ..to(&server, b"?") };
    assert_eq!(udp.udp().exchange(&free(AMPLE), most).await.unwrap().payload.len(), 513);
}

async fn failing(run: &Run, request: Request) -> probehost_capability::udp::Error {
    let table: &[(&str, &[&str])] = &[("far.example", &["2001:db8::1"])];
    capabilities(table).udp().exchange(run, request).await.unwrap_err()
}

/// P7: what keeps a reply from coming is told apart.
#[tokio::test]
async fn no_reply() {
    let closed = {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        socket.local_addr().unwrap().port()
    };
    let large = vec![0; MAX_PAYLOAD + 1];
    for (asked, kind, phase, says) in [
        (request("127.0.0.1", closed, b"?"), ErrorKind::Refused, Phase::Reply, "nothing listens"),
        (request("gone.example", 1, b"?"), ErrorKind::NameNotFound, Phase::Dns, "does not exist"),
        (request("127.0.0.1", 1, &large), ErrorKind::Invalid, Phase::Request, "65507"),
        (request("a b", 1, b"?"), ErrorKind::Invalid, Phase::Request, "is no host"),
    ] {
        let error = failing(&free(AMPLE), asked).await;
        assert_eq!((error.kind, error.phase), (kind, phase), "{error}");
        assert!(error.message.contains(says), "{error}");
    }
}

/// Where one address has nobody the next of the name is taken.
#[tokio::test]
async fn the_next_address() {
    let server = UdpServer::echo();
    let udp = capabilities(&[("two.example", &["127.0.0.2", "127.0.0.1"])]);
    let asked = request("two.example", server.address().port(), b"ping");
    assert_eq!(udp.udp().exchange(&free(AMPLE), asked).await.unwrap().payload, b"ping");
}

/// G3: who was not asked is not heard.
#[tokio::test]
async fn a_stranger() {
    // The server tells the stranger where to send, who does so at once.
    let server = UdpSocket::bind("127.0.0.1:0").unwrap();
    let address = server.local_addr().unwrap();
    let serving = std::thread::spawn(move || {
        let stranger = UdpSocket::bind("127.0.0.1:0").unwrap();
        let mut bytes = [0; 16];
        let (_, from) = server.recv_from(&mut bytes).unwrap();
        stranger.send_to(b"forged", from).unwrap();
        server.send_to(b"true", from).unwrap();
    });
    let asked = request("127.0.0.1", address.port(), b"?");
    let reply = capabilities(&[]).udp().exchange(&free(AMPLE), asked).await.unwrap();
    assert_eq!(reply.payload, b"true");
    serving.join().unwrap();
}
