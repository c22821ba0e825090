//! SSH handshakes with hosts whose key is pinned: dialled, verified, logged in to, and closed.
//! There is no way to open a session or to run a command.
//!
//! The host must be named by the check's [`Plan`](crate::Plan) (see [`Plan::ssh`](crate::Plan::ssh)),
//! and so must a jump host. Key files, sockets and secrets are used only where the check's config
//! holds their very names; a secret's own text is never seen by a plugin.

use std::fmt;

use crate::Secret;
use crate::bindings::probehost::plugin::ssh as wit;
#[cfg(not(target_arch = "wasm32"))]
use crate::native::ssh::handshake;
#[cfg(target_arch = "wasm32")]
use wit::handshake;

pub use wit::{ErrorKind, Hop, Phase, Report, Timings};

/// How to log in.
#[derive(Debug, Clone, PartialEq)]
pub struct Identity {
    inner: wit::Identity,
}

impl Identity {
    /// Not at all: the handshake ends once the host key is verified.
    #[must_use]
    pub const fn none() -> Self {
        Self { inner: wit::Identity::None }
    }

    /// With an agent: the one at this socket, or the host's own (`SSH_AUTH_SOCK`); with the key of
    /// this fingerprint, or with each of its keys in turn, at most five.
    #[must_use]
    pub fn agent(socket: Option<&str>, key: Option<&str>) -> Self {
        let agent = wit::Agent { socket: socket.map(str::to_owned), key: key.map(str::to_owned) };
        Self { inner: wit::Identity::Agent(agent) }
    }

    /// With the private key in a file of the host (an absolute path), and its passphrase.
    #[must_use]
    pub fn key_file(path: &str, passphrase: Option<&Secret>) -> Self {
        let passphrase = passphrase.map(|secret| secret.name().to_owned());
        Self { inner: wit::Identity::KeyFile(wit::KeyFile { path: path.to_owned(), passphrase }) }
    }

    /// With a password.
    #[must_use]
    pub fn password(secret: &Secret) -> Self {
        Self { inner: wit::Identity::Password(secret.name().to_owned()) }
    }
}

/// A handshake. Nothing is sent before [`run`](Handshake::run).
#[derive(Debug, Clone, PartialEq)]
pub struct Handshake {
    inner: wit::Request,
}

impl Handshake {
    /// With this host, whose key must be the pinned one: `ssh-ed25519 SHA256:…`, or `SHA256:…`
    /// alone. Without an identity it ends once the key is verified.
    #[must_use]
    pub fn new(host: &str, port: u16, host_key: &str) -> Self {
        Self {
            inner: wit::Request {
                host: host.to_owned(),
                port,
                user: String::new(),
                host_key: host_key.to_owned(),
                identity: wit::Identity::None,
                jump: None,
            },
        }
    }

    /// Logs in.
    #[must_use]
    pub fn login(mut self, user: &str, identity: Identity) -> Self {
        user.clone_into(&mut self.inner.user);
        self.inner.identity = identity.inner;
        self
    }

    /// Goes through a jump host, which is logged in to. It is verified against the host's file of
    /// known hosts.
    #[must_use]
    pub fn through(mut self, host: &str, port: u16, user: &str, identity: Identity) -> Self {
        self.inner.jump = Some(wit::Jump {
            host: host.to_owned(),
            port,
            user: user.to_owned(),
            identity: identity.inner,
        });
        self
    }

    /// Makes it.
    ///
    /// # Errors
    ///
    /// What was not as it should be. With `?` it becomes the [`Problem`](crate::Problem) that its
    /// kind stands for.
    pub fn run(self) -> Result<Report, Error> {
        handshake(&self.inner).map_err(Error::from)
    }
}

/// In an author's tests: what the handshake asks for.
#[cfg(not(target_arch = "wasm32"))]
impl Handshake {
    pub(crate) fn from_inner(inner: wit::Request) -> Self {
        Self { inner }
    }
}

impl Report {
    /// A handshake that went well in no time; for tests.
    #[must_use]
    pub fn new(host_key: &str) -> Self {
        Self {
            host_key: host_key.to_owned(),
            server: String::new(),
            key_exchange: String::new(),
            logged_in: true,
            timings: Timings::default(),
        }
    }
}

impl Default for Timings {
    /// No phase was reached, and no time passed.
    fn default() -> Self {
        Self { dns: None, connect: None, jump: None, handshake: None, login: None, total: 0.0 }
    }
}

/// Why a handshake did not go well.
#[derive(Debug, Clone, PartialEq)]
pub struct Error {
    /// What went wrong.
    pub kind: ErrorKind,
    /// With which host.
    pub hop: Hop,
    /// The phase it went wrong in.
    pub phase: Phase,
    /// For people: names host and port, and the jump host where it failed there.
    pub message: String,
    /// The phases it got to.
    pub timings: Timings,
}

impl Error {
    /// An error with the target that took no time; for tests.
    #[must_use]
    pub fn new(kind: ErrorKind, phase: Phase, message: impl Into<String>) -> Self {
        let (message, timings) = (message.into(), Timings::default());
        Self { kind, hop: Hop::Target, phase, message, timings }
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
        let wit::Error { kind, hop, phase, message, timings } = error;
        Self { kind, hop, phase, message, timings }
    }
}
