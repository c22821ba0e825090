//! From what the client library says to the kinds of the interface.

use std::error::Error as _;
use std::fmt::Display;
use std::io;

use bollard::errors::Error as Library;
use probehost_model::sanitize;

use super::engine::Engine;
use super::types::ErrorKind;
use crate::egress::Denied;
use crate::run::CallResult;
use crate::tls;

/// A call that failed; the call itself knows the time.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) kind: ErrorKind,
    pub(crate) message: String,
    denied: Option<Box<Denied>>,
}

impl Failure {
    pub(crate) fn new(kind: ErrorKind, message: impl Display) -> Self {
        // A message can hold what a guest or an engine has written.
        Self { kind, message: sanitize(&message.to_string()), denied: None }
    }

    /// The engine did not answer until the deadline.
    pub(crate) fn silent(engine: &Engine, waited: &str) -> Self {
        Self::new(
            ErrorKind::Timeout,
            format_args!("the container engine at {engine} does not answer: {waited}"),
        )
    }

    /// An answer in which there is nothing of a container.
    pub(crate) fn without_state(engine: &Engine, name: &str) -> Self {
        Self::new(
            ErrorKind::Protocol,
            format_args!("{engine} does not say what state the container {name} is in"),
        )
    }

    /// What became of `asked`, such as `the question for web`, which is about the container `name`.
    pub(crate) fn of(engine: &Engine, asked: &str, name: &str, error: Library) -> Self {
        match error {
            Library::DockerResponseServerError { status_code: 404, message } => {
                // Whatever else listens there answers 404 too, and engines name the container.
                if message.to_ascii_lowercase().contains("no such container") {
                    let text = format_args!("there is no container {name} on {engine}");
                    return Self::new(ErrorKind::NotFound, text);
                }
                Self::new(
                    ErrorKind::Protocol,
                    format_args!("{engine} answered 404, and not as a container engine does"),
                )
            }
            Library::DockerResponseServerError { status_code: status @ (401 | 403), .. } => {
                let text = format_args!("the container engine at {engine} answered {status}");
                Self::new(ErrorKind::Forbidden, text)
            }
            Library::DockerResponseServerError { status_code: status, message } => {
                // 409: what is asked for does not go with the state that the container is in.
                let able = status < 500 && status != 409;
                let kind = if able { ErrorKind::Protocol } else { ErrorKind::Engine };
                Self::new(
                    kind,
                    format_args!(
                        "the container engine at {engine} answered {status} to {asked}: {message}"
                    ),
                )
            }
            Library::SocketNotFoundError(_) => Self::no_socket(engine),
            Library::IOError { err } => Self::io(engine, &err),
            Library::RequestTimeoutError => Self::silent(engine, "its client gave up"),
            Library::JsonDataError { .. } | Library::JsonSerdeError { .. } => Self::new(
                ErrorKind::Protocol,
                format_args!("what {engine} says of the container {name} can't be understood"),
            ),
            error => Self::transport(engine, &error),
        }
    }

    fn transport(engine: &Engine, error: &Library) -> Self {
        let mut source = error.source();
        let mut last = error.to_string();
        while let Some(inner) = source {
            if let Some(io) = inner.downcast_ref::<io::Error>() {
                return Self::io(engine, io);
            }
            last = inner.to_string();
            source = inner.source();
        }
        Self::new(
            ErrorKind::Protocol,
            format_args!("the container engine at {engine} did not answer as one: {last}"),
        )
    }

    fn io(engine: &Engine, error: &io::Error) -> Self {
        if let Some((message, refused)) = tls::refusal_within(&engine.to_string(), error) {
            let kind = if refused { ErrorKind::Forbidden } else { ErrorKind::Unreachable };
            return Self::new(kind, message);
        }
        match error.kind() {
            io::ErrorKind::NotFound => Self::no_socket(engine),
            io::ErrorKind::PermissionDenied => Self::new(
                ErrorKind::Forbidden,
                format_args!(
                    "this host may not talk to the container engine at {engine}: permission \
                     denied; let its user into the group that owns the socket"
                ),
            ),
            io::ErrorKind::ConnectionRefused => Self::new(
                ErrorKind::Unreachable,
                format_args!("no container engine listens on {engine}: connection refused"),
            ),
            _ => Self::new(
                ErrorKind::Unreachable,
                format_args!("the container engine at {engine} can't be reached: {error}"),
            ),
        }
    }

    fn no_socket(engine: &Engine) -> Self {
        Self::new(
            ErrorKind::Unreachable,
            format_args!(
                "there is no container engine at {engine}; start it, or set `engine` under \
                 [containers] in the host's config"
            ),
        )
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
