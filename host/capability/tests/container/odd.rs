//! Engines that are not there, that are unwell, and that are none.

use std::sync::Arc;
use std::time::Duration;

use probehost_capability::container::ErrorKind;
use probehost_capability::{CallResult, Run};
use probehost_model::grant::Grants;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, UnixListener};
use tokio::time::Instant;

use crate::{AMPLE, inspect, with_engine};

/// An engine on TCP that answers everything with this text, and then closes; `None`: not at all.
async fn engine_that_says(text: Option<String>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        let mut held = Vec::new();
        while let Ok((mut stream, _)) = listener.accept().await {
            let Some(text) = &text else {
                held.push(stream);
                continue;
            };
            let mut request = [0; 4096];
            let _asked = stream.read(&mut request).await;
            let _answered = stream.write_all(text.as_bytes()).await;
        }
    });
    format!("tcp://{address}")
}

fn answer(status: &str, body: &str) -> Option<String> {
    let length = body.len();
    Some(format!(
        "HTTP/1.1 {status}\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\
         Connection: close\r\n\r\n{body}"
    ))
}

/// C3, C4: each way in which an engine does not answer, and what it means.
#[tokio::test]
async fn each_failure_has_its_kind() {
    let rows = [
        (answer("500 Internal Server Error", r#"{"message": "driver failed"}"#), ErrorKind::Engine),
        (answer("503 Service Unavailable", "starting"), ErrorKind::Engine),
        (answer("403 Forbidden", r#"{"message": "authz"}"#), ErrorKind::Forbidden),
        (answer("404 Not Found", "404 page not found"), ErrorKind::Protocol),
        // Docker's words, and podman's.
        (answer("404 Not Found", r#"{"message": "No such container: web"}"#), ErrorKind::NotFound),
        (
            answer(
                "404 Not Found",
                r#"{"cause": "no such container", "message": "no container with name or ID \"web\" found: no such container", "response": 404}"#,
            ),
            ErrorKind::NotFound,
        ),
        (answer("200 OK", "<html>"), ErrorKind::Protocol),
        (answer("200 OK", "{}"), ErrorKind::Protocol),
        (Some("SSH-2.0-OpenSSH_9.2\r\n".to_owned()), ErrorKind::Protocol),
    ];
    for (text, kind) in rows {
        let shown = text.clone();
        let engine = engine_that_says(text).await;
        let error = inspect(&engine, "web", AMPLE).await.unwrap_err();
        assert_eq!(error.kind, kind, "{shown:?}: {error}");
        assert!(error.message.contains(&engine), "{error}");
    }
}

/// C3: an engine that hangs is cut at the deadline.
#[tokio::test]
async fn a_silent_engine_is_cut_at_the_deadline() {
    let engine = engine_that_says(None).await;
    let error = inspect(&engine, "web", Duration::from_millis(200)).await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::Timeout, "{error}");
    assert!(error.message.contains("does not answer: timeout after 200 ms"), "{error}");
}

/// C3: no socket, a socket that nobody serves, a port that nobody listens on.
#[tokio::test]
async fn an_engine_that_is_not_there_is_unreachable() {
    let dir = tempfile::tempdir().unwrap();
    let stale = dir.path().join("stale.sock");
    drop(UnixListener::bind(&stale).unwrap());
    let free = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    let none = dir.path().join("none.sock");
    for (engine, words) in [
        (format!("unix://{}", none.display()), "there is no container engine at"),
        (format!("unix://{}", stale.display()), "connection refused"),
        (format!("tcp://{free}"), "connection refused"),
    ] {
        let error = inspect(&engine, "web", AMPLE).await.unwrap_err();
        assert_eq!(error.kind, ErrorKind::Unreachable, "{error}");
        assert!(error.message.contains(words), "{error}");
    }
}

/// G2: a container that the config does not name is not looked at, and the line that would grant it
/// is told.
#[tokio::test]
async fn what_is_not_granted_is_not_asked_for() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let engine = format!("tcp://{}", listener.local_addr().unwrap());
    let run = Run::new("container-inspect", Grants::default(), Instant::now() + AMPLE);
    let capabilities = Arc::new(with_engine(&engine));
    let error = capabilities.containers().inspect(&run, "other").await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::Denied);
    let line = r#"allow = ["container:other"] under [plugins.container-inspect]"#;
    assert!(error.message.contains(line), "{error}");
    let trace = run.take_trace();
    assert!(matches!(trace.calls[0].result, CallResult::Denied { .. }));
    let error = capabilities.containers().inspect(&run, "../info").await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::Invalid);
    let accepted = tokio::time::timeout(Duration::from_millis(50), listener.accept()).await;
    assert!(accepted.is_err(), "nothing was to be asked");
}
