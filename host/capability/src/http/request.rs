//! What a guest asks for, checked and made ready.

use bytes::Bytes;
use http::header::{self, HeaderMap, HeaderName, HeaderValue};
use http::{Method, Uri};
use probehost_model::grant::Grants;
use probehost_model::{Endpoint, Origin, Scheme, sanitize};
use url::{Position, Url};

use super::error::Failure;
use super::types::{ErrorKind, HeaderValue as Given, Request};
use super::{MAX_BODY_BYTES, MAX_REDIRECTS};
use crate::secrets::{Secret, Secrets};
use crate::text::HostPort;

/// Longest URL, in bytes.
const MAX_URL_BYTES: usize = 8 * 1024;
/// Most headers of a request.
const MAX_HEADERS: usize = 64;
/// Most bytes of all headers of a request.
const MAX_HEADERS_BYTES: usize = 32 * 1024;

const USER_AGENT: HeaderValue =
    HeaderValue::from_static(concat!("probehost/", env!("CARGO_PKG_VERSION")));

/// Headers that say how the message is framed or the connection is used: those are the host's.
const HOST_SETS: [&str; 11] = [
    "host",
    "connection",
    "content-length",
    "transfer-encoding",
    "expect",
    "keep-alive",
    "proxy-authorization",
    "proxy-connection",
    "te",
    "trailer",
    "upgrade",
];

/// A request that can be sent.
#[derive(Debug)]
pub(super) struct Prepared {
    pub(super) method: Method,
    pub(super) hop: Hop,
    pub(super) headers: HeaderMap,
    pub(super) body: Bytes,
    pub(super) redirects: u8,
    /// Bytes of the body to read; None: do not read it.
    pub(super) body_limit: Option<usize>,
}

/// A request that can't be sent, and what was asked.
#[derive(Debug)]
pub(super) struct Invalid {
    pub(super) what: String,
    pub(super) failure: Failure,
}

/// By what a header's secret is allowed, and where it is.
#[derive(Debug, Clone, Copy)]
pub(super) struct Credentials<'a> {
    pub(super) grants: &'a Grants,
    pub(super) secrets: &'a Secrets,
}

/// Where a request goes.
#[derive(Debug)]
pub(super) struct Hop {
    pub(super) url: Url,
    /// Always [`Endpoint::Http`]; the host without a trailing dot.
    pub(super) endpoint: Endpoint,
    pub(super) scheme: Scheme,
    /// As it is resolved and put into the TLS handshake; without brackets.
    pub(super) host: String,
    pub(super) port: u16,
}

impl Prepared {
    pub(super) fn new(request: Request, credentials: Credentials<'_>) -> Result<Self, Invalid> {
        let Request { method, url, headers, body, redirects, body_limit } = request;
        let refused = |failure| Invalid { what: sanitize(&format!("{method} {url}")), failure };
        let invalid = |why: String| refused(Failure::new(ErrorKind::Invalid, why));
        let hop = Hop::parse(&url).map_err(&invalid)?;
        let parsed = Method::from_bytes(method.as_bytes())
            .ok()
            .filter(|method| *method != Method::CONNECT && method.as_str().len() <= 32)
            .ok_or_else(|| {
                invalid(format!("{method:?} is not a method; write for example HEAD"))
            })?;
        let mut map = HeaderMap::with_capacity(headers.len() + 4);
        let bytes: usize = headers.iter().map(|h| h.name.len() + size(&h.value)).sum();
        if headers.len() > MAX_HEADERS || bytes > MAX_HEADERS_BYTES {
            return Err(invalid(format!(
                "too many headers: {} of {bytes} bytes; at most {MAX_HEADERS} of {MAX_HEADERS_BYTES}",
                headers.len()
            )));
        }
        for header in &headers {
            let (name, value) = match &header.value {
                Given::Text(text) => checked(&header.name, text).map_err(&invalid)?,
                Given::Secret { prefix, name } => {
                    let secret = credentials.look_up(name).map_err(&refused)?;
                    let text = format!("{prefix}{}", secret.expose());
                    let (name, mut value) = checked(&header.name, &text).map_err(&invalid)?;
                    value.set_sensitive(true);
                    (name, value)
                }
            };
            map.append(name, value);
        }
        map.entry(header::USER_AGENT).or_insert(USER_AGENT);
        map.entry(header::ACCEPT).or_insert(HeaderValue::from_static("*/*"));
        map.insert(header::CONNECTION, HeaderValue::from_static("close"));
        let body = body.unwrap_or_default();
        if body.len() > MAX_BODY_BYTES as usize {
            return Err(invalid(format!(
                "a body of {} bytes; at most {MAX_BODY_BYTES}",
                body.len()
            )));
        }
        let unread = body_limit == 0 || parsed == Method::HEAD;
        Ok(Self {
            method: parsed,
            hop,
            headers: map,
            body: body.into(),
            redirects: redirects.min(MAX_REDIRECTS),
            body_limit: (!unread).then_some(body_limit.min(MAX_BODY_BYTES) as usize),
        })
    }

    /// `HEAD http://a:80/x`: for people. Without the query, which can hold what is secret.
    pub(super) fn what(&self) -> String {
        let Hop { url, host, port, .. } = &self.hop;
        let path = url.path();
        let peer = HostPort(host, *port);
        let what = format!("{} {}://{peer}{path}", self.method, url.scheme());
        // What is left in a parsed URL needs no escapes.
        if what.len() > probehost_model::MAX_MESSAGE_BYTES { sanitize(&what) } else { what }
    }
}

impl Credentials<'_> {
    fn look_up(self, name: &str) -> Result<Secret, Failure> {
        if !self.grants.names(name) {
            return Err(Failure::new(
                ErrorKind::Denied,
                format_args!(
                    "the check's config does not name the secret {name}, so it is not used"
                ),
            ));
        }
        self.secrets.get(name).map_err(|error| Failure::new(ErrorKind::Invalid, error))
    }
}

/// What is known of a value's size before a secret is looked up.
fn size(value: &Given) -> usize {
    match value {
        Given::Text(text) => text.len(),
        Given::Secret { prefix, .. } => prefix.len(),
    }
}

fn checked(name: &str, value: &str) -> Result<(HeaderName, HeaderValue), String> {
    let parsed = HeaderName::from_bytes(name.as_bytes())
        .map_err(|_| format!("{name:?} is not the name of a header"))?;
    if HOST_SETS.contains(&parsed.as_str()) {
        return Err(format!("the header {parsed} is set by the host; leave it out"));
    }
    // The value stays out of the message: it can be a secret.
    let value = HeaderValue::from_bytes(value.as_bytes()).map_err(|_| {
        format!("the value of the header {parsed} has a line feed or another control character")
    })?;
    Ok((parsed, value))
}

impl Hop {
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        const LIKE: &str = "write for example http://example.com:8080/health";
        if text.len() > MAX_URL_BYTES {
            return Err(format!("a URL of {} bytes; at most {MAX_URL_BYTES}", text.len()));
        }
        let url = Url::parse(text)
            .map_err(|error| format!("{text:?} is not an absolute URL ({error}); {LIKE}"))?;
        Self::new(url).map_err(|why| format!("{text:?} {why}; {LIKE}"))
    }

    pub(super) fn new(url: Url) -> Result<Self, &'static str> {
        let scheme = match url.scheme() {
            "http" => Scheme::Http,
            "https" => Scheme::Https,
            _ => return Err("is neither http nor https"),
        };
        if !url.username().is_empty() || url.password().is_some() {
            return Err("has a user part; send an authorization header instead");
        }
        let host = match url.host() {
            Some(url::Host::Domain(name)) => name.to_owned(),
            Some(url::Host::Ipv4(address)) => address.to_string(),
            Some(url::Host::Ipv6(address)) => address.to_string(),
            None => return Err("has no host"),
        };
        let port = url.port().unwrap_or(scheme.default_port());
        if port == 0 {
            return Err("has port 0");
        }
        let bare = host.strip_suffix('.').unwrap_or(&host).to_owned();
        let endpoint = Endpoint::Http(Origin { scheme, host: bare, port });
        Ok(Self { url, endpoint, scheme, host, port })
    }

    /// Host and port, for people.
    pub(super) fn peer(&self) -> String {
        HostPort(&self.host, self.port).to_string()
    }

    /// What stands in the request line.
    pub(super) fn target(&self) -> Result<Uri, Failure> {
        let text = &self.url[Position::BeforePath..Position::AfterQuery];
        Uri::from_maybe_shared(Bytes::copy_from_slice(text.as_bytes()))
            .map_err(|error| self.unfit("path", &error))
    }

    /// The value of the `Host` header.
    pub(super) fn authority(&self) -> Result<HeaderValue, Failure> {
        HeaderValue::from_str(&self.url[Position::BeforeHost..Position::AfterPort])
            .map_err(|error| self.unfit("host", &error))
    }

    fn unfit(&self, part: &str, error: &dyn std::error::Error) -> Failure {
        Failure::new(
            ErrorKind::Invalid,
            format_args!("the {part} of {} cannot be sent: {error}", self.url),
        )
    }
}
