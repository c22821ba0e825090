//! What comes out of the `container` capability.

use std::time::Duration;

/// What the engine says that a container is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// Made, and never started.
    Created,
    /// It runs.
    Running,
    /// Its processes are frozen.
    Paused,
    /// Between its end and its next start by the engine.
    Restarting,
    /// Being removed.
    Removing,
    /// It has ended.
    Exited,
    /// The engine could not remove it.
    Dead,
    /// Something that this host does not know.
    Other,
}

/// What a container's own health check says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Health {
    /// It has none.
    None,
    /// It has not come to a result yet.
    Starting,
    /// It passes.
    Healthy,
    /// It fails.
    Unhealthy,
}

/// How a container is.
#[derive(Debug, Clone, PartialEq)]
pub struct Report {
    /// What it does.
    pub state: State,
    /// Of its last end; 0 when it has not ended yet.
    pub exit_code: i64,
    /// Whether the kernel killed something in it for want of memory since its last start. podman
    /// does not always say so.
    pub oom_killed: bool,
    /// How often the engine has restarted it by its restart policy.
    pub restarts: u64,
    /// What its own health check says.
    pub health: Health,
    /// How often in a row that has failed.
    pub health_failures: u64,
    /// Seconds since the Unix epoch, UTC. None: it was never started.
    pub started_at: Option<f64>,
    /// Seconds since the Unix epoch, UTC. None: it has not ended yet.
    pub finished_at: Option<f64>,
    /// Why the engine could not start it, in the engine's words. Fit for people.
    pub error: Option<String>,
    /// How long the call took.
    pub total: Duration,
}

/// What went wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorKind {
    /// Not granted. The message holds the line that would grant it.
    Denied,
    /// It can't be the name or the id of a container.
    Invalid,
    /// The engine knows no such container.
    NotFound,
    /// The engine did not answer until the deadline.
    Timeout,
    /// There is no engine: no socket, or nothing that listens on it.
    Unreachable,
    /// This host may not talk to the engine.
    Forbidden,
    /// The engine answered that it can't.
    Engine,
    /// What answered is no container engine, or not one that this host understands.
    Protocol,
}

/// A container that could not be looked at.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{message}")]
pub struct Error {
    /// What went wrong.
    pub kind: ErrorKind,
    /// For people: names container and engine.
    pub message: String,
    /// How long the call took.
    pub total: Duration,
}
