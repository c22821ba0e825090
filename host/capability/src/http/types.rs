//! The records of the WIT interface, as Rust types.

use crate::run::{Phase, Timings};
use crate::tls::Certificate;

/// A header of an answer. Bytes that are not UTF-8 are replaced.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Header {
    /// In lower case.
    pub name: String,
    /// Without leading and trailing blanks.
    pub value: String,
}

/// A header of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestHeader {
    /// In any case.
    pub name: String,
    /// What it says.
    pub value: HeaderValue,
}

impl RequestHeader {
    /// One whose value is this text.
    pub fn text(name: impl Into<String>, value: impl Into<String>) -> Self {
        Self { name: name.into(), value: HeaderValue::Text(value.into()) }
    }
}

/// What a header of a request says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HeaderValue {
    /// This.
    Text(String),
    /// A secret, which nobody but the host sees (contract M6).
    Secret {
        /// Goes before it: `Bearer `.
        prefix: String,
        /// Its name. The check's config has to name it.
        name: String,
    },
}

/// A request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// `HEAD`, `GET`, `POST`, …
    pub method: String,
    /// Absolute, `http` or `https`, without a user part.
    pub url: String,
    /// Further headers. The host sets `Host`, `Connection` and what frames the body.
    pub headers: Vec<RequestHeader>,
    /// At most [`MAX_BODY_BYTES`](super::MAX_BODY_BYTES).
    pub body: Option<Vec<u8>>,
    /// How many redirects to follow, 0 to [`MAX_REDIRECTS`](super::MAX_REDIRECTS). Each hop must be granted.
    pub redirects: u8,
    /// How many bytes of the body to read; 0: the body is not read at all. More than
    /// [`MAX_BODY_BYTES`](super::MAX_BODY_BYTES) counts as that.
    pub body_limit: u32,
}

/// An answer.
#[derive(Debug, Clone, PartialEq)]
pub struct Response {
    /// 101 to 999.
    pub status: u16,
    /// In the order in which hyper keeps them: those of one name together.
    pub headers: Vec<Header>,
    /// Empty for HEAD, and when the limit was 0.
    pub body: Vec<u8>,
    /// The URL that answered, after redirects.
    pub url: String,
    /// Those of the last hop; `total` is of the whole call.
    pub timings: Timings,
    /// The server's certificate, for `https`.
    pub certificate: Option<Certificate>,
}

/// What went wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorKind {
    /// Not granted. The message holds the line that would grant it.
    Denied,
    /// The request is malformed: a bad URL, method or header, or a secret that is not there.
    Invalid,
    /// The deadline expired in the phase; or the system gave up connecting.
    Timeout,
    /// The name does not exist, or has no address.
    NameNotFound,
    /// The resolver did not answer, or answered that it can't now.
    Resolver,
    /// Nothing listens: the connection was refused.
    Refused,
    /// No route, or the network is down.
    Unreachable,
    /// The connection was closed or reset before an answer was complete.
    Closed,
    /// TLS could not be established; the certificate is not good.
    Tls,
    /// What came back is not HTTP.
    Protocol,
    /// The answer's head or body is over the limit.
    TooLarge,
    /// More redirects than allowed, or one that leads nowhere.
    Redirect,
    /// The host itself could not make the call: nothing is known about the target.
    Host,
}

/// A request that got no answer.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{message}")]
pub struct Error {
    /// What went wrong.
    pub kind: ErrorKind,
    /// In which phase.
    pub phase: Phase,
    /// For people: names host and port and the phase; never holds anything of an answer's body.
    pub message: String,
    /// The phases until then.
    pub timings: Timings,
    /// The certificate that was refused, where the server sent one.
    pub certificate: Option<Certificate>,
}
