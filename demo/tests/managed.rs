//! The managed MCP server, with the real binaries: as a process, and as a container of a real dockerd.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "helpers of tests fail the test")]

mod support;

use std::fs;
use std::io::ErrorKind;
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Command, Output};

use probehost_test_support::docker::{self, Docker};
use probehost_test_support::process::Process;
use probehost_test_support::raw::exchange;
use probehost_test_support::upstream::ClosedPort;
use probehost_test_support::wait::eventually;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::support::{LIMIT, NO_ENGINE, Running, demo_fleet, started};

const CONTAINER: &str = "probehost-demo-mcp";

fn demo_mcp(args: &[&str], dir: &Path) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_demo-mcp"));
    command.args(args).arg("--dir").arg(dir).output().unwrap()
}

/// Ends the server of a folder, also where the test fails.
struct Server<'a> {
    dir: &'a Path,
    port: u16,
}

impl<'a> Server<'a> {
    fn at_some_port(dir: &'a Path) -> Self {
        Self { dir, port: ClosedPort::reserve().address().port() }
    }

    fn restart(&self) -> String {
        let output = demo_mcp(&["restart", "--port", &self.port.to_string()], self.dir);
        assert!(output.status.success(), "{output:?}");
        process_id(self.dir)
    }
}

impl Drop for Server<'_> {
    fn drop(&mut self) {
        demo_mcp(&["stop"], self.dir);
    }
}

/// The process id in a folder, as `kill` reads it.
fn process_id(dir: &Path) -> String {
    fs::read_to_string(dir.join("mcp.pid")).unwrap().trim().to_owned()
}

/// How many processes serve for this folder.
fn servers(dir: &Path) -> usize {
    let dir = fs::canonicalize(dir).unwrap();
    let lines = fs::read_dir("/proc").unwrap().flatten();
    let lines = lines.filter_map(|entry| fs::read_to_string(entry.path().join("cmdline")).ok());
    let end = format!("\0--dir\0{}\0", dir.display());
    lines.filter(|line| line.contains("\0serve\0") && line.ends_with(&end)).count()
}

fn kill(id: &str) {
    assert!(Command::new("kill").args(["-KILL", id]).status().unwrap().success());
}

/// One message to the server of a port, in this session.
fn send(port: u16, session: Option<&str>, message: &Value) -> std::io::Result<String> {
    let body = message.to_string();
    let session = session.map(|id| format!("mcp-session-id: {id}\r\n")).unwrap_or_default();
    let request = format!(
        "POST /mcp HTTP/1.1\r\nhost: 127.0.0.1\r\nconnection: close\r\n{session}content-length: {}\r\n\r\n{body}",
        body.len()
    );
    let answer = exchange(SocketAddr::from(([127, 0, 0, 1], port)), request.as_bytes(), LIMIT)?;
    Ok(String::from_utf8_lossy(&answer).into_owned())
}

/// What the tool `echo` answers at this port.
fn echo(port: u16) -> std::io::Result<String> {
    let initialize = json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {} });
    let answer = send(port, None, &initialize)?;
    let session = answer.lines().find_map(|line| line.strip_prefix("mcp-session-id: ")).unwrap();
    let call = json!({
        "jsonrpc": "2.0", "id": 2, "method": "tools/call",
        "params": { "name": "echo", "arguments": { "text": "ping" } },
    });
    let answer = send(port, Some(session), &call)?;
    let (_, body) = answer.split_once("\r\n\r\n").unwrap();
    let body: Value = serde_json::from_str(body).unwrap();
    Ok(body["result"]["content"][0]["text"].as_str().unwrap_or_default().to_owned())
}

#[test]
fn restarted_twice_there_is_one() {
    let dir = TempDir::new().unwrap();
    let server = Server::at_some_port(dir.path());
    let first = server.restart();
    assert_eq!(echo(server.port).unwrap(), "ping");
    let second = server.restart();
    assert_ne!(first, second);
    assert_eq!(servers(dir.path()), 1);
    assert_eq!(echo(server.port).unwrap(), "ping");
    assert!(demo_mcp(&["stop"], dir.path()).status.success());
    assert_eq!(servers(dir.path()), 0);
    assert_eq!(echo(server.port).unwrap_err().kind(), ErrorKind::ConnectionRefused);
    assert!(!dir.path().join("mcp.pid").exists());
}

#[test]
fn killed_it_comes_back_and_a_stranger_with_its_id_is_let_live() {
    let dir = TempDir::new().unwrap();
    let server = Server::at_some_port(dir.path());
    let first = server.restart();
    kill(&first);
    server.restart();
    assert_eq!(echo(server.port).unwrap(), "ping");
    kill(&process_id(dir.path()));

    let mut stranger = Process::start(Command::new("sleep").arg("1000")).unwrap();
    fs::write(dir.path().join("mcp.pid"), stranger.id().to_string()).unwrap();
    server.restart();
    assert_eq!(echo(server.port).unwrap(), "ping");
    assert!(stranger.status().unwrap().is_none(), "it was killed");
}

#[test]
fn a_restart_that_fails_says_where_to_look() {
    let dir = TempDir::new().unwrap();
    let taken = ClosedPort::reserve();
    let output = demo_mcp(&["restart", "--port", &taken.address().port().to_string()], dir.path());
    assert!(!output.status.success(), "{output:?}");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(said.contains("mcp.log"), "{said}");
    let log = fs::read_to_string(dir.path().join("mcp.log")).unwrap();
    assert!(log.contains("could not listen on 127.0.0.1:"), "{log}");
}

/// The command of the configuration restarts it; the demo that has left it takes it over, and
/// ends it.
#[test]
fn without_an_engine_it_is_a_process() {
    let Running { mut process, base_port, folder: kept } =
        started(NO_ENGINE, &[], "ready").unwrap();
    let (folder, port) = (kept.path(), base_port + 9);
    let said = process.stdout();
    assert!(
        said.contains("no container engine answers (/nowhere/docker.sock is not there)"),
        "{said}"
    );
    assert!(said.contains(&format!("kill $(cat {}/mcp.pid)", folder.display())), "{said}");
    kill(&process_id(&folder));

    let config = fs::read_to_string(folder.join("probehost.toml")).unwrap();
    let words = config.lines().find_map(|line| line.strip_prefix("demo-mcp = ")).unwrap();
    let words: Vec<String> = serde_json::from_str(words).unwrap();
    assert!(Command::new(&words[0]).args(&words[1..]).status().unwrap().success());
    assert_eq!(echo(port).unwrap(), "ping");

    process.kill().unwrap();
    assert_eq!(servers(&folder), 1, "a demo that is killed leaves it");
    let mut process = demo_fleet(&folder, base_port, NO_ENGINE, &[]).unwrap();
    process.wait_for_line(LIMIT, |line| line.starts_with("ready").then_some(())).unwrap();
    assert_eq!((servers(&folder), echo(port).unwrap().as_str()), (1, "ping"));
    process.interrupt().unwrap();
    assert!(process.wait(LIMIT).unwrap().success(), "{}", process.output());
    assert_eq!(servers(&folder), 0);
}

#[tokio::test]
async fn with_an_engine_it_is_a_container() {
    if docker::skip() {
        return;
    }
    let docker = Docker::start().unwrap();
    let engine = format!("unix://{}", docker.socket().display());
    let Running { mut process, base_port, folder: kept } = started(&engine, &[], "ready").unwrap();
    let (folder, port) = (kept.path(), base_port + 9);
    assert_eq!(echo(port).unwrap(), "ping", "{}", process.output());
    let said = process.stdout();
    assert!(said.contains("kill probehost-demo-mcp") && !said.contains("no container"), "{said}");
    let config = fs::read_to_string(folder.join("probehost.toml")).unwrap();
    assert!(config.contains(&format!("engine = \"{engine}\"")), "{config}");
    assert_eq!(servers(&folder), 0);

    // Killed it stays down until somebody restarts it.
    docker.post(&format!("/containers/{CONTAINER}/kill"), None).unwrap();
    let down = || async { echo(port).is_err() };
    eventually("the container is down", LIMIT, down, |down| *down).await;
    docker.post(&format!("/containers/{CONTAINER}/restart"), None).unwrap();
    let up = || async { echo(port).ok() };
    eventually("it is back", LIMIT, up, |text| text.as_deref() == Some("ping")).await;

    process.kill().unwrap();
    assert!(echo(port).is_ok(), "a demo that is killed leaves it");
    let mut process = demo_fleet(&folder, base_port, &engine, &[]).unwrap();
    process.wait_for_line(LIMIT, |line| line.starts_with("ready").then_some(())).unwrap();
    assert_eq!(echo(port).unwrap(), "ping");
    process.interrupt().unwrap();
    assert!(process.wait(LIMIT).unwrap().success(), "{}", process.output());
    assert!(docker.inspect(CONTAINER).is_err(), "its container is still there");
    let images = docker.engine().get("/images/json").unwrap().to_string();
    assert!(!images.contains(CONTAINER), "{images}");
    assert!(echo(port).is_err());
}

/// An engine that takes no image, here as it is none: the demo goes on, and says why.
#[test]
fn an_engine_that_fails_is_no_obstacle() {
    let folder = TempDir::new().unwrap();
    let socket = folder.path().join("docker.sock");
    let listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
    let engine = std::thread::spawn(move || {
        use std::io::{Read, Write};
        for mut stream in listener.incoming().flatten() {
            let mut head = [0; 4096];
            let length = stream.read(&mut head).unwrap();
            let answer = if head[..length].starts_with(b"GET /version") {
                "HTTP/1.0 200 OK\r\n\r\n{}"
            } else {
                "HTTP/1.0 500 Oh\r\n\r\n{\"message\":\"out of order\"}"
            };
            stream.write_all(answer.as_bytes()).unwrap();
        }
    });
    let address = format!("unix://{}", socket.display());
    let Running { mut process, base_port, folder: _kept } =
        started(&address, &[], "ready").unwrap();
    assert_eq!(echo(base_port + 9).unwrap(), "ping");
    assert!(process.stdout().contains("out of order"), "{}", process.stdout());
    process.terminate().unwrap();
    assert!(process.wait(LIMIT).unwrap().success());
    assert!(!engine.is_finished());
}
