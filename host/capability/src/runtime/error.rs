//! Why a target was not restarted.

use std::fmt;
use std::time::Duration;

use crate::container;
use crate::process;
use crate::text::Span;

/// A target that was not restarted. All texts are fit for people, and hold no secret of a command.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RestartError {
    /// The container engine could not be asked, or did not do it.
    #[error("{message}")]
    Container {
        /// What went wrong; [`Timeout`](container::ErrorKind::Timeout) when the limit was over.
        kind: container::ErrorKind,
        /// Names container and engine, and what to do.
        message: String,
    },
    /// The command can't be started or watched.
    #[error("{message}")]
    Start {
        /// What went wrong.
        kind: process::ErrorKind,
        /// Names the command, and what to do.
        message: String,
    },
    /// The command ended, and not with exit code 0.
    #[error("the command {name} ended {end}{said}")]
    Failed {
        /// Its name.
        name: String,
        /// Its exit code, or the signal that ended it.
        end: End,
        /// The last line that it wrote.
        said: Said,
    },
    /// The command did not end in time, and was killed.
    #[error("the command {name} did not end within {} and was killed{said}", Span(*limit))]
    Timeout {
        /// Its name.
        name: String,
        /// The time it had.
        limit: Duration,
        /// The last line that it wrote.
        said: Said,
    },
}

/// How a command ended: `with exit code 1`, `by signal 9`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// By itself, with this code.
    Code(i32),
    /// By this signal.
    Signal(i32),
}

impl fmt::Display for End {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Code(code) => write!(f, "with exit code {code}"),
            Self::Signal(signal) => write!(f, "by signal {signal}"),
        }
    }
}

/// The last line that a command wrote to standard error, else to standard output, sanitized and
/// with `***` for its secrets. Empty: it wrote none.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Said(pub String);

impl fmt::Display for Said {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() { Ok(()) } else { write!(f, ": {}", self.0) }
    }
}

impl From<container::error::Failure> for RestartError {
    fn from(failure: container::error::Failure) -> Self {
        Self::Container { kind: failure.kind, message: failure.message }
    }
}

impl From<process::error::Failure> for RestartError {
    fn from(failure: process::error::Failure) -> Self {
        let process::Error { kind, message } = failure.into();
        Self::Start { kind, message }
    }
}
