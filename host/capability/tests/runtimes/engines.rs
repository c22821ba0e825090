//! What engines say when they can't, from scripted ones; and engines that are not there.

use std::time::Duration;

use probehost_capability::container::ErrorKind;
use probehost_capability::runtime::RestartError;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

use crate::{AMPLE, restart};

/// An engine that knows every container, and answers to a restart with this.
async fn engine_that_says(status: &'static str, body: &'static str) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let mut request = vec![0; 4096];
            let count = stream.read(&mut request).await.unwrap_or(0);
            let asked = String::from_utf8_lossy(&request[..count]).into_owned();
            let (status, body) = if asked.starts_with("GET ") {
                ("200 OK", r#"{"State": {"Status": "exited", "Paused": false}}"#)
            } else {
                (status, body)
            };
            let length = body.len();
            let text = format!(
                "HTTP/1.1 {status}\r\nContent-Type: application/json\r\n\
                 Content-Length: {length}\r\nConnection: close\r\n\r\n{body}"
            );
            let _answered = stream.write_all(text.as_bytes()).await;
        }
    });
    format!("tcp://{address}")
}

async fn failure(engine: &str, name: &str, limit: Duration) -> (ErrorKind, String) {
    match restart(engine, name, limit).await.unwrap_err() {
        RestartError::Container { kind, message } => (kind, message),
        other => panic!("{other:?}"),
    }
}

/// L9: what the engine says reaches people, made fit for them.
#[tokio::test]
async fn each_failure_has_its_kind() {
    for (status, body, kind, words) in [
        (
            "409 Conflict",
            r#"{"message": "container is marked for removal and cannot be started"}"#,
            ErrorKind::Engine,
            "answered 409 to the restart of web: container is marked for removal",
        ),
        (
            "500 Internal Server Error",
            r#"{"message": "driver\u001b[31m failed\n"}"#,
            ErrorKind::Engine,
            r"answered 500 to the restart of web: driver\u{1b}[31m failed\n",
        ),
        (
            "404 Not Found",
            r#"{"message": "No such container: web"}"#,
            ErrorKind::NotFound,
            "there is no container web on tcp://",
        ),
        ("403 Forbidden", r#"{"message": "authz"}"#, ErrorKind::Forbidden, "answered 403"),
    ] {
        let engine = engine_that_says(status, body).await;
        let (found, message) = failure(&engine, "web", AMPLE).await;
        assert!(found == kind && message.contains(words), "{found:?}: {message}");
        assert!(message.contains(&engine), "{message}");
    }
    let engine = engine_that_says("204 No Content", "").await;
    restart(&engine, "web", AMPLE).await.unwrap();
}

/// L9: one that is paused goes on before it is restarted, with a grace that fits the limit: not every
/// engine restarts what is paused.
#[tokio::test]
async fn a_paused_one_goes_on_first() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let engine = format!("tcp://{}", listener.local_addr().unwrap());
    let asked = tokio::spawn(async move {
        let mut asked = Vec::new();
        let paused = r#"{"State": {"Status": "paused", "Paused": true}}"#;
        for (status, body) in [("200 OK", paused), ("204 No Content", ""), ("204 No Content", "")] {
            let length = body.len();
            let answer = format!(
                "HTTP/1.1 {status}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}"
            );
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut request = vec![0; 4096];
            let count = stream.read(&mut request).await.unwrap();
            let text = String::from_utf8_lossy(&request[..count]);
            asked.push(text.lines().next().unwrap().to_owned());
            stream.write_all(answer.as_bytes()).await.unwrap();
        }
        asked
    });
    restart(&engine, "web", Duration::from_secs(16)).await.unwrap();
    let asked = asked.await.unwrap();
    for (line, wanted) in asked.iter().zip([
        "/containers/web/json ",
        "/containers/web/unpause ",
        "/containers/web/restart?t=8 ",
    ]) {
        assert!(line.contains(wanted), "{asked:?}");
    }
}

/// L9: no socket, a port that nobody listens on, and a name that would be another request.
#[tokio::test]
async fn an_engine_that_is_not_there() {
    let folder = tempfile::tempdir().unwrap();
    let free = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    for (engine, words) in [
        (format!("unix://{}/none.sock", folder.path().display()), "there is no container engine"),
        (format!("tcp://{free}"), "connection refused"),
    ] {
        let (kind, message) = failure(&engine, "web", AMPLE).await;
        assert!(kind == ErrorKind::Unreachable && message.contains(words), "{message}");
    }
    let (kind, _) = failure("tcp://127.0.0.1:1", "../info", AMPLE).await;
    assert_eq!(kind, ErrorKind::Invalid);
}

/// L9: an engine that takes the call and says nothing is given up at the limit.
#[tokio::test]
async fn a_silent_engine_is_given_up_at_the_limit() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let engine = format!("tcp://{}", listener.local_addr().unwrap());
    let (kind, message) = failure(&engine, "web", Duration::from_millis(200)).await;
    assert_eq!(kind, ErrorKind::Timeout, "{message}");
    assert!(message.contains("timeout after 200 ms"), "{message}");
}
