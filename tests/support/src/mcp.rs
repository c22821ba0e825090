//! Real MCP servers: npm's server-everything, PyPI's mcp in its two lines, and the Rust SDK's.

use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;
use std::{env, io};

use crate::installed;
use crate::process::{Process, ProcessError};

/// How long a server may take until it listens.
const LIMIT: Duration = Duration::from_secs(60);

/// The lines of PyPI's mcp, each in a folder of its own.
pub const PYTHON: [&str; 2] = ["mcp1", "mcp2"];

/// A server with one tool, by what both lines have in common.
const PYTHON_SERVER: &str = "
try:
    from mcp.server.fastmcp import FastMCP as Server
except ImportError:
    from mcp.server.mcpserver import MCPServer as Server
server = Server('test')
@server.tool()
def add(a: int, b: int) -> int:
    return a + b
server.run(transport='stdio')
";

/// Says whether the calling test has to be skipped because a server is not installed.
pub fn skip() -> bool {
    let mut wanted = vec![("server-everything", everything())];
    wanted.extend(PYTHON.map(|line| (line, python(line))));
    wanted.iter().any(|(name, file)| {
        let there = file.is_file().then_some(file.as_path());
        installed::skip_unless_found(there, name, installed::SCRIPT)
    })
}

fn everything() -> PathBuf {
    installed::folder().join("npm/node_modules/.bin/mcp-server-everything")
}

fn python(line: &str) -> PathBuf {
    installed::folder().join(line).join("bin/python")
}

/// The program and the arguments of server-everything with this transport.
pub fn everything_words(transport: &str) -> Vec<String> {
    vec![everything().display().to_string(), transport.to_owned()]
}

/// The program and the arguments of a server on PyPI's mcp of this line.
pub fn python_words(line: &str) -> Vec<String> {
    vec![python(line).display().to_string(), "-c".to_owned(), PYTHON_SERVER.to_owned()]
}

/// A running server-everything on a port of its own. Dropping it kills it.
#[derive(Debug)]
pub struct Everything {
    port: u16,
    process: Process,
}

impl Everything {
    /// Starts one.
    pub fn start() -> Result<Self, ProcessError> {
        let program = everything();
        let free = TcpListener::bind(("127.0.0.1", 0)).and_then(|listener| listener.local_addr());
        let port = free.map_err(|source: io::Error| ProcessError::Start {
            program: program.display().to_string(),
            source,
        })?;
        let port = port.port();
        let mut command = Command::new(program);
        command.arg("streamableHttp").env("PORT", port.to_string());
        let mut process = Process::start(&mut command)?;
        process.wait_for_line(LIMIT, |line| line.contains("listening on port").then_some(()))?;
        Ok(Self { port, process })
    }

    /// Where it is.
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}/mcp", self.port)
    }

    /// How many sessions it has begun, and how many it was told to end, once it has ended this many.
    pub fn sessions(&mut self, ended: usize) -> (usize, usize) {
        let end = "termination request";
        let count = |text: &str, words: &str| text.lines().filter(|l| l.contains(words)).count();
        for _ in 0..LIMIT.as_millis() / 20 {
            if count(&self.process.output(), end) >= ended {
                break;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        let output = self.process.output();
        (count(&output, "Session initialized"), count(&output, end))
    }
}

/// The server on the Rust SDK: it is part of the workspace, and built with its tests.
fn rust_sdk() -> PathBuf {
    let own = env::current_exe().unwrap_or_default();
    let folder = own.parent().and_then(Path::parent).unwrap_or(Path::new(""));
    folder.join("mcp-server")
}

/// Says whether the calling test has to be skipped because the server on the Rust SDK is not built.
pub fn skip_rust_sdk() -> bool {
    let file = rust_sdk();
    let there = file.is_file().then_some(file.as_path());
    let build = "cargo build -p probehost-test-mcp-server";
    installed::skip_unless_found(there, "mcp-server", build)
}

/// The program and the arguments of a server on the Rust SDK over its input and output.
pub fn rust_sdk_words() -> Vec<String> {
    vec![rust_sdk().display().to_string(), "stdio".to_owned()]
}

/// A running server on the Rust SDK over HTTP. Dropping it kills it.
#[derive(Debug)]
pub struct RustSdk {
    url: String,
    _process: Process,
}

impl RustSdk {
    /// Starts one.
    pub fn start() -> Result<Self, ProcessError> {
        let mut process = Process::run(&rust_sdk(), ["http".into()])?;
        let url = |line: &str| line.starts_with("http://").then(|| line.to_owned());
        let url = process.wait_for_line(LIMIT, url)?;
        Ok(Self { url, _process: process })
    }

    /// Where it is.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Where it answers with the number of sessions that are open now.
    pub fn sessions_url(&self) -> String {
        self.url.replace("/mcp", "/sessions")
    }
}
