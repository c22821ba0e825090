//! Names, and name servers that answer, deny, fail or are silent.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use probehost_capability::http::{ErrorKind, Phase};
use probehost_capability::resolve::Resolver;
use tokio::net::UdpSocket;

use crate::server::{Server, answer};
use crate::{free, request, run, with_resolver};

/// How a name server answers.
#[derive(Clone, Copy)]
enum Says {
    Loopback,
    Code(u8),
    Nothing,
}

/// A name server that gives each question the same answer.
async fn name_server(says: Says) -> SocketAddr {
    counting_name_server(says).await.0
}

/// The same, with the count of the questions that it got.
async fn counting_name_server(says: Says) -> (SocketAddr, Arc<AtomicUsize>) {
    let asked = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&asked);
    let socket = UdpSocket::bind("127.0.0.1:0").await.unwrap();
    let address = socket.local_addr().unwrap();
    tokio::spawn(async move {
        let mut packet = [0; 1500];
        while let Ok((length, peer)) = socket.recv_from(&mut packet).await {
            count.fetch_add(1, Ordering::SeqCst);
            if let Some(reply) = reply(&packet[..length], says) {
                let _ = socket.send_to(&reply, peer).await;
            }
        }
    });
    (address, asked)
}

fn reply(question: &[u8], says: Says) -> Option<Vec<u8>> {
    // The header has 12 bytes; then labels up to an empty one, type and class.
    let name_end = 12 + question[12..].iter().position(|byte| *byte == 0)? + 1;
    let asked = question.get(..name_end + 4)?;
    let is_a = asked[name_end..name_end + 2] == [0, 1];
    let (code, answers) = match says {
        Says::Nothing => return None,
        Says::Code(code) => (code, 0),
        Says::Loopback => (0, u8::from(is_a)),
    };
    let mut reply = asked.to_vec();
    // A response with recursion; one question, and so many answers.
    reply[2..12].copy_from_slice(&[0x81, 0x80 | code, 0, 1, 0, answers, 0, 0, 0, 0]);
    if answers == 1 {
        // The name of the question, type A, class IN, an hour, four bytes.
        reply.extend([0xc0, 12, 0, 1, 0, 1, 0, 0, 14, 16, 0, 4]);
        reply.extend(Ipv4Addr::LOCALHOST.octets());
    }
    Some(reply)
}

#[tokio::test]
async fn a_name_is_resolved() {
    let server = Server::play(answer("HTTP/1.1 200 OK\n\n")).await;
    let http = with_resolver(Resolver::with_servers(&[name_server(Says::Loopback).await]).unwrap());
    for host in ["good.example", "GOOD.example."] {
        let url = format!("http://{host}:{}/", server.address.port());
        let response = http.http().send(&free(), request("HEAD", url)).await.unwrap();
        assert!(response.timings.dns.is_some());
    }
}

/// An answer is kept for its time to live: many probes are one question for each family.
#[tokio::test]
async fn an_answer_is_kept() {
    let server = Server::play(answer("HTTP/1.1 200 OK\n\n")).await;
    let (name_server, asked) = counting_name_server(Says::Loopback).await;
    let http = with_resolver(Resolver::with_servers(&[name_server]).unwrap());
    for _ in 0..20 {
        let url = format!("http://good.example:{}/", server.address.port());
        http.http().send(&free(), request("HEAD", url)).await.unwrap();
    }
    assert_eq!(asked.load(Ordering::SeqCst), 2);
}

/// P6: a name that is not there tells of the target; a resolver that fails tells of itself.
#[tokio::test]
async fn name_servers_that_deny_and_fail() {
    for (code, kind, says) in [
        (3, ErrorKind::NameNotFound, "the name gone.example does not exist, or has no address"),
        (0, ErrorKind::NameNotFound, "the name gone.example does not exist, or has no address"),
        (2, ErrorKind::Resolver, "the name gone.example cannot be resolved now"),
        (5, ErrorKind::Resolver, "the name gone.example cannot be resolved now"),
    ] {
        let servers = [name_server(Says::Code(code)).await];
        let http = with_resolver(Resolver::with_servers(&servers).unwrap());
        let asked = request("HEAD", "http://gone.example/");
        let error = http.http().send(&free(), asked).await.unwrap_err();
        assert_eq!((error.kind, error.phase), (kind, Phase::Dns), "code {code}: {error}");
        assert!(error.message.starts_with(says), "code {code}: {error}");
        assert!(error.timings.dns.is_some() && error.timings.connect.is_none());
    }
}

/// P3: the deadline covers DNS, and the message says that it was DNS.
#[tokio::test]
async fn a_silent_name_server() {
    let servers = [name_server(Says::Nothing).await];
    let http = with_resolver(Resolver::with_servers(&servers).unwrap());
    let run = run(&["*://*:*"], Duration::from_millis(500));
    let error = http.http().send(&run, request("HEAD", "http://slow.example/")).await.unwrap_err();
    assert_eq!((error.kind, error.phase), (ErrorKind::Timeout, Phase::Dns));
    assert_eq!(
        error.message,
        "timeout after 500 ms waiting for DNS to resolve the name of slow.example:80"
    );
}

/// RFC 6761: `localhost` is loopback, and no name server is asked.
#[tokio::test]
async fn localhost_is_loopback() {
    let server = Server::play(answer("HTTP/1.1 200 OK\n\n")).await;
    let servers = [name_server(Says::Nothing).await];
    let http = with_resolver(Resolver::with_servers(&servers).unwrap());
    for host in ["localhost", "LocalHost.", "app.localhost"] {
        let url = format!("http://{host}:{}/", server.address.port());
        assert_eq!(http.http().send(&free(), request("HEAD", url)).await.unwrap().status, 200);
    }
}
