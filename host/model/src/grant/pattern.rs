//! One line of an operator's grant: `https://*.example.com`, `tcp://10.0.0.0/8:5432`, `container:*`.

mod parse;

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::host::Host;
use crate::{Endpoint, Scheme};

pub use parse::PatternError;

/// Endpoints that the operator lets a plugin reach.
///
/// - `scheme://host:port`, where the scheme is `http`, `https`, `tcp`, `udp`, `ssh` or `*`; the
///   host a name, `*.suffix` (one or more labels before the suffix), `*`, an IP address (IPv6 in
///   brackets) or a network (`10.0.0.0/8`, `[fd00::/8]`); the port a number, a range
///   `8000-8999` or `*`. `http` and `https` may leave the port out and mean their default.
/// - `container:NAME`, `process:NAME`, where `*` stands for every name.
/// - `dns:NAME`, with the hosts' rule for names.
///
/// A network stands for addresses that are asked for as such, never for names that lead there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Pattern(Rule);

#[derive(Debug, Clone, PartialEq, Eq)]
enum Rule {
    Net { scheme: SchemeRule, host: HostRule, port: PortRule },
    Container(NameRule),
    Process(NameRule),
    Dns(HostRule),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SchemeRule {
    Any,
    Http(Scheme),
    Tcp,
    Udp,
    Ssh,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum HostRule {
    Any,
    Name(String),
    /// What follows `*.`.
    Suffix(String),
    Address(IpAddr),
    /// The first address of the network, and the length of its prefix.
    Network(IpAddr, u8),
}

/// First and last port.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct PortRule(u16, u16);

#[derive(Debug, Clone, PartialEq, Eq)]
enum NameRule {
    Any,
    Exact(String),
}

impl Pattern {
    /// Whether `endpoint` is among those that this grants. Hosts are compared without regard
    /// to case or a trailing dot.
    #[must_use]
    pub fn matches(&self, endpoint: &Endpoint) -> bool {
        let (scheme, host, port) = match endpoint {
            Endpoint::Http(origin) => (SchemeRule::Http(origin.scheme), &origin.host, origin.port),
            Endpoint::Tcp { host, port } => (SchemeRule::Tcp, host, *port),
            Endpoint::Udp { host, port } => (SchemeRule::Udp, host, *port),
            Endpoint::Ssh { host, port } => (SchemeRule::Ssh, host, *port),
            Endpoint::Container(name) => {
                return matches!(&self.0, Rule::Container(rule) if rule.matches(name));
            }
            Endpoint::Process(name) => {
                return matches!(&self.0, Rule::Process(rule) if rule.matches(name));
            }
            Endpoint::Dns(name) => {
                return matches!(&self.0, Rule::Dns(rule) if rule.matches(name));
            }
        };
        matches!(&self.0, Rule::Net { scheme: s, host: h, port: p }
            if (*s == SchemeRule::Any || *s == scheme) && p.matches(port) && h.matches(host))
    }

    /// Whether it grants the DNS name, or connections or requests to it at some port.
    pub(super) fn allows_name(&self, name: &str) -> bool {
        match &self.0 {
            Rule::Net { scheme, host, .. } => {
                !matches!(scheme, SchemeRule::Ssh | SchemeRule::Udp) && host.matches(name)
            }
            Rule::Dns(rule) => rule.matches(name),
            Rule::Container(_) | Rule::Process(_) => false,
        }
    }

    /// The address, when the host is an address and nothing wider (contract G3).
    pub(super) fn literal_address(&self) -> Option<IpAddr> {
        match &self.0 {
            Rule::Net { host: HostRule::Address(address), .. } => Some(*address),
            _ => None,
        }
    }
}

impl HostRule {
    fn matches(&self, host: &str) -> bool {
        if *self == Self::Any {
            return true;
        }
        match (self, Host::parse(host)) {
            (Self::Name(name), Some(Host::Name(host))) => *name == host,
            (Self::Suffix(suffix), Some(Host::Name(host))) => {
                host.strip_suffix(suffix.as_str()).is_some_and(|labels| labels.ends_with('.'))
            }
            (Self::Address(address), Some(Host::Ip(host))) => *address == host,
            (Self::Network(first, bits), Some(Host::Ip(host))) => {
                first.is_ipv4() == host.is_ipv4() && network(host, *bits) == *first
            }
            _ => false,
        }
    }
}

impl PortRule {
    fn matches(self, port: u16) -> bool {
        (self.0..=self.1).contains(&port)
    }
}

impl NameRule {
    fn matches(&self, name: &str) -> bool {
        match self {
            Self::Any => true,
            Self::Exact(exact) => exact == name,
        }
    }
}

/// The first address of the network of `bits` that holds `address`.
fn network(address: IpAddr, bits: u8) -> IpAddr {
    let bits = u32::from(bits);
    match address {
        IpAddr::V4(v4) => {
            let mask = u32::MAX.checked_shl(32_u32.saturating_sub(bits)).unwrap_or(0);
            IpAddr::V4((v4.to_bits() & mask).into())
        }
        IpAddr::V6(v6) => {
            let mask = u128::MAX.checked_shl(128_u32.saturating_sub(bits)).unwrap_or(0);
            IpAddr::V6((v6.to_bits() & mask).into())
        }
    }
}

impl FromStr for Pattern {
    type Err = PatternError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        parse::rule(text).map(Self)
    }
}

impl TryFrom<String> for Pattern {
    type Error = PatternError;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

impl From<Pattern> for String {
    fn from(pattern: Pattern) -> Self {
        pattern.to_string()
    }
}

/// In full, with the port, in a form that reads back as the same grant.
impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Rule::Net { scheme, host, port } => {
                let scheme = match scheme {
                    SchemeRule::Any => "*",
                    SchemeRule::Http(scheme) => scheme.as_str(),
                    SchemeRule::Tcp => "tcp",
                    SchemeRule::Udp => "udp",
                    SchemeRule::Ssh => "ssh",
                };
                write!(f, "{scheme}://{host}:{port}")
            }
            Rule::Container(name) => write!(f, "container:{name}"),
            Rule::Process(name) => write!(f, "process:{name}"),
            Rule::Dns(name) => write!(f, "dns:{name}"),
        }
    }
}

impl fmt::Display for HostRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Any => f.write_str("*"),
            Self::Name(name) => f.write_str(name),
            Self::Suffix(suffix) => write!(f, "*.{suffix}"),
            Self::Address(IpAddr::V4(address)) => address.fmt(f),
            Self::Address(IpAddr::V6(address)) => write!(f, "[{address}]"),
            Self::Network(IpAddr::V4(first), bits) => write!(f, "{first}/{bits}"),
            Self::Network(IpAddr::V6(first), bits) => write!(f, "[{first}/{bits}]"),
        }
    }
}

impl fmt::Display for PortRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self(1, u16::MAX) => f.write_str("*"),
            Self(one, other) if one == other => one.fmt(f),
            Self(first, last) => write!(f, "{first}-{last}"),
        }
    }
}

impl fmt::Display for NameRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Any => "*",
            Self::Exact(name) => name,
        })
    }
}
