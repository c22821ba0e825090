//! Answers whose bodies are read piece by piece.

use std::time::Duration;

use probehost_capability::http::{Body, Error, ErrorKind, Phase, Response};
use probehost_capability::{CallResult, Run};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

use crate::server::{Server, Step, answer};
use crate::{AMPLE, capabilities, free, request, run};

const ENDLESS: &str = "HTTP/1.1 200 OK\nTransfer-Encoding: chunked\n\n";

async fn open_in(run: &Run, url: String) -> Result<(Response, Body), Error> {
    capabilities(&[]).http().open(run, request("GET", url)).await
}

async fn open(server: &Server) -> (Response, Body) {
    open_in(&free(), server.url("/")).await.unwrap()
}

async fn text(body: &mut Body, limit: u32) -> Option<String> {
    body.read(limit).await.unwrap().map(|piece| String::from_utf8(piece).unwrap())
}

/// M2: pieces are there as soon as they come, none is longer than wanted, and dropping the body
/// closes the connection.
#[tokio::test]
async fn pieces_come_before_the_end() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    let (more, mut wanted) = tokio::sync::mpsc::channel::<&str>(1);
    let server = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut head = [0; 1024];
        assert!(stream.read(&mut head).await.unwrap() > 0);
        stream.write_all(ENDLESS.replace('\n', "\r\n").as_bytes()).await.unwrap();
        while let Some(piece) = wanted.recv().await {
            let chunk = format!("{:x}\r\n{piece}\r\n", piece.len());
            stream.write_all(chunk.as_bytes()).await.unwrap();
        }
        // Until the client has closed.
        let mut rest = Vec::new();
        let _reset = stream.read_to_end(&mut rest).await;
    });
    let run = free();
    let (response, mut body) = open_in(&run, url).await.unwrap();
    assert_eq!((response.status, response.body.len()), (200, 0));
    assert!(response.timings.first_byte.is_some());
    more.send("hello").await.unwrap();
    assert_eq!(text(&mut body, 100).await.as_deref(), Some("hello"));
    more.send("world").await.unwrap();
    assert_eq!(text(&mut body, 2).await.as_deref(), Some("wo"));
    assert_eq!(text(&mut body, 0).await.as_deref(), Some("r"));
    assert_eq!(text(&mut body, 100).await.as_deref(), Some("ld"));
    drop((body, more));
    tokio::time::timeout(AMPLE, server).await.unwrap().unwrap();
    let calls = run.take_trace().calls;
    assert_eq!(calls.len(), 5);
    assert!(calls[1].what.starts_with("read of the answer of 127.0.0.1:"), "{calls:?}");
    assert!(calls.iter().all(|call| call.result == CallResult::Ok), "{calls:?}");
}

/// Bodies with a length, in chunks, and until the end of the connection have an end.
#[tokio::test]
async fn ends_are_ends() {
    for head in
        ["Content-Length: 5\n\n", "Connection: close\n\n", "Transfer-Encoding: chunked\n\n5\n"]
    {
        let end = if head.contains("chunked") { "\n0\n\n" } else { "" };
        let server = Server::play(answer(format!("HTTP/1.1 200 OK\n{head}hello{end}"))).await;
        let (_, mut body) = open(&server).await;
        let mut all = String::new();
        while let Some(piece) = text(&mut body, 3).await {
            all.push_str(&piece);
        }
        assert_eq!(all, "hello", "{head}");
        assert_eq!(text(&mut body, 3).await, None);
    }
    let server = Server::play(answer("HTTP/1.1 204 No Content\n\n")).await;
    assert_eq!(text(&mut open(&server).await.1, 3).await, None);
}

/// G4: the limit is one for all pieces. A body that breaks off is told.
#[tokio::test]
async fn too_much_and_too_little() {
    let mut script = answer("HTTP/1.1 200 OK\n\n");
    script.push(Step::Send(vec![b'x'; 1025]));
    script.push(Step::Hang);
    let server = Server::play(script).await;
    let (_, mut body) = open(&server).await;
    let error = loop {
        match body.read(100).await {
            Ok(piece) => assert!(piece.is_some()),
            Err(error) => break error,
        }
    };
    assert_eq!((error.kind, error.phase), (ErrorKind::TooLarge, Phase::Body), "{error}");
    assert!(error.message.contains("more than 1024 bytes"), "{error}");
    assert_eq!(text(&mut body, 100).await, None);

    let server = Server::play(answer("HTTP/1.1 200 OK\nContent-Length: 9\n\nhello")).await;
    let (_, mut body) = open(&server).await;
    assert_eq!(text(&mut body, 100).await.as_deref(), Some("hello"));
    let error = body.read(100).await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::Closed, "{error}");
    assert!(error.message.contains("before its answer was complete"), "{error}");
}

/// P3: one deadline covers the call and all pieces.
#[tokio::test]
async fn the_deadline_cuts() {
    let mut script = answer(format!("{ENDLESS}5\nhello\n"));
    script.push(Step::Hang);
    let server = Server::play(script).await;
    let run = run(&["*://*:*"], Duration::from_millis(500));
    let (_, mut body) = open_in(&run, server.url("/")).await.unwrap();
    assert_eq!(text(&mut body, 100).await.as_deref(), Some("hello"));
    let error = body.read(100).await.unwrap_err();
    assert_eq!((error.kind, error.phase), (ErrorKind::Timeout, Phase::Body), "{error}");
    let says = format!("timeout after 500 ms reading the answer of {}, 5 bytes in", server.address);
    assert_eq!(error.message, says);
    assert_eq!(run.timeout_message().as_deref(), Some(error.message.as_str()));
}

/// G2: what is not granted is not opened.
#[tokio::test]
async fn what_is_not_granted_is_not_opened() {
    let server = Server::play(vec![Step::Hang]).await;
    let error = open_in(&run(&[], AMPLE), server.url("/")).await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::Denied, "{error}");
    assert_eq!(server.accepted(), 0);
}
