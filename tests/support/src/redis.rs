//! A real Redis (Debian's `redis-server`).

use std::io;
use std::net::TcpListener;
use std::process::Command;
use std::time::Duration;

use tempfile::TempDir;

use crate::installed;
use crate::process::{Process, ProcessError};

/// The command that installs it, for the line about a skipped test.
pub const INSTALL: &str = "apt-get install -y --no-install-recommends redis-server";

/// How long it may take until it listens.
const START_LIMIT: Duration = Duration::from_secs(10);

/// A port that was free a moment ago may be taken by now; this often another one is tried.
const TRIES: usize = 5;

/// Why Redis did not start.
#[derive(Debug, thiserror::Error)]
pub enum RedisError {
    /// It is not on this machine.
    #[error("redis-server is not installed; install it with {INSTALL}")]
    Missing,
    /// Its folder could not be made, or no port was free.
    #[error("could not prepare a folder and a port for redis-server: {0}")]
    Prepare(#[from] io::Error),
    /// It did not come up.
    #[error(transparent)]
    Process(#[from] ProcessError),
}

/// A running Redis on 127.0.0.1 that keeps nothing. Dropping it kills it and removes its folder.
#[derive(Debug)]
pub struct Redis {
    port: u16,
    _dir: TempDir,
    _process: Process,
}

impl Redis {
    /// One that answers everybody.
    pub fn start() -> Result<Self, RedisError> {
        Self::with(&[])
    }

    /// With these further arguments: `--requirepass`, a password.
    pub fn with(arguments: &[&str]) -> Result<Self, RedisError> {
        let program = installed::find("redis-server").ok_or(RedisError::Missing)?;
        let dir = tempfile::Builder::new().prefix("redis-test-").tempdir()?;
        let mut tries = 0;
        loop {
            let port = TcpListener::bind(("127.0.0.1", 0))?.local_addr()?.port();
            let mut command = Command::new(&program);
            command
                .args(["--bind", "127.0.0.1", "--save", "", "--appendonly", "no"])
                .args(["--port", &port.to_string()])
                .arg("--dir")
                .arg(dir.path())
                .args(arguments);
            let mut process = Process::start(&mut command)?;
            let ready = |line: &str| line.contains("Ready to accept connections").then_some(());
            match process.wait_for_line(START_LIMIT, ready) {
                Ok(()) => return Ok(Self { port, _dir: dir, _process: process }),
                Err(error) if tries + 1 >= TRIES => return Err(error.into()),
                Err(_) => tries += 1,
            }
        }
    }

    /// The port it listens on.
    pub fn port(&self) -> u16 {
        self.port
    }
}
