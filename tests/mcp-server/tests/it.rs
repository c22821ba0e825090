//! The server by itself: it makes sessions and ends them, and says how many are open.

#![allow(clippy::unwrap_used, reason = "helpers of tests fail as tests do")]

use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

use probehost_test_support::process::Process;
use probehost_test_support::raw::exchange;

const LIMIT: Duration = Duration::from_secs(30);

struct Server {
    address: SocketAddr,
    _process: Process,
}

impl Server {
    fn start() -> Self {
        let program = Path::new(env!("CARGO_BIN_EXE_mcp-server"));
        let mut process = Process::run(program, ["http".into()]).unwrap();
        let url = |line: &str| line.strip_prefix("http://")?.strip_suffix("/mcp")?.parse().ok();
        let address = process.wait_for_line(LIMIT, url).unwrap();
        Self { address, _process: process }
    }

    fn ask(&self, method: &str, path: &str, headers: &str, body: &str) -> String {
        let (address, length) = (self.address, body.len());
        let request = format!(
            "{method} {path} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n\
             accept: application/json, text/event-stream\r\ncontent-type: application/json\r\n\
             content-length: {length}\r\n{headers}\r\n{body}"
        );
        let answer = exchange(address, request.as_bytes(), LIMIT).unwrap();
        String::from_utf8_lossy(&answer).into_owned()
    }

    fn open_sessions(&self) -> String {
        let answer = self.ask("GET", "/sessions", "", "");
        answer.rsplit("\r\n").next().unwrap_or_default().to_owned()
    }
}

#[test]
fn a_session_begins_and_ends() {
    let server = Server::start();
    assert_eq!(server.open_sessions(), "0");
    let hello = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":
        "2025-06-18","capabilities":{},"clientInfo":{"name":"test","version":"1"}}}"#;
    let answer = server.ask("POST", "/mcp", "", hello);
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    let id = answer.lines().find_map(|line| line.strip_prefix("mcp-session-id: ")).unwrap();
    assert_eq!(server.open_sessions(), "1");
    let ended = server.ask("DELETE", "/mcp", &format!("mcp-session-id: {id}\r\n"), "");
    assert!(ended.starts_with("HTTP/1.1 2"), "{ended}");
    assert_eq!(server.open_sessions(), "0");
}
