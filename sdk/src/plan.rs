//! What a check is about, and what it will reach.

use std::fmt;

use crate::url::default_port;
use crate::{Address, Endpoint, Origin, Plan, Scheme, Url};

impl Plan {
    /// A check of one URL: its subject is `host:port`, and it reaches the URL's origin.
    #[must_use]
    pub fn http(url: &Url) -> Self {
        let origin = url.origin().clone();
        Self { subject: origin.authority(), endpoints: vec![Endpoint::Http(origin)] }
    }

    /// A check of one SSH host (a name or an address, without brackets): its subject is `host:port`.
    #[must_use]
    pub fn ssh(host: &str, port: u16) -> Self {
        let address = Address { host: host.to_owned(), port };
        Self { subject: address.to_string(), endpoints: vec![Endpoint::Ssh(address)] }
    }

    /// A check by a TCP connection to a host (a name or an address, without brackets): its subject is
    /// `host:port`.
    #[must_use]
    pub fn tcp(host: &str, port: u16) -> Self {
        let address = Address { host: host.to_owned(), port };
        Self { subject: address.to_string(), endpoints: vec![Endpoint::Tcp(address)] }
    }

    /// A check by datagrams to a host (a name or an address, without brackets): its subject is
    /// `host:port`.
    #[must_use]
    pub fn udp(host: &str, port: u16) -> Self {
        let address = Address { host: host.to_owned(), port };
        Self { subject: address.to_string(), endpoints: vec![Endpoint::Udp(address)] }
    }

    /// A check of what DNS says of a name, which is its subject. A name server of its own is reached
    /// by UDP, and by TCP where an answer does not fit a datagram.
    #[must_use]
    pub fn dns(name: &str, server: Option<&Address>) -> Self {
        let mut endpoints = vec![Endpoint::Dns(name.to_owned())];
        if let Some(server) = server {
            endpoints.push(Endpoint::Udp(server.clone()));
            endpoints.push(Endpoint::Tcp(server.clone()));
        }
        Self { subject: name.to_owned(), endpoints }
    }

    /// A check of one container, by its name or id, which is its subject.
    #[must_use]
    pub fn container(name: &str) -> Self {
        Self { subject: name.to_owned(), endpoints: vec![Endpoint::Container(name.to_owned())] }
    }

    /// A check of a program, by the name that the operator gave it, which is its subject.
    #[must_use]
    pub fn process(command: &str) -> Self {
        Self { subject: command.to_owned(), endpoints: vec![Endpoint::Process(command.to_owned())] }
    }

    /// Also reaches this SSH host, such as a jump host. The subject stays.
    #[must_use]
    pub fn through(mut self, host: &str, port: u16) -> Self {
        self.endpoints.push(Endpoint::Ssh(Address { host: host.to_owned(), port }));
        self
    }
}

/// `host:port`, with brackets around an IPv6 address.
impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.host.contains(':') {
            write!(f, "[{}]:{}", self.host, self.port)
        } else {
            write!(f, "{}:{}", self.host, self.port)
        }
    }
}

impl Origin {
    /// `host:port`, with brackets around an IPv6 address. The port is always there.
    #[must_use]
    pub fn authority(&self) -> String {
        let mut text = String::with_capacity(self.host.len() + 8);
        self.write_host(&mut text);
        text.push(':');
        text.push_str(&self.port.to_string());
        text
    }

    /// Writes it as URLs begin: without the port when it is the scheme's own. (A formatter
    /// would cost more than all the rest of reading a URL.)
    pub(crate) fn write_to(&self, text: &mut String) {
        text.push_str(match self.scheme {
            Scheme::Http => "http://",
            Scheme::Https => "https://",
        });
        self.write_host(text);
        if self.port != default_port(self.scheme) {
            text.push(':');
            text.push_str(&self.port.to_string());
        }
    }

    fn write_host(&self, text: &mut String) {
        if self.host.bytes().any(|byte| byte == b':') {
            text.push('[');
            text.push_str(&self.host);
            text.push(']');
        } else {
            text.push_str(&self.host);
        }
    }
}

/// As URLs begin: without the port when it is the scheme's own.
impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = String::new();
        self.write_to(&mut text);
        f.write_str(&text)
    }
}
