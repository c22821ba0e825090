//! A host in the one form in which hosts are compared.

use std::fmt;
use std::net::{IpAddr, Ipv6Addr};

/// A name or an address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Host {
    /// Lower case, internationalised labels in their ASCII form, no trailing dot.
    Name(String),
    /// An IPv4-mapped IPv6 address stands here as the IPv4 address that it is.
    Ip(IpAddr),
}

impl Host {
    /// Reads a name or an address, an IPv6 one with or without brackets. The rules are those
    /// of URLs, so that what is compared is what will be dialled: `0x7f.1` is `127.0.0.1`.
    pub(super) fn parse(text: &str) -> Option<Self> {
        if text.contains(':') {
            let bare = text.strip_prefix('[').and_then(|t| t.strip_suffix(']')).unwrap_or(text);
            let address: Ipv6Addr = bare.parse().ok()?;
            return Some(Self::Ip(IpAddr::V6(address).to_canonical()));
        }
        // In a URL `ex%61mple` is `example`; to whoever resolves names it is another name. What has
        // come through a URL has no percent sign left.
        if text.contains('%') {
            return None;
        }
        match url::Host::parse(text).ok()? {
            url::Host::Domain(name) => {
                let name = name.strip_suffix('.').unwrap_or(&name);
                // `*` is no forbidden character to URLs; to grants it is.
                let odd = name.is_empty() || name.contains('*');
                (!odd).then(|| Self::Name(name.to_owned()))
            }
            url::Host::Ipv4(address) => Some(Self::Ip(address.into())),
            url::Host::Ipv6(address) => Some(Self::Ip(IpAddr::V6(address).to_canonical())),
        }
    }
}

/// Without brackets, as in an `Endpoint`.
impl fmt::Display for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(name) => f.write_str(name),
            Self::Ip(address) => address.fmt(f),
        }
    }
}
