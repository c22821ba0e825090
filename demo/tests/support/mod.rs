//! What the tests of the demo share: a fleet that runs in a folder of its own.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use probehost_test_support::process::{Process, ProcessError};
use probehost_test_support::upstream::ClosedPort;
use tempfile::TempDir;

/// Longer than anything here may take.
pub(crate) const LIMIT: Duration = Duration::from_secs(60);

/// No engine listens there, whatever the machine has.
pub(crate) const NO_ENGINE: &str = "unix:///nowhere/docker.sock";

/// A fleet is tried at this many places: somebody else may have one of its ports.
const TRIES: usize = 20;

/// The folder `demo` of a fleet, in one of its own. Dropped, it ends the MCP server that a fleet has
/// left there.
#[derive(Debug)]
pub(crate) struct Folder(TempDir);

impl Folder {
    pub(crate) fn path(&self) -> PathBuf {
        self.0.path().join("demo")
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let mut stop = Command::new(env!("CARGO_BIN_EXE_demo-mcp"));
        let _none_left = stop.args(["stop", "--dir"]).arg(self.path()).output();
    }
}

/// A running fleet.
#[derive(Debug)]
pub(crate) struct Running {
    pub(crate) process: Process,
    pub(crate) base_port: u16,
    pub(crate) folder: Folder,
}

/// Starts one that looks for a container engine at this address.
pub(crate) fn demo_fleet(
    dir: &Path,
    base_port: u16,
    engine: &str,
    more: &[&str],
) -> Result<Process, ProcessError> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_demo-fleet"));
    command.arg("--dir").arg(dir).arg("--base-port").arg(base_port.to_string()).args(more);
    Process::start(command.env("DOCKER_HOST", engine))
}

/// Starts one and waits for a line that begins with `ready`.
pub(crate) fn started(
    engine: &str,
    more: &[&str],
    ready: &str,
) -> Result<Running, Box<dyn std::error::Error>> {
    let folder = Folder(TempDir::new()?);
    let mut failure = None;
    for _ in 0..TRIES {
        let base_port = ClosedPort::reserve().address().port().min(65_000);
        let mut process = demo_fleet(&folder.path(), base_port, engine, more)?;
        match process.wait_for_line(LIMIT, |line| line.starts_with(ready).then_some(())) {
            Ok(()) => return Ok(Running { process, base_port, folder }),
            Err(error) => failure = Some(error),
        }
    }
    Err(failure.map_or_else(|| "never tried".into(), Into::into))
}
