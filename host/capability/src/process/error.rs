//! From what the system says to the kinds of the interface.

use std::fmt::Display;
use std::io;

use probehost_model::sanitize;

use super::types::{Error, ErrorKind};
use crate::egress::Denied;
use crate::run::CallResult;

/// A call that failed.
#[derive(Debug)]
pub(crate) struct Failure {
    kind: ErrorKind,
    message: String,
    denied: Option<Box<Denied>>,
}

impl Failure {
    pub(crate) fn new(kind: ErrorKind, message: impl Display) -> Self {
        // A message can hold what a guest has written.
        Self { kind, message: sanitize(&message.to_string()), denied: None }
    }

    /// The system did not let this host do it.
    pub(crate) fn host(name: &str, what: &str, error: &io::Error) -> Self {
        Self::new(ErrorKind::Host, format_args!("the command {name} could not {what}: {error}"))
    }

    /// For the trace.
    pub(crate) fn result(&self) -> CallResult {
        match &self.denied {
            Some(denied) => CallResult::Denied {
                endpoint: denied.endpoint.clone(),
                grant_line: denied.grant_line.clone(),
            },
            None if self.kind == ErrorKind::Timeout => CallResult::TimedOut(self.message.clone()),
            None => CallResult::Failed(self.message.clone()),
        }
    }
}

impl From<Denied> for Failure {
    fn from(denied: Denied) -> Self {
        let failure = Self::new(ErrorKind::Denied, &denied);
        Self { denied: Some(Box::new(denied)), ..failure }
    }
}

impl From<Failure> for Error {
    fn from(failure: Failure) -> Self {
        let Failure { kind, message, .. } = failure;
        Self { kind, message }
    }
}
