//! DNS questions, to the host's own name servers or to one that is named.
//!
//! The name must be named by the check's [`Plan`](crate::Plan) (see
//! [`Plan::dns`](crate::Plan::dns)), because its config does, or the operator must have granted it;
//! a name server that is named is an address of its own. Whatever a name server answers, NXDOMAIN
//! and SERVFAIL too, is an answer.

use std::fmt;

use crate::Address;
use crate::bindings::probehost::plugin::dns as wit;
#[cfg(not(target_arch = "wasm32"))]
use crate::native::dns as host;
#[cfg(target_arch = "wasm32")]
use wit as host;

pub use wit::{Answer, ErrorKind, Phase, RecordType, ResourceRecord, ResponseCode};

/// Asks for the records of a name. Without a name server the host's own are asked.
///
/// # Errors
///
/// There was no answer. With `?` it becomes the [`Problem`](crate::Problem) that its kind stands for.
pub fn query(name: &str, kind: RecordType, server: Option<&Address>) -> Result<Answer, Error> {
    host::query(name, kind, server).map_err(Error::from)
}

impl RecordType {
    /// As zone files spell it: `AAAA`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::A => "A",
            Self::Aaaa => "AAAA",
            Self::Caa => "CAA",
            Self::Cname => "CNAME",
            Self::Mx => "MX",
            Self::Ns => "NS",
            Self::Ptr => "PTR",
            Self::Soa => "SOA",
            Self::Srv => "SRV",
            Self::Txt => "TXT",
        }
    }
}

/// As zone files spell it: `AAAA`.
impl fmt::Display for RecordType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// `NXDOMAIN`, `SERVFAIL`, …
impl fmt::Display for ResponseCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NoError => "NOERROR",
            Self::FormErr => "FORMERR",
            Self::ServFail => "SERVFAIL",
            Self::NxDomain => "NXDOMAIN",
            Self::NotImp => "NOTIMP",
            Self::Refused => "REFUSED",
            Self::Other(number) => return write!(f, "response code {number}"),
        })
    }
}

impl Answer {
    /// An answer of the server `test` that took no time; for tests.
    #[must_use]
    pub fn new(code: ResponseCode, records: Vec<ResourceRecord>) -> Self {
        let (authoritative, truncated, server) = (false, false, "test".to_owned());
        Self { code, records, authoritative, truncated, server, total: 0.0 }
    }

    /// What the records of this type say; those on the way, such as a CNAME, are left out.
    pub fn data(&self, kind: RecordType) -> impl Iterator<Item = &str> {
        let of_kind = self.records.iter().filter(move |record| record.type_ == kind.as_str());
        of_kind.map(|record| record.data.as_str())
    }
}

impl ResourceRecord {
    /// A record that is good for a minute; for tests.
    #[must_use]
    pub fn new(name: &str, kind: RecordType, data: &str) -> Self {
        let (name, data) = (name.to_owned(), data.to_owned());
        Self { name, type_: kind.as_str().to_owned(), ttl: 60, data }
    }
}

/// Why a question has no answer.
#[derive(Debug, Clone, PartialEq)]
pub struct Error {
    /// What went wrong.
    pub kind: ErrorKind,
    /// The phase it went wrong in.
    pub phase: Phase,
    /// For people: names the name, the type and the name server.
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
