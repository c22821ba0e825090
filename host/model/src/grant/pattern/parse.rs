//! Reading a grant, and saying what is wrong with one.

use std::net::IpAddr;

use super::super::host::Host;
use super::{HostRule, NameRule, PortRule, Rule, SchemeRule, network};
use crate::Scheme;

/// What is wrong with a grant. Each message shows a right one.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PatternError {
    /// There is neither `scheme://` nor `container:`, `process:` or `dns:`.
    #[error(
        "{0:?} does not say what it grants; write for example \"https://example.com\", \"tcp://10.0.0.0/8:5432\" or \"container:web\""
    )]
    NoScheme(String),
    /// The scheme is not one of those that there are.
    #[error(
        "{0:?} has an unknown scheme; write http, https, tcp, udp, ssh or *, for example \"https://example.com\""
    )]
    UnknownScheme(String),
    /// More than host and port: a path, or a user.
    #[error(
        "{0:?} goes on after host and port; leave out path and user, for example \"https://example.com:443\""
    )]
    MoreThanHostAndPort(String),
    /// The host is not a name, an address or a network.
    #[error(
        "{0:?} has no valid host; write a name, *.suffix, *, an address or a network, for example \"https://*.example.com\" or \"tcp://[2001:db8::1]:5432\""
    )]
    BadHost(String),
    /// A `/` with an impossible length, or bits beyond it.
    #[error(
        "{text:?} is not a network; write its first address and the length of its prefix, for example \"{example}\""
    )]
    BadNetwork {
        /// The grant.
        text: String,
        /// A right one, near to what was written.
        example: String,
    },
    /// The port is missing, and the scheme has no default.
    #[error(
        "{text:?} has no port, and {scheme} has no default; write for example \"{text}:5432\", \"{text}:8000-8999\" or \"{text}:*\""
    )]
    NoPort {
        /// The grant.
        text: String,
        /// Its scheme.
        scheme: String,
    },
    /// The port is not a port.
    #[error(
        "{0:?} has no valid port; write a number from 1 to 65535, a range or *, for example \"tcp://example.com:8000-8999\""
    )]
    BadPort(String),
    /// The name of a container, process or DNS question is missing or has a stray `*`.
    #[error(
        "{0:?} has no valid name; write one name, or * for all, for example \"container:web\" or \"dns:*.example.com\""
    )]
    BadName(String),
}

pub(super) fn rule(text: &str) -> Result<Rule, PatternError> {
    if let Some((scheme, rest)) = text.split_once("://") {
        return net(text, scheme, rest);
    }
    match text.split_once(':') {
        Some(("container", name)) => named(text, name).map(Rule::Container),
        Some(("process", name)) => named(text, name).map(Rule::Process),
        Some(("dns", name)) => match host(text, name) {
            Ok(rule @ (HostRule::Any | HostRule::Name(_) | HostRule::Suffix(_))) => {
                Ok(Rule::Dns(rule))
            }
            _ => Err(PatternError::BadName(text.to_owned())),
        },
        _ => Err(PatternError::NoScheme(text.to_owned())),
    }
}

fn named(text: &str, name: &str) -> Result<NameRule, PatternError> {
    let odd = |c: char| c == '*' || c.is_whitespace() || c.is_control();
    match name {
        "*" => Ok(NameRule::Any),
        name if name.is_empty() || name.contains(odd) => {
            Err(PatternError::BadName(text.to_owned()))
        }
        name => Ok(NameRule::Exact(name.to_owned())),
    }
}

fn net(text: &str, scheme: &str, rest: &str) -> Result<Rule, PatternError> {
    let (scheme_rule, default) = match scheme {
        "*" => (SchemeRule::Any, None),
        "http" => (SchemeRule::Http(Scheme::Http), Some(Scheme::Http.default_port())),
        "https" => (SchemeRule::Http(Scheme::Https), Some(Scheme::Https.default_port())),
        "tcp" => (SchemeRule::Tcp, None),
        "udp" => (SchemeRule::Udp, None),
        "ssh" => (SchemeRule::Ssh, None),
        _ => return Err(PatternError::UnknownScheme(text.to_owned())),
    };
    let (host_text, port_text) =
        split(rest).ok_or_else(|| PatternError::BadHost(text.to_owned()))?;
    let past_the_end = |part: &str| part.contains(['@', '?', '#']) || part.ends_with('/');
    if past_the_end(rest) || port_text.is_some_and(|port| port.contains('/')) {
        return Err(PatternError::MoreThanHostAndPort(text.to_owned()));
    }
    let host = host(text, host_text)?;
    let port = match (port_text, default) {
        (Some(port), _) => ports(port).ok_or_else(|| PatternError::BadPort(text.to_owned()))?,
        (None, Some(default)) => PortRule(default, default),
        (None, None) => {
            let scheme = if scheme == "*" { "a grant for any scheme" } else { scheme };
            return Err(PatternError::NoPort { text: text.to_owned(), scheme: scheme.to_owned() });
        }
    };
    Ok(Rule::Net { scheme: scheme_rule, host, port })
}

/// Splits `host:port`, minding brackets; the brackets stay with the host.
fn split(rest: &str) -> Option<(&str, Option<&str>)> {
    if rest.starts_with('[') {
        let (host, port) = rest.split_at_checked(rest.find(']')? + 1)?;
        return match port.strip_prefix(':') {
            Some(port) => Some((host, Some(port))),
            None if port.is_empty() => Some((host, None)),
            None => None,
        };
    }
    match rest.split_once(':') {
        // More colons: an IPv6 address without its brackets.
        Some((_, port)) if port.contains(':') => None,
        Some((host, port)) => Some((host, Some(port))),
        None => Some((rest, None)),
    }
}

fn host(text: &str, host: &str) -> Result<HostRule, PatternError> {
    let bad = || PatternError::BadHost(text.to_owned());
    if host == "*" {
        return Ok(HostRule::Any);
    }
    if let Some(suffix) = host.strip_prefix("*.") {
        return match Host::parse(suffix) {
            Some(Host::Name(suffix)) => Ok(HostRule::Suffix(suffix)),
            _ => Err(bad()),
        };
    }
    let inner = host.strip_prefix('[').and_then(|h| h.strip_suffix(']'));
    if let Some((address, bits)) = inner.unwrap_or(host).split_once('/') {
        // `example.com/path` is no network, but a path too many.
        let Ok(address) = address.parse::<IpAddr>() else {
            return Err(PatternError::MoreThanHostAndPort(text.to_owned()));
        };
        if inner.is_some() != address.is_ipv6() {
            return Err(bad());
        }
        return cidr(text, address, bits);
    }
    match Host::parse(host) {
        Some(Host::Name(name)) if inner.is_none() => Ok(HostRule::Name(name)),
        Some(Host::Ip(address)) => Ok(HostRule::Address(address)),
        _ => Err(bad()),
    }
}

fn cidr(text: &str, address: IpAddr, bits: &str) -> Result<HostRule, PatternError> {
    let most = if address.is_ipv4() { 32 } else { 128 };
    let example = |bits: u8| {
        let rule = HostRule::Network(network(address, bits), bits);
        text.split_once("://").map_or_else(String::new, |(scheme, rest)| {
            let port = split(rest).and_then(|(_, port)| port);
            let port = port.map(|port| format!(":{port}")).unwrap_or_default();
            format!("{scheme}://{rule}{port}")
        })
    };
    let bad = |bits| PatternError::BadNetwork { text: text.to_owned(), example: example(bits) };
    let bits: u8 = bits.parse().ok().filter(|bits| *bits <= most).ok_or_else(|| bad(most))?;
    let first = network(address, bits);
    if first != address {
        return Err(bad(bits));
    }
    // A network of IPv4-mapped addresses is a network of IPv4 addresses.
    match (first.to_canonical(), bits.checked_sub(96)) {
        (v4 @ IpAddr::V4(_), Some(rest)) if first.is_ipv6() => Ok(HostRule::Network(v4, rest)),
        _ => Ok(HostRule::Network(first, bits)),
    }
}

fn ports(text: &str) -> Option<PortRule> {
    if text == "*" {
        return Some(PortRule(1, u16::MAX));
    }
    let number = |digits: &str| {
        let plain = digits.bytes().all(|b| b.is_ascii_digit());
        digits.parse::<u16>().ok().filter(|port| plain && *port > 0)
    };
    match text.split_once('-') {
        Some((first, last)) => {
            let (first, last) = (number(first)?, number(last)?);
            (first <= last).then_some(PortRule(first, last))
        }
        None => number(text).map(|port| PortRule(port, port)),
    }
}
