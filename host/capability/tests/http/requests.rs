//! What is sent, and what is refused before anything is sent.

use probehost_capability::http::{ErrorKind, Phase, Request, RequestHeader};

use crate::server::{Server, Step, answer};
use crate::{capabilities, free, request, send};

fn header(name: &str, value: &str) -> RequestHeader {
    RequestHeader::text(name, value)
}

/// H1: the request is what was asked for, with what the host adds.
#[tokio::test]
async fn a_plain_head() {
    let server = Server::play(answer("HTTP/1.1 200 OK\n\n")).await;
    let mut asked = request("HEAD", server.url("/a%20b?q=1#fragment"));
    asked.headers.push(header("X-Probe", "one"));
    send(asked).await.unwrap();
    let seen = server.seen().remove(0);
    let mut lines: Vec<_> = seen.trim_end().split("\r\n").collect();
    assert_eq!(lines.remove(0), "head /a%20b?q=1 http/1.1");
    lines.sort_unstable();
    let version = env!("CARGO_PKG_VERSION");
    assert_eq!(
        lines,
        [
            "accept: */*",
            "connection: close",
            &format!("host: {}", server.address),
            &format!("user-agent: probehost/{version}"),
            "x-probe: one",
        ]
    );
}

/// A guest may choose its own user agent and accept header.
#[tokio::test]
async fn a_user_agent_of_its_own() {
    let server = Server::play(answer("HTTP/1.1 200 OK\n\n")).await;
    let mut asked = request("GET", server.url("/"));
    asked.headers = vec![header("User-Agent", "mine"), header("accept", "text/plain")];
    send(asked).await.unwrap();
    let seen = &server.seen()[0];
    assert!(seen.contains("user-agent: mine\r\n") && seen.contains("accept: text/plain\r\n"));
    assert!(!seen.contains("probehost") && !seen.contains("*/*"));
}

/// A body is framed by the host.
#[tokio::test]
async fn a_body_is_sent() {
    let mut script = vec![Step::Read, Step::ReadBody(5)];
    script.extend(answer("HTTP/1.1 200 OK\n\n").pop());
    let server = Server::play(script).await;
    let asked = Request { body: Some(b"Hello".to_vec()), ..request("POST", server.url("/")) };
    send(asked).await.unwrap();
    assert!(server.seen()[0].contains("content-length: 5\r\n"));
    assert_eq!(server.seen()[1], "hello");
}

/// Malformed requests are refused with what would be right, and nothing is dialled.
#[tokio::test]
async fn malformed_requests_are_invalid() {
    let server = Server::play(answer("HTTP/1.1 200 OK\n\n")).await;
    let url = server.url("/");
    let at = server.address;
    let with = |name: &str, value: &str| Request {
        headers: vec![header(name, value)],
        ..request("HEAD", &url)
    };
    for (asked, says) in [
        (request("HEAD", "/health"), "is not an absolute URL"),
        (request("HEAD", format!("ftp://{at}/")), "is neither http nor https"),
        (request("HEAD", "http:///"), "is not an absolute URL"),
        (request("HEAD", format!("http://me:pw@{at}/")), "has a user part"),
        (request("HEAD", "http://127.0.0.1:0/"), "has port 0"),
        (request("HEAD", "http://127.0.0.1:99999/"), "is not an absolute URL"),
        (request("HEAD", format!("http://{at}/{}", "x".repeat(9000))), "a URL of 9"),
        (request("", &url), "is not a method"),
        (request("GE T", &url), "is not a method"),
        (request("GET / HTTP/1.1\r\nHost: evil\r\n\r\nGET", &url), "is not a method"),
        (request("CONNECT", &url), "is not a method"),
        (with("x y", "v"), "\"x y\" is not the name of a header"),
        (with("x\r\nevil", "v"), "is not the name of a header"),
        (with("x", "v\r\nHost: evil"), "the header x has a line feed"),
        (with("x", "v\0"), "the header x has a line feed"),
        (with("Host", "evil"), "the header host is set by the host"),
        (with("Content-Length", "5"), "the header content-length is set by the host"),
        (with("Transfer-Encoding", "chunked"), "transfer-encoding is set by the host"),
        (with("Connection", "keep-alive"), "the header connection is set by the host"),
        (with("Expect", "100-continue"), "the header expect is set by the host"),
        (with("x", &"v".repeat(40_000)), "too many headers"),
        (
            Request { headers: vec![header("x", "v"); 65], ..request("HEAD", &url) },
            "too many headers",
        ),
        (
            Request { body: Some(vec![0; 4 * 1024 * 1024 + 1]), ..request("POST", &url) },
            "a body of 4194305 bytes",
        ),
    ] {
        let run = free();
        let error = capabilities(&[]).http().send(&run, asked).await.unwrap_err();
        assert_eq!((error.kind, error.phase), (ErrorKind::Invalid, Phase::Request), "{error}");
        assert!(error.message.contains(says), "{error}");
        assert_eq!(run.take_trace().calls.len(), 1);
    }
    assert_eq!(server.accepted(), 0);
}

/// P8: a header's value can be a secret, and is in no message.
#[tokio::test]
async fn values_of_headers_stay_out_of_messages() {
    let mut asked = request("HEAD", "http://127.0.0.1:1/");
    asked.headers.push(header("authorization", "hunter2\n"));
    let error = send(asked).await.unwrap_err();
    assert!(!error.message.contains("hunter2"), "{error}");
}
