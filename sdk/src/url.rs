//! HTTP URLs in a check's config.
//!
//! A small parser instead of the crate `url`, whose tables for international names would
//! be most of a plugin. It takes fewer spellings, and reads those as the host does: a test
//! holds the two equal.

use std::borrow::Cow;
use std::fmt;
use std::net::{Ipv4Addr, Ipv6Addr};

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Deserialize, Deserializer, Error, Visitor};

use crate::{Origin, Scheme};

/// An absolute URL, `http` or `https`, without user or fragment. The host is a name in ASCII
/// or an IP address, the path at least `/`.
#[derive(Debug, Clone, PartialEq)]
pub struct Url {
    text: String,
    /// Where in the text the path begins.
    path_at: usize,
    origin: Origin,
}

/// What is wrong with a URL.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UrlError {
    /// It is not absolute, or of another scheme.
    Scheme,
    /// It holds a user or a password.
    User,
    /// The host is neither a name nor an IP address.
    Host,
    /// The port is not a number from 1 to 65535.
    Port,
    /// It holds a fragment, which is never sent.
    Fragment,
    /// It holds a character that would have to be percent-encoded.
    Character(char),
    /// A path was to be joined to a URL that has a query.
    Query,
}

impl fmt::Display for UrlError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Scheme => "must begin with http:// or https://",
            Self::User => "must not hold a user or a password; send them as a header",
            Self::Host => {
                "needs a host: a name in ASCII (international ones as xn--…), an IPv4 \
                           address, or an IPv6 address in brackets"
            }
            Self::Port => "has a port that is not a number from 1 to 65535",
            Self::Fragment => "must not hold a fragment (#…): it is never sent",
            Self::Character(wrong) => {
                return write!(f, "holds {wrong:?}, which has to be percent-encoded");
            }
            Self::Query => {
                "must not hold a query (?…) when a path is to follow; put it in the path"
            }
        })
    }
}

impl std::error::Error for UrlError {}

impl Url {
    /// Reads a URL.
    ///
    /// # Errors
    ///
    /// What is wrong with it, as in [`UrlError`].
    pub fn parse(text: &str) -> Result<Self, UrlError> {
        let (scheme, rest) = if let Some(rest) = text.strip_prefix("http://") {
            (Scheme::Http, rest)
        } else if let Some(rest) = text.strip_prefix("https://") {
            (Scheme::Https, rest)
        } else {
            return Err(UrlError::Scheme);
        };
        let is_end = |byte: u8| matches!(byte, b'/' | b'?' | b'#' | b'\\');
        let end = rest.bytes().position(is_end).unwrap_or(rest.len());
        let (authority, path) = rest.split_at(end);
        check_path(path)?;
        if authority.bytes().any(|byte| byte == b'@') {
            return Err(UrlError::User);
        }
        let (host, port) = split_port(authority)?;
        let port = match port {
            Some(port) => parse_port(port)?,
            None => default_port(scheme),
        };
        let origin = Origin { scheme, host: parse_host(host)?, port };
        let mut text = String::with_capacity(text.len() + 8);
        origin.write_to(&mut text);
        let path_at = text.len();
        if !path.starts_with('/') {
            text.push('/');
        }
        text.push_str(path);
        Ok(Self { text, path_at, origin })
    }

    /// The URL with a path joined to its own: one slash stands between the two, whether
    /// either brings one or not. `http://a/app` and `health`, `http://a/app/` and `/health`
    /// are `http://a/app/health`. The path may hold a query. An empty one changes nothing.
    ///
    /// # Errors
    ///
    /// The path holds a fragment or a character that has to be percent-encoded, or the URL
    /// has a query.
    pub fn join(&self, path: &str) -> Result<Self, UrlError> {
        let mut joined = self.clone();
        if path.is_empty() {
            return Ok(joined);
        }
        check_path(path)?;
        if self.text.bytes().any(|byte| byte == b'?') {
            return Err(UrlError::Query);
        }
        joined.text.truncate(self.text.trim_end_matches('/').len().max(self.path_at));
        joined.text.push('/');
        joined.text.push_str(path.trim_start_matches('/'));
        Ok(joined)
    }

    /// The whole of it.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Scheme, host and port.
    #[must_use]
    pub fn origin(&self) -> &Origin {
        &self.origin
    }

    /// The path, without the query.
    #[must_use]
    pub fn path(&self) -> &str {
        let target = self.text.get(self.path_at..).unwrap_or_default();
        target.split('?').next().unwrap_or_default()
    }
}

impl AsRef<str> for Url {
    fn as_ref(&self) -> &str {
        &self.text
    }
}

impl fmt::Display for Url {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

pub(crate) const fn default_port(scheme: Scheme) -> u16 {
    match scheme {
        Scheme::Http => 80,
        Scheme::Https => 443,
    }
}

/// Path and query are sent as they are, so they must be fit to be sent.
fn check_path(path: &str) -> Result<(), UrlError> {
    let is_wrong = |byte: u8| !byte.is_ascii_graphic() || matches!(byte, b'#' | b'\\');
    let Some(at) = path.bytes().position(is_wrong) else { return Ok(()) };
    // All that is before it is ASCII, so this is where a character begins.
    match path.get(at..).and_then(|rest| rest.chars().next()) {
        Some('#') | None => Err(UrlError::Fragment),
        Some(wrong) => Err(UrlError::Character(wrong)),
    }
}

/// Splits `host:port`. The host of an IPv6 address keeps its brackets.
fn split_port(authority: &str) -> Result<(&str, Option<&str>), UrlError> {
    let host_end = if authority.starts_with('[') {
        authority.bytes().position(|byte| byte == b']').ok_or(UrlError::Host)? + 1
    } else {
        authority.bytes().position(|byte| byte == b':').unwrap_or(authority.len())
    };
    let (host, rest) = authority.split_at(host_end);
    match rest.strip_prefix(':') {
        Some(port) => Ok((host, Some(port))),
        None if rest.is_empty() => Ok((host, None)),
        None => Err(UrlError::Host),
    }
}

fn parse_port(text: &str) -> Result<u16, UrlError> {
    // The parser of numbers would take a plus sign.
    if !text.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(UrlError::Port);
    }
    text.parse().ok().filter(|&port| port != 0).ok_or(UrlError::Port)
}

/// The host in lower case, an IPv6 address without its brackets.
fn parse_host(text: &str) -> Result<String, UrlError> {
    if let Some(address) = text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
        let address: Ipv6Addr = address.parse().map_err(|_| UrlError::Host)?;
        return Ok(address.to_string());
    }
    if text.len() > 253 {
        return Err(UrlError::Host);
    }
    // One pass over the bytes: every probe reads its URL again, so this has to be quick.
    let (mut label_at, mut last_label_at) = (0, 0);
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'.' if (1..=63).contains(&(at - label_at)) => {
                (last_label_at, label_at) = (label_at, at + 1);
            }
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' => {}
            _ => return Err(UrlError::Host),
        }
    }
    match text.len() - label_at {
        // A dot at the end makes a name absolute; the label before it is the last.
        0 if label_at > 0 => {}
        1..=63 => last_label_at = label_at,
        _ => return Err(UrlError::Host),
    }
    // `127.1`, `0x7f.0.0.1` and `2130706433` are addresses for some and names for others.
    let last = text.get(last_label_at..).unwrap_or_default();
    if looks_like_number(last.strip_suffix('.').unwrap_or(last))
        && text.parse::<Ipv4Addr>().is_err()
    {
        return Err(UrlError::Host);
    }
    Ok(text.to_ascii_lowercase())
}

fn looks_like_number(label: &str) -> bool {
    let hex = label.strip_prefix("0x").or_else(|| label.strip_prefix("0X"));
    match hex {
        Some(digits) => digits.bytes().all(|byte| byte.is_ascii_hexdigit()),
        None => label.bytes().all(|byte| byte.is_ascii_digit()),
    }
}

impl JsonSchema for Url {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Url".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "format": "uri", "pattern": "^https?://" })
    }
}

impl<'de> Deserialize<'de> for Url {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_str(UrlVisitor)
    }
}

struct UrlVisitor;

impl Visitor<'_> for UrlVisitor {
    type Value = Url;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a URL")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Url, E> {
        Url::parse(text).map_err(E::custom)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn urls_are_read() {
        let rows = [
            ("http://example.com", "http://example.com/", "example.com:80"),
            ("https://Example.COM/a?b=c", "https://example.com/a?b=c", "example.com:443"),
            ("http://example.com:80/", "http://example.com/", "example.com:80"),
            ("https://example.com:80", "https://example.com:80/", "example.com:80"),
            ("http://10.0.0.1:8080/x", "http://10.0.0.1:8080/x", "10.0.0.1:8080"),
            ("http://[0:0::1]:8080", "http://[::1]:8080/", "[::1]:8080"),
            ("http://a_b.example.", "http://a_b.example./", "a_b.example.:80"),
            ("http://example.com?x=1", "http://example.com/?x=1", "example.com:80"),
        ];
        for (text, whole, authority) in rows {
            let url = Url::parse(text).unwrap();
            assert_eq!((url.as_str(), url.origin().authority().as_str()), (whole, authority));
        }
    }

    #[test]
    fn what_is_odd_is_refused() {
        let rows = [
            ("", UrlError::Scheme),
            ("example.com", UrlError::Scheme),
            ("ftp://example.com", UrlError::Scheme),
            ("http://", UrlError::Host),
            ("http:///x", UrlError::Host),
            ("http://user@example.com", UrlError::User),
            ("http://user:secret@example.com/", UrlError::User),
            ("http://exa mple.com", UrlError::Host),
            ("http://bücher.example", UrlError::Host),
            ("http://a..b", UrlError::Host),
            ("http://127.1", UrlError::Host),
            ("http://0x7f.0.0.1", UrlError::Host),
            ("http://2130706433", UrlError::Host),
            ("http://010.0.0.1", UrlError::Host),
            ("http://[::1", UrlError::Host),
            ("http://[::1]x", UrlError::Host),
            ("http://[10.0.0.1]", UrlError::Host),
            ("http://a%2eb", UrlError::Host),
            ("http://a:", UrlError::Port),
            ("http://a:0", UrlError::Port),
            ("http://a:+80", UrlError::Port),
            ("http://a:65536", UrlError::Port),
            ("http://a/#top", UrlError::Fragment),
            ("http://a/b c", UrlError::Character(' ')),
            ("http://a/b\r\nc", UrlError::Character('\r')),
            ("http://a\\b", UrlError::Character('\\')),
            ("http://a/ü", UrlError::Character('ü')),
        ];
        for (text, error) in rows {
            assert_eq!(Url::parse(text), Err(error), "{text}");
        }
    }

    /// H1: base URL plus health path.
    #[test]
    fn paths_are_joined_with_one_slash() {
        let rows = [
            ("http://a", "health", "http://a/health"),
            ("http://a/", "/health", "http://a/health"),
            ("http://a/app", "health", "http://a/app/health"),
            ("http://a/app/", "/health?full=1", "http://a/app/health?full=1"),
            ("http://a/app/", "//evil.example/", "http://a/app/evil.example/"),
            ("http://a/app", "", "http://a/app"),
            ("http://a/?x", "", "http://a/?x"),
            ("http://a/app", "/", "http://a/app/"),
        ];
        for (base, path, whole) in rows {
            assert_eq!(Url::parse(base).unwrap().join(path).unwrap().as_str(), whole);
        }
        let base = Url::parse("http://a/?x").unwrap();
        assert_eq!(base.join("health"), Err(UrlError::Query));
        assert_eq!(base.join("a b"), Err(UrlError::Character(' ')));
        assert_eq!(base.join("#top"), Err(UrlError::Fragment));
    }

    #[test]
    fn the_path_is_without_query() {
        assert_eq!(Url::parse("http://a/b/c?d=e").unwrap().path(), "/b/c");
        assert_eq!(Url::parse("http://a?d").unwrap().path(), "/");
    }

    proptest! {
        /// G2: what the plan names is what the host will check: both read a URL alike.
        #[test]
        fn the_host_reads_the_same(text in r"https?://(\[[0-9a-f:.]{2,20}\]|[a-zA-Z0-9._-]{1,16}|[0-9.x]{1,12})(:[0-9]{1,5})?(/[a-z./%]{0,8})?(\?[a-z=]{0,4})?") {
            // `xn--` labels are decoded by the host alone; that can refuse, never change them.
            prop_assume!(!text.to_ascii_lowercase().contains("xn--"));
            if let Ok(ours) = Url::parse(&text) {
                let theirs = url::Url::parse(&text).unwrap();
                let host = match theirs.host().unwrap() {
                    url::Host::Domain(name) => name.to_owned(),
                    url::Host::Ipv4(address) => address.to_string(),
                    url::Host::Ipv6(address) => address.to_string(),
                };
                prop_assert_eq!(&ours.origin().host, &host);
                prop_assert_eq!(Some(ours.origin().port), theirs.port_or_known_default());
                prop_assert_eq!(url::Url::parse(ours.as_str()).unwrap(), theirs);
            }
        }
    }
}
