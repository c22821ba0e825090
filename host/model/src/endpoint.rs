//! What a check wants to reach.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The scheme of an HTTP origin.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Scheme {
    /// Plain HTTP.
    Http,
    /// HTTP over TLS.
    Https,
}

impl Scheme {
    /// `http` or `https`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Http => "http",
            Self::Https => "https",
        }
    }

    /// The port when a URL names none: 80 or 443.
    #[must_use]
    pub const fn default_port(self) -> u16 {
        match self {
            Self::Http => 80,
            Self::Https => 443,
        }
    }
}

/// Where HTTP requests go: what a URL says before its path.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Origin {
    /// `http` or `https`.
    pub scheme: Scheme,
    /// A name in lower case or an IP address, without brackets.
    pub host: String,
    /// Never zero.
    pub port: u16,
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}://{}", self.scheme.as_str(), HostPort(&self.host, self.port))
    }
}

/// Something that a check wants to reach (contract G2).
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Endpoint {
    /// HTTP requests to an origin.
    Http(Origin),
    /// A TCP connection.
    Tcp {
        /// A name or an IP address, without brackets.
        host: String,
        /// Never zero.
        port: u16,
    },
    /// Datagrams.
    Udp {
        /// A name or an IP address, without brackets.
        host: String,
        /// Never zero.
        port: u16,
    },
    /// An SSH connection.
    Ssh {
        /// A name or an IP address, without brackets.
        host: String,
        /// Never zero.
        port: u16,
    },
    /// A container, by its name or id.
    Container(String),
    /// A command, by the name that the operator gave it.
    Process(String),
    /// A DNS question, by the name that is asked for.
    Dns(String),
}

/// As a grant spells it: `https://example.com:443`, `tcp://db:5432`, `container:web`.
impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Http(origin) => origin.fmt(f),
            Self::Tcp { host, port } => write!(f, "tcp://{}", HostPort(host, *port)),
            Self::Udp { host, port } => write!(f, "udp://{}", HostPort(host, *port)),
            Self::Ssh { host, port } => write!(f, "ssh://{}", HostPort(host, *port)),
            Self::Container(name) => write!(f, "container:{name}"),
            Self::Process(name) => write!(f, "process:{name}"),
            Self::Dns(name) => write!(f, "dns:{name}"),
        }
    }
}

/// `host:port`, with brackets around an IPv6 address.
struct HostPort<'a>(&'a str, u16);

impl fmt::Display for HostPort<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.contains(':') {
            write!(f, "[{}]:{}", self.0, self.1)
        } else {
            write!(f, "{}:{}", self.0, self.1)
        }
    }
}

/// What a check is about, and what it will reach: the answer of a plugin's `plan`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Plan {
    /// The host (or container, or command) that is probed, for people: `example.com:443`.
    pub subject: String,
    /// What the check wants to reach.
    pub endpoints: Vec<Endpoint>,
}
