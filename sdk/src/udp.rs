//! Datagrams: one out, one in.
//!
//! The address must be named by the check's [`Plan`](crate::Plan) (see
//! [`Plan::udp`](crate::Plan::udp)), because its config does, or the operator must have granted it.

use std::fmt;

use crate::Address;
use crate::bindings::probehost::plugin::udp as wit;
#[cfg(not(target_arch = "wasm32"))]
use crate::native::udp::exchange;
#[cfg(target_arch = "wasm32")]
use wit::exchange;

pub use wit::{ErrorKind, Phase, Reply};

/// How many bytes of a reply are taken when nothing else is said.
const REPLY_LIMIT: u32 = 4 << 10;

/// A datagram. Nothing is sent before [`exchange`](Datagram::exchange).
#[derive(Debug, Clone, PartialEq)]
pub struct Datagram {
    to: Address,
    payload: Vec<u8>,
    reply_limit: u32,
    tries: u8,
}

impl Datagram {
    /// To a host (a name, or an address without brackets), at most 65507 bytes.
    #[must_use]
    pub fn new(host: &str, port: u16, payload: impl Into<Vec<u8>>) -> Self {
        let to = Address { host: host.to_owned(), port };
        Self { to, payload: payload.into(), reply_limit: REPLY_LIMIT, tries: 1 }
    }

    /// Takes a reply of up to this many bytes; a longer one is an error, `too-large`. The default is
    /// 4 KiB.
    #[must_use]
    pub fn reply_limit(mut self, bytes: u32) -> Self {
        self.reply_limit = bytes;
        self
    }

    /// Sends it up to this often, 1 to 10, the time until the deadline shared among the tries. The
    /// default is once.
    #[must_use]
    pub fn tries(mut self, tries: u8) -> Self {
        self.tries = tries;
        self
    }

    /// Sends it and waits for the reply.
    ///
    /// # Errors
    ///
    /// There was no reply, or one that is too large. With `?` it becomes the
    /// [`Problem`](crate::Problem) that its kind stands for.
    pub fn exchange(self) -> Result<Reply, Error> {
        exchange(&self.to, &self.payload, self.reply_limit, self.tries).map_err(Error::from)
    }

    /// Where it goes.
    #[must_use]
    pub fn to(&self) -> &Address {
        &self.to
    }

    /// What it says.
    #[must_use]
    pub fn payload(&self) -> &[u8] {
        &self.payload
    }

    /// How often it is sent at most.
    #[must_use]
    pub fn try_limit(&self) -> u8 {
        self.tries
    }
}

/// Why a datagram has no reply.
#[derive(Debug, Clone, PartialEq)]
pub struct Error {
    /// What went wrong.
    pub kind: ErrorKind,
    /// The phase it went wrong in.
    pub phase: Phase,
    /// For people: names host and port and the phase.
    pub message: String,
    /// How long the call took, in seconds.
    pub total: f64,
}

impl Error {
    /// An error that took no time; for tests.
    #[must_use]
    pub fn new(kind: ErrorKind, phase: Phase, message: impl Into<String>) -> Self {
        Self { kind, phase, message: message.into(), total: 0.0 }
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
        let wit::Error { kind, phase, message, total } = error;
        Self { kind, phase, message, total }
    }
}
