//! Host and port as a plugin names them.

use std::fmt;
use std::net::IpAddr;

use probehost_model::Endpoint;

use crate::text::HostPort;

/// Longest name of a host, in bytes.
const MAX_HOST: usize = 255;

/// A host and a port that could be dialled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Peer {
    /// A name in lower case or an address, without brackets.
    pub(crate) host: String,
    /// Never zero.
    pub(crate) port: u16,
}

/// What is wrong with one.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum BadPeer {
    /// The host is none.
    #[error("{0:?} is no host; give a name in ASCII, or an IP address without brackets")]
    Host(String),
    /// The port is none.
    #[error("port 0 of {0:?} can't be reached; give a port from 1 to 65535")]
    Port(String),
}

impl Peer {
    pub(crate) fn new(host: &str, port: u16) -> Result<Self, BadPeer> {
        let odd = |c: char| {
            !c.is_ascii_graphic()
                || matches!(c, '[' | ']' | '/' | '@' | '?' | '#' | '*' | '%' | '\\')
        };
        let is_address = host.parse::<IpAddr>().is_ok();
        let is_name = !host.is_empty()
            && host.len() <= MAX_HOST
            && !host.contains(odd)
            && !host.contains(':')
            && !ends_in_number(host);
        if !is_address && !is_name {
            return Err(BadPeer::Host(host.to_owned()));
        }
        if port == 0 {
            return Err(BadPeer::Port(host.to_owned()));
        }
        Ok(Self { host: host.to_ascii_lowercase(), port })
    }

    pub(crate) fn tcp(&self) -> Endpoint {
        Endpoint::Tcp { host: self.host.clone(), port: self.port }
    }

    pub(crate) fn udp(&self) -> Endpoint {
        Endpoint::Udp { host: self.host.clone(), port: self.port }
    }

    pub(crate) fn host_port(&self) -> HostPort<'_> {
        HostPort(&self.host, self.port)
    }
}

impl fmt::Display for Peer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.host_port().fmt(f)
    }
}

/// `127.1` and `0x7f.1` are addresses for some and names for others; grants read them as
/// addresses, so they must not be looked up as names.
fn ends_in_number(host: &str) -> bool {
    let label = host.trim_end_matches('.').rsplit('.').next().unwrap_or_default();
    let hex = label.strip_prefix("0x").or_else(|| label.strip_prefix("0X"));
    match hex {
        Some(digits) => digits.bytes().all(|byte| byte.is_ascii_hexdigit()),
        None => label.bytes().all(|byte| byte.is_ascii_digit()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// G3: what could be read in two ways is no host at all.
    #[test]
    fn hosts_are_read() {
        for (host, shown) in [
            ("db", "db:1"),
            ("DB.Example.", "db.example.:1"),
            ("_sip.example", "_sip.example:1"),
            ("10.0.0.1", "10.0.0.1:1"),
            ("2001:DB8::1", "[2001:db8::1]:1"),
        ] {
            assert_eq!(Peer::new(host, 1).unwrap().to_string(), shown);
            assert_eq!(Peer::new(host, 0), Err(BadPeer::Port(host.to_owned())));
        }
        for host in [
            "",
            ".",
            "a b",
            "a\n",
            "[::1]",
            "a:1",
            "a/b",
            "u@a",
            "*.a",
            "b\u{fc}cher",
            "127.1",
            "0x7f.1",
            "2852039166",
            "a.0x",
            "1.2.3.4.",
            "fe80::1%eth0",
            "ex%61mple.com",
        ] {
            assert_eq!(Peer::new(host, 1), Err(BadPeer::Host(host.to_owned())), "{host}");
        }
        assert!(Peer::new(&"a".repeat(256), 1).is_err());
    }
}
