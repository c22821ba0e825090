//! A process group that does not outlive its handle.

use std::io;
use std::process::ExitStatus;

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};
use tokio::process::Child;
use tokio::signal::unix::{SignalKind, signal};

/// What becomes of those that the leader leaves behind when it ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Others {
    /// They are killed.
    Die,
    /// They go on.
    Live,
}

/// A child that leads a group of its own, and that group.
#[derive(Debug)]
pub(crate) struct Group {
    child: Child,
    leader: Pid,
    /// The leader was waited for, so its id, and the group's, may be another's by now.
    reaped: Option<ExitStatus>,
}

impl Group {
    pub(super) fn new(child: Child) -> io::Result<Self> {
        let id = child.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw);
        let leader = id.ok_or_else(|| io::Error::other("its process id is not known"))?;
        Ok(Self { child, leader, reaped: None })
    }

    /// Waits for the leader's end.
    pub(crate) async fn end(&mut self, others: Others) -> io::Result<ExitStatus> {
        // Before the first look, so that no end is missed.
        let mut news = signal(SignalKind::child())?;
        loop {
            if let Some(status) = self.look(others)? {
                return Ok(status);
            }
            news.recv().await;
        }
    }

    /// How the leader ended; none when it has not.
    fn look(&mut self, others: Others) -> io::Result<Option<ExitStatus>> {
        if self.reaped.is_some() {
            return Ok(self.reaped);
        }
        // Looking without waiting for it: as long as it is not waited for, the group's id is its own.
        let only_look = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        if waitid(WaitId::Pid(self.leader), only_look)?.is_none() {
            return Ok(None);
        }
        if others == Others::Die {
            self.kill();
        }
        self.reaped = self.child.try_wait()?;
        Ok(self.reaped)
    }

    fn kill(&self) {
        // It fails only when nobody of the group is left.
        let _gone = kill_process_group(self.leader, Signal::KILL);
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        if self.reaped.is_none() {
            self.kill();
        }
        // The runtime waits for a child that was dropped.
    }
}
