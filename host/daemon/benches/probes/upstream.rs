//! The server that is probed: a process of its own, so that its CPU is nobody's.
//!
//! It answers 200 to whatever comes first on a connection, and closes it.

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, Stdio};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Builder;

use crate::Failed;

/// The argument that makes this program the server.
pub(crate) const ROLE: &str = "--upstream";

const ANSWER: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";

/// Longest head of a request, in bytes.
const HEAD: usize = 4096;

/// A running server. It ends when this is dropped.
#[derive(Debug)]
pub(crate) struct Upstream {
    child: Child,
    port: u16,
}

impl Upstream {
    pub(crate) fn start() -> Result<Self, Failed> {
        let mut child = Command::new(std::env::current_exe()?)
            .arg(ROLE)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let mut line = String::new();
        if let Some(stdout) = child.stdout.take() {
            BufReader::new(stdout).read_line(&mut line)?;
        }
        let port = line.trim().parse().map_err(|error| format!("the upstream: {error}"))?;
        Ok(Self { child, port })
    }

    /// Where it serves.
    pub(crate) fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }
}

impl Drop for Upstream {
    fn drop(&mut self) {
        // It may have ended by itself, which is as well.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Serves until standard input ends, so that it never outlives who started it.
pub(crate) fn serve() -> Result<(), Failed> {
    std::thread::spawn(|| {
        let _ = std::io::stdin().read_to_end(&mut Vec::new());
        std::process::exit(0);
    });
    Builder::new_multi_thread().enable_all().build()?.block_on(async {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
        println!("{}", listener.local_addr()?.port());
        loop {
            let (stream, _) = listener.accept().await?;
            // A client that goes away is its own affair.
            tokio::spawn(async move { answer(stream).await.ok() });
        }
    })
}

async fn answer(mut stream: TcpStream) -> std::io::Result<()> {
    let mut head = Vec::with_capacity(512);
    while !head.ends_with(b"\r\n\r\n") {
        if head.len() > HEAD || stream.read_buf(&mut head).await? == 0 {
            return Ok(());
        }
    }
    stream.write_all(ANSWER).await?;
    stream.shutdown().await
}
