//! How a container is, in the words of its engine. There is no way to change one.
//!
//! The container must be named by the check's [`Plan`](crate::Plan) (see
//! [`Plan::container`](crate::Plan::container)), and its very name or id must stand in the config.

use std::fmt;

use crate::bindings::probehost::plugin::container as wit;
#[cfg(not(target_arch = "wasm32"))]
use crate::native::container::inspect as call;
#[cfg(target_arch = "wasm32")]
use wit::inspect as call;

pub use wit::{ErrorKind, Health, Report, State};

/// Looks at the container of this name or id.
///
/// # Errors
///
/// It could not be looked at. With `?` it becomes the [`Problem`](crate::Problem) that its kind
/// stands for: a container that is not there is `stopped`, and an engine that does not answer is
/// inconclusive.
pub fn inspect(name: &str) -> Result<Report, Error> {
    call(name).map_err(Error::from)
}

impl Report {
    /// A container in this state of which nothing else is known; for tests.
    #[must_use]
    pub fn new(state: State) -> Self {
        Self {
            state,
            exit_code: 0,
            oom_killed: false,
            restarts: 0,
            health: Health::None,
            health_failures: 0,
            started_at: None,
            finished_at: None,
            error: None,
            total: 0.0,
        }
    }
}

/// Why a container could not be looked at.
#[derive(Debug, Clone, PartialEq)]
pub struct Error {
    /// What went wrong.
    pub kind: ErrorKind,
    /// For people: names container and engine.
    pub message: String,
    /// How long the call took, in seconds.
    pub total: f64,
}

impl Error {
    /// An error that took no time; for tests.
    #[must_use]
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), total: 0.0 }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Error {}

impl From<wit::Error> for Error {
    fn from(error: wit::Error) -> Self {
        let wit::Error { kind, message, total } = error;
        Self { kind, message, total }
    }
}
