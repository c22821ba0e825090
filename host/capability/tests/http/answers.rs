//! What comes back of answers, usual and odd.

use probehost_capability::http::{ErrorKind, Phase};
use probehost_capability::{CallResult, Run};

use crate::server::{Server, Step, answer};
use crate::{capabilities, free, request, send};

/// H1, H5: a HEAD reads no body, whatever the length that the answer claims.
#[tokio::test]
async fn head_with_a_content_length() {
    let server = Server::play(answer("HTTP/1.1 200 OK\nContent-Length: 5000\n\n")).await;
    let response = send(request("HEAD", server.url("/x"))).await.unwrap();
    assert_eq!((response.status, response.body.len()), (200, 0));
    assert_eq!(response.url, server.url("/x"));
    assert_eq!(response.certificate, None);
    let timings = response.timings;
    assert!(timings.connect.is_some() && timings.first_byte.is_some());
    assert_eq!((timings.dns, timings.tls), (None, None));
    assert!(timings.total >= timings.connect.unwrap() + timings.first_byte.unwrap());
}

/// H5: each call has a connection of its own.
#[tokio::test]
async fn a_connection_for_each_call() {
    let server = Server::play(answer("HTTP/1.1 204 No Content\n\n")).await;
    for _ in 0..3 {
        send(request("HEAD", server.url("/"))).await.unwrap();
    }
    assert_eq!(server.accepted(), 3);
}

/// H2: every status is an answer to this layer.
#[tokio::test]
async fn every_status_is_an_answer() {
    for status in [101, 204, 302, 304, 401, 405, 499, 500, 503, 599, 999] {
        let server = Server::play(answer(format!("HTTP/1.1 {status} x\n\n"))).await;
        assert_eq!(send(request("HEAD", server.url("/"))).await.unwrap().status, status);
    }
}

/// The answers before the answer are skipped.
#[tokio::test]
async fn interim_answers_are_skipped() {
    let server = Server::play(answer(
        "HTTP/1.1 100 Continue\n\nHTTP/1.1 103 Early Hints\nLink: </a>\n\n\
         HTTP/1.1 404 Not Found\nContent-Length: 0\n\n",
    ))
    .await;
    let response = send(request("HEAD", server.url("/"))).await.unwrap();
    assert_eq!(response.status, 404);
    assert!(response.headers.iter().all(|header| header.name != "link"));
}

/// Bodies with a length, in chunks, and until the end of the connection.
#[tokio::test]
async fn bodies_are_read() {
    for text in [
        "HTTP/1.1 200 OK\nContent-Length: 5\n\nhello",
        "HTTP/1.1 200 OK\nTransfer-Encoding: chunked\n\n2\nhe\n3\nllo\n0\n\n",
        "HTTP/1.0 200 OK\n\nhello",
    ] {
        let server = Server::play(answer(text)).await;
        let response = send(request("GET", server.url("/"))).await.unwrap();
        assert_eq!(response.body, b"hello", "{text}");
    }
}

/// A limit of 0 reads nothing, even where the body never comes.
#[tokio::test]
async fn a_limit_of_zero_reads_no_body() {
    let mut script = answer("HTTP/1.1 200 OK\nContent-Length: 5\n\n");
    script.push(Step::Hang);
    let server = Server::play(script).await;
    let mut request = request("GET", server.url("/"));
    request.body_limit = 0;
    assert_eq!(send(request).await.unwrap().status, 200);
}

/// A body over the limit is an error, with a length and without.
#[tokio::test]
async fn a_large_body_is_too_large() {
    let chunk = "x".repeat(1000);
    for text in [
        "HTTP/1.1 200 OK\nContent-Length: 1025\n\n".to_owned(),
        format!("HTTP/1.1 200 OK\nTransfer-Encoding: chunked\n\n3e8\n{chunk}\n3e8\n{chunk}\n"),
        format!("HTTP/1.0 200 OK\n\n{chunk}{chunk}"),
    ] {
        let server = Server::play(answer(text)).await;
        let error = send(request("GET", server.url("/"))).await.unwrap_err();
        assert_eq!((error.kind, error.phase), (ErrorKind::TooLarge, Phase::Body));
        assert_eq!(
            error.message,
            format!("the answer of {} has a body of more than 1024 bytes", server.address)
        );
    }
    let server =
        Server::play(answer(format!("HTTP/1.0 200 OK\n\n{}{}", chunk, &chunk[..24]))).await;
    assert_eq!(send(request("GET", server.url("/"))).await.unwrap().body.len(), 1024);
}

/// G4: the host's own limit holds whatever the guest asks for.
#[tokio::test]
async fn no_more_than_4_mib() {
    let server = Server::play(answer("HTTP/1.1 200 OK\nContent-Length: 4194305\n\n")).await;
    let mut request = request("GET", server.url("/"));
    request.body_limit = u32::MAX;
    assert_eq!(send(request).await.unwrap_err().kind, ErrorKind::TooLarge);
}

/// Headers come through, also those that are no text.
#[tokio::test]
async fn odd_headers_are_shown() {
    let mut script = vec![Step::Read];
    script.push(Step::Send(
        b"HTTP/1.1 200 \r\nX-Odd: caf\xe9\r\nx-two: a\r\nX-Two: b\r\n\r\n".into(),
    ));
    let server = Server::play(script).await;
    let headers = send(request("HEAD", server.url("/"))).await.unwrap().headers;
    let of = |name: &str| -> Vec<_> {
        headers.iter().filter(|h| h.name == name).map(|h| h.value.as_str()).collect()
    };
    assert_eq!(of("x-odd"), ["caf\u{fffd}"]);
    assert_eq!(of("x-two"), ["a", "b"]);
}

/// The trace tells what was asked, how it went, and nothing of the query.
#[tokio::test]
async fn calls_are_in_the_trace() {
    let server = Server::play(answer("HTTP/1.1 200 OK\n\n")).await;
    let run = free();
    let http = capabilities(&[]);
    http.http().send(&run, request("HEAD", server.url("/x?token=secret"))).await.unwrap();
    http.http().send(&run, request("HEAD", "nonsense")).await.unwrap_err();
    assert_eq!(Run::waiting(&run), None);
    let calls = run.take_trace().calls;
    assert_eq!(calls[0].what, format!("HEAD http://{}/x", server.address));
    assert_eq!((calls[0].capability, &calls[0].result), ("http", &CallResult::Ok));
    assert_eq!(calls[0].took, calls[0].timings.total);
    assert_eq!(calls[1].what, "HEAD nonsense");
    assert!(matches!(&calls[1].result, CallResult::Failed(why) if why.contains("absolute URL")));
}
