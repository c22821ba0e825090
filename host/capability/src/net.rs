//! What went wrong with a connection or a datagram: the errors of `tcp`, `udp` and `dns`.

use std::fmt::Display;
use std::io;

use probehost_model::sanitize;
use tokio::time::error::Elapsed;

use crate::egress::{BadPeer, Cause, Denied, EgressError, Failed, Undelivered};
use crate::own_fault::is_own_fault;
use crate::resolve::ResolveError;
use crate::run::{ActiveCall, CallResult, Phase, Timings};
use crate::tls::{self, Details};

/// What went wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorKind {
    /// Not granted. The message holds the line that would grant it.
    Denied,
    /// The call makes no sense.
    Invalid,
    /// The deadline expired in the phase; or the system gave up connecting.
    Timeout,
    /// The name does not exist, or has no address.
    NameNotFound,
    /// The resolver did not answer, or answered that it can't now.
    Resolver,
    /// Nothing listens there.
    Refused,
    /// No route, or the network is down.
    Unreachable,
    /// The connection was closed or reset.
    Closed,
    /// TLS could not be established; the certificate is not good.
    Tls,
    /// What came back is no answer to what was asked.
    Protocol,
    /// More has come than was to be read.
    TooLarge,
    /// The host itself could not do it: nothing is known about the target.
    Host,
}

/// A call that came to nothing.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{message}")]
pub struct Error {
    /// What went wrong.
    pub kind: ErrorKind,
    /// In which phase.
    pub phase: Phase,
    /// For people: names host and port and the phase; never holds anything that was read.
    pub message: String,
    /// The phases until then: of a connection, where there is one.
    pub timings: Box<Timings>,
    /// The certificate that was refused, where the server sent one.
    pub certificate: Option<Box<Details>>,
}

/// The same, while the call knows the phase and the times.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) kind: ErrorKind,
    message: String,
    certificate: Option<Box<Details>>,
    denied: Option<Box<Denied>>,
}

impl Failure {
    pub(crate) fn new(kind: ErrorKind, message: impl Display) -> Self {
        // A message can hold what a guest or a server has written.
        let message = sanitize(&message.to_string());
        Self { kind, message, certificate: None, denied: None }
    }

    /// A TLS handshake with `peer` that came to nothing.
    pub(crate) fn handshake(peer: &str, error: &io::Error) -> Self {
        let Some(tls) = tls::within(error) else {
            return Self::io(peer, "during the TLS handshake", error);
        };
        if let rustls::Error::AlertReceived(rustls::AlertDescription::NoApplicationProtocol) = tls {
            let text = format_args!("{peer} wants an application protocol (ALPN) to be named");
            return Self::new(ErrorKind::Tls, text);
        }
        let tls::Refusal { message, certificate } = tls::refusal(peer, tls);
        let failure = Self::new(ErrorKind::Tls, message);
        let problem = Some(failure.message.clone());
        let certificate = certificate.and_then(|der| tls::details(&der, problem));
        Self { certificate: certificate.map(Box::new), ..failure }
    }

    /// What the system says of a connection to `peer`; `doing` is `while it was read from`, say.
    pub(crate) fn io(peer: &str, doing: &str, error: &io::Error) -> Self {
        use io::ErrorKind as Io;
        match error.kind() {
            Io::UnexpectedEof => {
                Self::new(ErrorKind::Closed, format_args!("{peer} closed the connection {doing}"))
            }
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
            // The TLS layer says so of records that are broken, and of an alert.
            Io::InvalidData => Self::new(
                ErrorKind::Tls,
                format_args!("the TLS with {peer} broke {doing}: {error}"),
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

    /// For the trace.
    fn result(&self) -> CallResult {
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

/// Ends a call with what came of it, or with a timeout. Its own times are handed on either way.
pub(crate) fn finish<T>(
    call: ActiveCall<'_>,
    done: Result<Result<T, Failure>, Elapsed>,
) -> Result<(T, Timings), Error> {
    let done =
        done.unwrap_or_else(|_| Err(Failure::new(ErrorKind::Timeout, call.timeout_message())));
    let phase = call.phase();
    match done {
        Ok(value) => Ok((value, call.finish(CallResult::Ok))),
        Err(failure) => {
            let timings = Box::new(call.finish(failure.result()));
            let Failure { kind, message, certificate, .. } = failure;
            Err(Error { kind, phase, message, timings, certificate })
        }
    }
}

impl From<BadPeer> for Failure {
    fn from(error: BadPeer) -> Self {
        Self::new(ErrorKind::Invalid, error)
    }
}

impl From<Denied> for Failure {
    fn from(denied: Denied) -> Self {
        let failure = Self::new(ErrorKind::Denied, &denied);
        Self { denied: Some(Box::new(denied)), ..failure }
    }
}

impl From<Failed> for Failure {
    fn from(failed: Failed) -> Self {
        let kind = match failed.cause {
            Cause::Refused => ErrorKind::Refused,
            Cause::Closed => ErrorKind::Closed,
            Cause::TimedOut => ErrorKind::Timeout,
            Cause::Unreachable => ErrorKind::Unreachable,
            Cause::Host => ErrorKind::Host,
        };
        Self::new(kind, failed)
    }
}

impl From<EgressError> for Failure {
    fn from(error: EgressError) -> Self {
        match error {
            EgressError::Denied(denied) => denied.into(),
            EgressError::Dial(failed) => failed.into(),
            EgressError::Resolve(error) => {
                let kind = match error {
                    ResolveError::NotFound(_) => ErrorKind::NameNotFound,
                    ResolveError::Temporary { .. } | ResolveError::Timeout(_) => {
                        ErrorKind::Resolver
                    }
                    ResolveError::Host { .. } => ErrorKind::Host,
                };
                Self::new(kind, error)
            }
        }
    }
}

impl From<Undelivered> for Failure {
    fn from(error: Undelivered) -> Self {
        let kind = match error {
            Undelivered::Refused(_) => ErrorKind::Refused,
            Undelivered::Unreachable { .. } => ErrorKind::Unreachable,
            Undelivered::TooLarge { .. } => ErrorKind::TooLarge,
            Undelivered::Host { .. } => ErrorKind::Host,
        };
        Self::new(kind, error)
    }
}
