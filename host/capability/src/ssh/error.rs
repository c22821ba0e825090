//! From what the layers below say to the kinds of the interface.

use std::fmt::Display;
use std::io;

use probehost_model::sanitize;
use russh::{AlgorithmKind, ChannelOpenFailure};

use super::session::{Refusal, Seen};
use super::types::{ErrorKind, Hop};
use crate::egress::{Cause, Denied, EgressError, Failed};
use crate::own_fault::is_own_fault;
use crate::resolve::ResolveError;
use crate::run::{CallResult, Phase};
use crate::secrets::SecretError;

/// Most algorithms of a server that a message names.
const MOST_NAMED: usize = 6;

/// A handshake that failed; the call itself knows the phase and the times.
#[derive(Debug)]
pub(super) struct Failure {
    pub(super) kind: ErrorKind,
    pub(super) hop: Hop,
    pub(super) message: String,
    denied: Option<Box<Denied>>,
}

impl Failure {
    pub(super) fn new(kind: ErrorKind, message: impl Display) -> Self {
        // A message can hold what a guest or a server has written.
        let message = sanitize(&message.to_string());
        Self { kind, hop: Hop::Target, message, denied: None }
    }

    /// The same, of the jump host that was on the way to `target` (contract P8).
    pub(super) fn on_jump(self, jump: &str, target: &str) -> Self {
        let message = format!("jump host {jump}, on the way to {target}: {}", self.message);
        Self { hop: Hop::Jump, message: sanitize(&message), ..self }
    }

    /// What this machine was to use is not named by the check's config.
    pub(super) fn unnamed(what: &str) -> Self {
        Self::new(
            ErrorKind::Denied,
            format_args!("the check's config does not name {what}, so it is not used"),
        )
    }

    fn dial(failed: &Failed) -> Self {
        let kind = match failed.cause {
            Cause::Refused => ErrorKind::Refused,
            Cause::Closed => ErrorKind::Closed,
            Cause::TimedOut => ErrorKind::Timeout,
            Cause::Unreachable => ErrorKind::Unreachable,
            Cause::Host => ErrorKind::Host,
        };
        Self::new(kind, failed)
    }

    fn resolve(error: &ResolveError) -> Self {
        let kind = match error {
            ResolveError::NotFound(_) => ErrorKind::NameNotFound,
            ResolveError::Temporary { .. } | ResolveError::Timeout(_) => ErrorKind::Resolver,
            ResolveError::Host { .. } => ErrorKind::Host,
        };
        Self::new(kind, error)
    }

    /// A handshake with `peer` that came to nothing in `phase`.
    pub(super) fn handshake(peer: &str, phase: Phase, refusal: Refusal, seen: &Seen) -> Self {
        let error = match refusal {
            Refusal::HostKey(message) => return Self::new(ErrorKind::HostKey, message),
            Refusal::Keeping(message) => return Self::new(ErrorKind::Host, message),
            Refusal::Ssh(error) => error,
        };
        let doing = match phase {
            Phase::Version => "before its version line",
            Phase::Login => "during the login",
            _ => "during the key exchange",
        };
        match error {
            russh::Error::NoCommonAlgo { kind, theirs, .. } => {
                Self::algorithms(peer, kind, &theirs)
            }
            russh::Error::Version => Self::new(
                ErrorKind::Protocol,
                format_args!("{peer} does not speak SSH 2{}", seen.after_saying()),
            ),
            russh::Error::WrongServerSig => Self::new(
                ErrorKind::HostKey,
                format_args!("{peer} could not prove that it has the host key it shows"),
            ),
            russh::Error::IO(error) => Self::io(peer, doing, &error, seen),
            russh::Error::Disconnect
            | russh::Error::HUP
            | russh::Error::SendError
            | russh::Error::RecvError
            | russh::Error::Join(_) => Self::closed(peer, doing, seen),
            error => Self::new(
                ErrorKind::Protocol,
                format_args!("{peer} does not keep to the SSH protocol, {doing}: {error}"),
            ),
        }
    }

    pub(super) fn closed(peer: &str, doing: &str, seen: &Seen) -> Self {
        let said = seen.after_saying();
        Self::new(ErrorKind::Closed, format_args!("{peer} closed the connection {doing}{said}"))
    }

    fn io(peer: &str, doing: &str, error: &io::Error, seen: &Seen) -> Self {
        use io::ErrorKind as Io;
        match error.kind() {
            Io::UnexpectedEof => Self::closed(peer, doing, seen),
            Io::ConnectionReset | Io::ConnectionAborted | Io::BrokenPipe | Io::NotConnected => {
                let said = seen.after_saying();
                let message = format_args!("{peer} reset the connection {doing}{said}").to_string();
                Self::new(ErrorKind::Closed, message)
            }
            Io::TimedOut => Self::new(
                ErrorKind::Timeout,
                format_args!("{peer} stopped acknowledging what was sent {doing}"),
            ),
            Io::NetworkUnreachable | Io::HostUnreachable | Io::NetworkDown => {
                Self::new(ErrorKind::Unreachable, format_args!("{peer} became unreachable {doing}"))
            }
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

    fn algorithms(peer: &str, kind: AlgorithmKind, theirs: &[String]) -> Self {
        let what = match kind {
            AlgorithmKind::Kex => "key exchange",
            AlgorithmKind::Key => "host key",
            AlgorithmKind::Cipher => "cipher",
            AlgorithmKind::Compression => "compression",
            AlgorithmKind::Mac => "MAC",
        };
        let mut offers: Vec<&str> = theirs.iter().map(String::as_str).take(MOST_NAMED).collect();
        if theirs.len() > MOST_NAMED {
            offers.push("…");
        }
        let offers = offers.join(", ");
        Self::new(
            ErrorKind::Algorithms,
            format_args!(
                "{peer} and this host have no {what} algorithm in common; it has {offers}"
            ),
        )
    }

    /// The jump host `jump` did not open the way to `target`.
    pub(super) fn no_way(jump: &str, target: &str, error: &russh::Error, seen: &Seen) -> Self {
        let russh::Error::ChannelOpenFailure(failure) = error else {
            let doing = format!("while it was to connect to {target}");
            return Self::closed(jump, &doing, seen).on_jump(jump, target);
        };
        match failure {
            ChannelOpenFailure::ConnectFailed => Self::new(
                ErrorKind::Unreachable,
                format_args!(
                    "{target} cannot be reached from the jump host {jump}, which could not connect to it"
                ),
            ),
            ChannelOpenFailure::AdministrativelyProhibited => Self {
                hop: Hop::Jump,
                ..Self::new(
                    ErrorKind::Forwarding,
                    format_args!(
                        "the jump host {jump} does not forward connections to {target}; allow it \
                         there (AllowTcpForwarding, PermitOpen)"
                    ),
                )
            },
            _ => Self {
                hop: Hop::Jump,
                ..Self::new(
                    ErrorKind::Forwarding,
                    format_args!("the jump host {jump} did not connect to {target}: {failure:?}"),
                )
            },
        }
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

impl From<Denied> for Failure {
    fn from(denied: Denied) -> Self {
        let failure = Self::new(ErrorKind::Denied, &denied);
        Self { denied: Some(Box::new(denied)), ..failure }
    }
}

impl From<EgressError> for Failure {
    fn from(error: EgressError) -> Self {
        match error {
            EgressError::Denied(denied) => denied.into(),
            EgressError::Resolve(error) => Self::resolve(&error),
            EgressError::Dial(failed) => Self::dial(&failed),
        }
    }
}

impl From<SecretError> for Failure {
    fn from(error: SecretError) -> Self {
        Self::new(ErrorKind::Identity, error)
    }
}
