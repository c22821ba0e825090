//! HTTP/1.1 requests, each on a fresh connection, to origins that are granted: those that
//! the check's [`Plan`](crate::Plan) names because its config does, or that the operator granted.

use std::fmt;

use crate::HeaderValue;
use crate::bindings::probehost::plugin::http as wit;
#[cfg(not(target_arch = "wasm32"))]
use crate::native::http as host;
#[cfg(target_arch = "wasm32")]
use wit as host;

pub use wit::{Certificate, ErrorKind, Header, Phase, Response, Timings};

/// How many bytes of a body are read when a request that is not a HEAD names no limit.
const BODY_LIMIT: u32 = 256 << 10;

/// A request. Nothing is sent before [`send`](Request::send).
#[derive(Debug, Clone, PartialEq)]
pub struct Request {
    inner: wit::Request,
}

impl Request {
    /// A request with any method. The URL is absolute, `http` or `https`, without a user part.
    #[must_use]
    pub fn new(method: &str, url: impl AsRef<str>) -> Self {
        Self {
            inner: wit::Request {
                method: method.to_owned(),
                url: url.as_ref().to_owned(),
                headers: Vec::new(),
                body: None,
                redirects: 0,
                body_limit: if method == "HEAD" { 0 } else { BODY_LIMIT },
            },
        }
    }

    /// A HEAD request.
    #[must_use]
    pub fn head(url: impl AsRef<str>) -> Self {
        Self::new("HEAD", url)
    }

    /// A GET request.
    #[must_use]
    pub fn get(url: impl AsRef<str>) -> Self {
        Self::new("GET", url)
    }

    /// A POST request with its body.
    #[must_use]
    pub fn post(url: impl AsRef<str>, body: impl Into<Vec<u8>>) -> Self {
        let mut request = Self::new("POST", url);
        request.inner.body = Some(body.into());
        request
    }

    /// Adds a header.
    #[must_use]
    pub fn header(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.push(name.into(), HeaderValue::Text(value.into()));
        self
    }

    /// Adds headers, such as those of a check's [`Headers`](crate::Headers). A value that is a
    /// secret is looked up by the host, when the check's config names it.
    #[must_use]
    pub fn headers<'a, V: Into<HeaderValue>>(
        mut self,
        headers: impl IntoIterator<Item = (&'a str, V)>,
    ) -> Self {
        for (name, value) in headers {
            self.push(name.to_owned(), value.into());
        }
        self
    }

    fn push(&mut self, name: String, value: HeaderValue) {
        let value = match value {
            HeaderValue::Text(text) => wit::HeaderValue::Text(text),
            HeaderValue::Secret { prefix, name } => {
                wit::HeaderValue::Secret(wit::Secret { prefix, name })
            }
        };
        self.inner.headers.push(wit::RequestHeader { name, value });
    }

    /// Follows up to this many redirects, 0 to 10; each hop must be granted. The default is 0:
    /// a redirect is an answer.
    #[must_use]
    pub fn redirects(mut self, redirects: u8) -> Self {
        self.inner.redirects = redirects;
        self
    }

    /// Reads up to this many bytes of the answer's body; a longer one is an error, `too-large`.
    /// With 0 it is not read at all, which is the default of HEAD; otherwise it is 256 KiB.
    /// The host's own limit is 4 MiB.
    #[must_use]
    pub fn body_limit(mut self, bytes: u32) -> Self {
        self.inner.body_limit = bytes;
        self
    }

    /// Sends it and waits for the answer.
    ///
    /// # Errors
    ///
    /// There was no answer, or not one that could be read. With `?` it becomes the
    /// [`Problem`](crate::Problem) that its kind stands for.
    pub fn send(self) -> Result<Response, Error> {
        host::send(&self.inner).map_err(Error::from)
    }

    /// Sends it and waits for the head of the answer: for an answer that has no end, or whose end
    /// is of no interest. The response's body is empty; it is what comes out of the [`Body`], and
    /// the limit of [`body_limit`](Request::body_limit) is one for all of that. At most 4 bodies are
    /// open at once.
    ///
    /// # Errors
    ///
    /// As those of [`send`](Request::send).
    pub fn open(self) -> Result<(Response, Body), Error> {
        let (response, inner) = host::open(&self.inner).map_err(Error::from)?;
        Ok((response, Body { inner }))
    }
}

/// The body of an answer, to be read piece by piece. The connection is closed when this is dropped,
/// and at the latest when the run ends.
#[derive(Debug)]
pub struct Body {
    inner: host::Body,
}

impl Body {
    /// The next bytes, at least one and at most `limit`. None: there are no more.
    ///
    /// # Errors
    ///
    /// The connection broke, there was nothing in time, or more has come in all than the request's
    /// limit. Nothing can be read after that.
    pub fn read(&self, limit: u32) -> Result<Option<Vec<u8>>, Error> {
        self.inner.read(limit).map_err(Error::from)
    }
}

/// In an author's tests: what the request says.
#[cfg(not(target_arch = "wasm32"))]
impl Request {
    pub(crate) fn from_inner(inner: wit::Request) -> Self {
        Self { inner }
    }

    /// `HEAD`, `GET`, …
    #[must_use]
    pub fn method(&self) -> &str {
        &self.inner.method
    }

    /// The URL that it goes to.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.inner.url
    }

    /// The header's value where it is a text, by its name in any case.
    #[must_use]
    pub fn header_value(&self, name: &str) -> Option<&str> {
        match self.value(name)? {
            wit::HeaderValue::Text(text) => Some(text),
            wit::HeaderValue::Secret(_) => None,
        }
    }

    /// The name of the secret that is the header's value, where it is one.
    #[must_use]
    pub fn header_secret(&self, name: &str) -> Option<&str> {
        match self.value(name)? {
            wit::HeaderValue::Text(_) => None,
            wit::HeaderValue::Secret(secret) => Some(&secret.name),
        }
    }

    fn value(&self, name: &str) -> Option<&wit::HeaderValue> {
        let mut all = self.inner.headers.iter();
        all.find(|header| header.name.eq_ignore_ascii_case(name)).map(|header| &header.value)
    }

    /// The body, where there is one.
    #[must_use]
    pub fn body(&self) -> Option<&[u8]> {
        self.inner.body.as_deref()
    }

    /// How many redirects it follows.
    #[must_use]
    pub fn redirect_limit(&self) -> u8 {
        self.inner.redirects
    }

    /// How many bytes of the body are read.
    #[must_use]
    pub fn read_limit(&self) -> u32 {
        self.inner.body_limit
    }
}

impl Response {
    /// An answer with a status and nothing else; for tests.
    #[must_use]
    pub fn new(status: u16) -> Self {
        Self {
            status,
            headers: Vec::new(),
            body: Vec::new(),
            url: String::new(),
            timings: Timings::default(),
            certificate: None,
        }
    }

    /// The header's value, by its name in any case.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        find(&self.headers, name)
    }

    /// The status with its usual phrase: `503 Service Unavailable`.
    #[must_use]
    pub fn status_line(&self) -> String {
        match phrase(self.status) {
            Some(phrase) => format!("{} {phrase}", self.status),
            None => self.status.to_string(),
        }
    }
}

impl Default for Timings {
    /// No phase was reached, and no time passed.
    fn default() -> Self {
        Self { dns: None, connect: None, tls: None, first_byte: None, total: 0.0 }
    }
}

fn find<'a>(headers: &'a [Header], name: &str) -> Option<&'a str> {
    let found = headers.iter().find(|header| header.name.eq_ignore_ascii_case(name));
    found.map(|header| header.value.as_str())
}

/// The phrases of the statuses that probes meet.
fn phrase(status: u16) -> Option<&'static str> {
    Some(match status {
        200 => "OK",
        204 => "No Content",
        301 => "Moved Permanently",
        302 => "Found",
        304 => "Not Modified",
        400 => "Bad Request",
        401 => "Unauthorized",
        403 => "Forbidden",
        404 => "Not Found",
        405 => "Method Not Allowed",
        429 => "Too Many Requests",
        500 => "Internal Server Error",
        501 => "Not Implemented",
        502 => "Bad Gateway",
        503 => "Service Unavailable",
        504 => "Gateway Timeout",
        505 => "HTTP Version Not Supported",
        507 => "Insufficient Storage",
        508 => "Loop Detected",
        511 => "Network Authentication Required",
        _ => return None,
    })
}

/// Why a request has no answer.
#[derive(Debug, Clone, PartialEq)]
pub struct Error {
    /// What went wrong.
    pub kind: ErrorKind,
    /// The phase it went wrong in.
    pub phase: Phase,
    /// For people: names host, port and phase.
    pub message: String,
    /// The phases it got to.
    pub timings: Timings,
    /// The certificate that was refused, where the server sent one.
    pub certificate: Option<Box<Certificate>>,
}

impl Error {
    /// An error that took no time; for tests.
    #[must_use]
    pub fn new(kind: ErrorKind, phase: Phase, message: impl Into<String>) -> Self {
        let message = message.into();
        Self { kind, phase, message, timings: Timings::default(), certificate: None }
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
        let wit::Error { kind, phase, message, timings, certificate } = error;
        Self { kind, phase, message, timings, certificate: certificate.map(Box::new) }
    }
}
