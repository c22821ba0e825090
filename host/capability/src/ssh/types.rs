//! What goes into and comes out of the `ssh` capability.

use crate::run::{Phase, Timings};

/// A handshake with an SSH server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// A name or an IP address, without brackets.
    pub host: String,
    /// Never zero.
    pub port: u16,
    /// Who logs in. Of no interest with [`Identity::None`].
    pub user: String,
    /// The pinned host key: `ssh-ed25519 SHA256:…`, or `SHA256:…` alone. Required.
    pub host_key: String,
    /// How to log in.
    pub identity: Identity,
    /// The host to go through.
    pub jump: Option<Jump>,
}

/// The host through which another is reached. It is verified on its own, against known_hosts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Jump {
    /// A name or an IP address, without brackets.
    pub host: String,
    /// Never zero.
    pub port: u16,
    /// Who logs in there.
    pub user: String,
    /// How to log in there. [`Identity::None`] can't be: only who is logged in gets further.
    pub identity: Identity,
}

/// How to log in. Secrets, files and sockets are used only where the check's config names them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Identity {
    /// Not at all: the handshake ends once the host key is verified.
    None,
    /// With the keys of an agent.
    Agent {
        /// Its socket. None: that of `SSH_AUTH_SOCK` of the host.
        socket: Option<String>,
        /// The fingerprint of the one key to use. None: all, in turn, at most
        /// [`MAX_AGENT_KEYS`](super::MAX_AGENT_KEYS).
        key: Option<String>,
    },
    /// With a private key in a file.
    KeyFile {
        /// The file, an absolute path.
        path: String,
        /// The name of the secret that is its passphrase.
        passphrase: Option<String>,
    },
    /// With a password: the name of the secret that it is.
    Password(String),
}

/// A handshake that went well.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    /// The verified key: `ssh-ed25519 SHA256:…`.
    pub host_key: String,
    /// What the server says that it is: `SSH-2.0-OpenSSH_9.2p1`.
    pub server: String,
    /// The key exchange algorithm.
    pub key_exchange: String,
    /// Whether a login was made.
    pub logged_in: bool,
    /// How long the phases took.
    pub timings: Timings,
}

/// A host key that a server has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Offered {
    /// Its type and fingerprint, as they are pinned: `ssh-ed25519 SHA256:…`.
    pub host_key: String,
    /// Its size in bits, where the type leaves a choice.
    pub bits: Option<u32>,
}

/// What went wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorKind {
    /// Not granted. The message holds the line that would grant it, or says that the check's
    /// config does not name it.
    Denied,
    /// The request is malformed: no pin, a bad one, a bad fingerprint.
    Invalid,
    /// What the identity names can't be used: a missing secret, a key file that can't be read,
    /// no agent to ask. Nothing was dialled.
    Identity,
    /// The deadline expired in the phase; or the system gave up connecting.
    Timeout,
    /// The name does not exist, or has no address.
    NameNotFound,
    /// The resolver did not answer, or answered that it can't now.
    Resolver,
    /// Nothing listens: the connection was refused.
    Refused,
    /// No route; or the jump host can't connect to the target.
    Unreachable,
    /// The jump host does not forward connections to the target.
    Forwarding,
    /// The connection was closed or reset before the handshake was complete.
    Closed,
    /// The host key is not the pinned one, or that of a jump host not the known one.
    HostKey,
    /// The login was refused.
    Auth,
    /// The two sides have no algorithm in common.
    Algorithms,
    /// What answered does not speak SSH 2, or not well.
    Protocol,
    /// The host itself could not do it: nothing is known about the target.
    Host,
}

/// Which of the two hosts it is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hop {
    /// The one that is probed.
    Target,
    /// The jump host.
    Jump,
}

/// A handshake that failed.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{message}")]
pub struct Error {
    /// What went wrong.
    pub kind: ErrorKind,
    /// With which host.
    pub hop: Hop,
    /// In which phase.
    pub phase: Phase,
    /// For people: names host and port, and the jump host where it failed there. Never holds a
    /// secret, key material, or what an agent says.
    pub message: String,
    /// The phases until then.
    pub timings: Timings,
}
