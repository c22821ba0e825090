//! How the demo ends: by a signal, or with the command that it runs.

use std::ffi::OsString;
use std::io;
use std::process::{ExitCode, ExitStatus};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use tokio::process::{Child, Command};
use tokio::signal::unix::{self, SignalKind};
use tokio::time::timeout;

/// How long the command may take to end after it was asked to, before it is asked again or killed.
const PATIENCE: Duration = Duration::from_secs(15);

/// The signals that ask the demo to end.
#[derive(Debug)]
pub(crate) struct Shutdown {
    interrupt: unix::Signal,
    terminate: unix::Signal,
}

/// Which signal it was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Asked {
    /// Ctrl-C: the terminal tells everything in the foreground, the command too.
    Interrupt,
    /// SIGTERM: it came to this process alone.
    Terminate,
}

impl Shutdown {
    /// Catches SIGINT and SIGTERM from now on.
    pub(crate) fn listen() -> io::Result<Self> {
        Ok(Self {
            interrupt: unix::signal(SignalKind::interrupt())?,
            terminate: unix::signal(SignalKind::terminate())?,
        })
    }

    /// Waits for either.
    pub(crate) async fn asked(&mut self) -> Asked {
        tokio::select! {
            _ = self.interrupt.recv() => Asked::Interrupt,
            _ = self.terminate.recv() => Asked::Terminate,
        }
    }

    /// Runs a command to its end and gives its exit code. A signal to the demo ends the command first.
    pub(crate) async fn follow(
        &mut self,
        command: &OsString,
        args: &[OsString],
    ) -> io::Result<ExitCode> {
        let mut child = Command::new(command).args(args).kill_on_drop(true).spawn()?;
        let asked = tokio::select! {
            status = child.wait() => return Ok(code(status?)),
            asked = self.asked() => asked,
        };
        // After Ctrl-C the command has its own signal already, and a second one could cut its clean-up short.
        if asked == Asked::Interrupt
            && let Ok(status) = timeout(PATIENCE, child.wait()).await
        {
            return Ok(code(status?));
        }
        terminate(&child)?;
        if let Ok(status) = timeout(PATIENCE, child.wait()).await {
            return Ok(code(status?));
        }
        child.kill().await?;
        Ok(ExitCode::FAILURE)
    }
}

/// Sends SIGTERM to a child that has not been waited for, so that its id is still its own.
fn terminate(child: &Child) -> io::Result<()> {
    let id = child.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw);
    id.map_or(Ok(()), |id| Ok(kill_process(id, Signal::TERM)?))
}

fn code(status: ExitStatus) -> ExitCode {
    let code = status.code().and_then(|code| u8::try_from(code).ok());
    code.map_or(ExitCode::FAILURE, ExitCode::from)
}
