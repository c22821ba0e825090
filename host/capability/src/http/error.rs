//! From what the layers below say to the kinds of the interface.

use std::error::Error as _;
use std::fmt::Display;
use std::io;

use probehost_model::sanitize;

use super::types::ErrorKind;
use crate::egress::{Cause, Denied, Failed};
use crate::own_fault::is_own_fault;
use crate::resolve::ResolveError;
use crate::run::CallResult;
use crate::tls::{self, Certificate, Refusal};

/// A call that failed; the call itself knows the phase and the times.
#[derive(Debug)]
pub(super) struct Failure {
    pub(super) kind: ErrorKind,
    pub(super) message: String,
    pub(super) certificate: Option<Certificate>,
    denied: Option<Box<Denied>>,
}

impl Failure {
    pub(super) fn new(kind: ErrorKind, message: impl Display) -> Self {
        // A message can hold what a guest or a server has written: a URL, a certificate's names.
        let message = sanitize(&message.to_string());
        Self { kind, message, certificate: None, denied: None }
    }

    pub(super) fn denied(denied: Denied) -> Self {
        let failure = Self::new(ErrorKind::Denied, &denied);
        Self { denied: Some(Box::new(denied)), ..failure }
    }

    pub(super) fn resolve(error: &ResolveError) -> Self {
        let kind = match error {
            ResolveError::NotFound(_) => ErrorKind::NameNotFound,
            ResolveError::Temporary { .. } | ResolveError::Timeout(_) => ErrorKind::Resolver,
            ResolveError::Host { .. } => ErrorKind::Host,
        };
        Self::new(kind, error)
    }

    pub(super) fn dial(failed: &Failed) -> Self {
        let kind = match failed.cause {
            Cause::Refused => ErrorKind::Refused,
            Cause::Closed => ErrorKind::Closed,
            Cause::TimedOut => ErrorKind::Timeout,
            Cause::Unreachable => ErrorKind::Unreachable,
            Cause::Host => ErrorKind::Host,
        };
        Self::new(kind, failed)
    }

    /// A TLS handshake with `peer` that came to nothing.
    pub(super) fn handshake(peer: &str, error: &io::Error) -> Self {
        let Some(tls) = tls::within(error) else {
            return Self::io(peer, "during the TLS handshake", error);
        };
        let Refusal { message, certificate } = tls::refusal(peer, tls);
        let certificate = certificate.and_then(|der| tls::read(&der));
        Self { certificate, ..Self::new(ErrorKind::Tls, message) }
    }

    /// What hyper says of an exchange with `peer`; `doing` is `before it answered` or
    /// `before its answer was complete`.
    pub(super) fn exchange(peer: &str, doing: &str, error: &hyper::Error) -> Self {
        if error.is_parse_too_large() {
            return Self::new(
                ErrorKind::TooLarge,
                format_args!(
                    "the head of the answer of {peer} has more than 64 KiB or 100 headers"
                ),
            );
        }
        let mut source = error.source();
        while let Some(inner) = source {
            if let Some(io) = inner.downcast_ref::<io::Error>() {
                return match tls::within(io) {
                    Some(tls) => Self::new(ErrorKind::Tls, tls::refusal(peer, tls).message),
                    None => Self::io(peer, doing, io),
                };
            }
            source = inner.source();
        }
        if error.is_incomplete_message() || error.is_canceled() || error.is_closed() {
            return Self::closed(peer, doing);
        }
        Self::new(ErrorKind::Protocol, format_args!("{peer} does not speak HTTP/1.1: {error}"))
    }

    pub(super) fn closed(peer: &str, doing: &str) -> Self {
        Self::new(ErrorKind::Closed, format_args!("{peer} closed the connection {doing}"))
    }

    fn io(peer: &str, doing: &str, error: &io::Error) -> Self {
        use io::ErrorKind as Io;
        match error.kind() {
            Io::UnexpectedEof => Self::closed(peer, doing),
            Io::ConnectionReset | Io::ConnectionAborted | Io::BrokenPipe | Io::NotConnected => {
                Self::new(ErrorKind::Closed, format_args!("{peer} reset the connection {doing}"))
            }
            Io::TimedOut => Self::new(
                ErrorKind::Timeout,
                format_args!("{peer} stopped acknowledging what was sent {doing}"),
            ),
            Io::NetworkUnreachable | Io::HostUnreachable | Io::NetworkDown => {
                Self::new(ErrorKind::Unreachable, format_args!("{peer} became unreachable {doing}"))
            }
            // hyper's decoders say so of broken chunks and lengths.
            Io::InvalidData | Io::InvalidInput => Self::new(
                ErrorKind::Protocol,
                format_args!("{peer} does not speak HTTP/1.1: {error}"),
            ),
            _ if is_own_fault(error) => Self::new(
                ErrorKind::Host,
                format_args!("this host could not go on with {peer} {doing}: {error}"),
            ),
            _ => Self::new(
                ErrorKind::Closed,
                format_args!("the connection to {peer} broke {doing}: {error}"),
            ),
        }
    }

    /// Adds the server's certificate.
    pub(super) fn with_certificate(self, certificate: Option<Certificate>) -> Self {
        Self { certificate: self.certificate.or(certificate), ..self }
    }

    /// For the trace.
    pub(super) fn result(&self) -> CallResult {
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
