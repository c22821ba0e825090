//! What a plugin may reach (contract G2, G3): what its target's config names, and what the
//! operator's grant for the plugin lists. The host decides by these rules alone, whatever a
//! plugin says of itself.

mod address;
mod host;
mod named;
mod pattern;

use std::fmt::Write as _;
use std::net::IpAddr;

use crate::{Endpoint, Origin};

pub use address::Forbidden;
pub use named::{named_in, texts_in};
pub use pattern::{Pattern, PatternError};

use host::Host;

/// What one run may reach.
#[derive(Debug, Clone, Default)]
pub struct Grants {
    named: Vec<Endpoint>,
    allowed: Vec<Pattern>,
    /// Texts of the check's config, for what is on this machine and no endpoint.
    texts: Vec<Box<str>>,
}

impl Grants {
    /// `named` are the endpoints of the check's plan that its config names (see
    /// [`named_in`]: whoever calls this has asked it); `allowed` is the operator's list for
    /// the plugin. Both empty: nothing may be reached.
    #[must_use]
    pub fn new(named: impl IntoIterator<Item = Endpoint>, allowed: Vec<Pattern>) -> Self {
        Self { named: named.into_iter().map(normal).collect(), allowed, texts: Vec::new() }
    }

    /// Adds the texts of the check's config (see [`texts_in`]), by which what is on this machine
    /// is granted: a secret, a key file, an agent's socket.
    #[must_use]
    pub fn with_texts(mut self, texts: Vec<Box<str>>) -> Self {
        self.texts = texts;
        self
    }

    /// Whether the check's config names `text`: some string in it is that one.
    #[must_use]
    pub fn names(&self, text: &str) -> bool {
        self.texts.iter().any(|known| **known == *text)
    }

    /// The endpoints that the config names, in normal form.
    #[must_use]
    pub fn named(&self) -> &[Endpoint] {
        &self.named
    }

    /// What the operator's grant lists.
    #[must_use]
    pub fn allowed(&self) -> &[Pattern] {
        &self.allowed
    }

    /// Whether the check's own config grants `endpoint`.
    #[must_use]
    pub fn is_named(&self, endpoint: &Endpoint) -> bool {
        self.named.contains(&normal(endpoint.clone()))
    }

    /// Whether `endpoint` is granted (contract G2).
    #[must_use]
    pub fn allows(&self, endpoint: &Endpoint) -> bool {
        // Nearly always the plan's endpoint is asked for in the same spelling.
        if self.named.contains(endpoint) {
            return true;
        }
        let endpoint = normal(endpoint.clone());
        self.named.contains(&endpoint)
            || self.allowed.iter().any(|pattern| pattern.matches(&endpoint))
    }

    /// Whether the addresses of `name` may be asked for: it is granted as a DNS name, or as the
    /// host of connections or of requests at some port. What may then be dialled is another question.
    #[must_use]
    pub fn allows_name(&self, name: &str) -> bool {
        let Some(name) = Host::parse(name).map(|host| host.to_string()) else { return false };
        self.named.iter().any(|endpoint| match endpoint {
            Endpoint::Http(origin) => origin.host == name,
            Endpoint::Tcp { host, .. } | Endpoint::Dns(host) => *host == name,
            Endpoint::Udp { .. }
            | Endpoint::Ssh { .. }
            | Endpoint::Container(_)
            | Endpoint::Process(_) => false,
        }) || self.allowed.iter().any(|pattern| pattern.allows_name(&name))
    }

    /// Whether an address needs a literal grant (see [`admits_address`](Self::admits_address)).
    #[must_use]
    pub fn is_special(address: IpAddr) -> bool {
        address::special(address).is_some()
    }

    /// Whether a connection to `endpoint` may go to `address` (contract G3). Most addresses
    /// may be dialled for whatever is granted, loopback and private ones among them.
    /// Link-local, metadata, unspecified, multicast and broadcast addresses need a literal
    /// grant: the same scheme and port with that very address as the host, in the config or
    /// in the operator's list; a name, a network or a wildcard is not enough.
    ///
    /// # Errors
    ///
    /// [`Forbidden`] says what kind of address it is and what would grant it.
    pub fn admits_address(&self, endpoint: &Endpoint, address: IpAddr) -> Result<(), Forbidden> {
        let Some(why) = address::special(address) else {
            return Ok(());
        };
        let address = address.to_canonical();
        let literal = with_host(endpoint, address);
        let granted = self.named.contains(&literal)
            || self.allowed.iter().any(|pattern| {
                pattern.literal_address() == Some(address) && pattern.matches(&literal)
            });
        if granted { Ok(()) } else { Err(Forbidden::new(endpoint, literal, address, why)) }
    }
}

/// The line of the operator's config that grants `endpoint` to `plugin`, and the table that it
/// goes under: `allow = ["https://example.com:443"] under [plugins.http-head]`.
#[must_use]
pub fn grant_line(plugin: &str, endpoint: &Endpoint) -> String {
    let mut line = String::from("allow = [");
    push_toml_string(&mut line, &endpoint.to_string());
    line.push_str("] under [plugins.");
    let bare = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    if !plugin.is_empty() && plugin.chars().all(bare) {
        line.push_str(plugin);
    } else {
        push_toml_string(&mut line, plugin);
    }
    line.push(']');
    line
}

/// A TOML basic string: a guest chooses these names, so they must not end the string.
fn push_toml_string(line: &mut String, text: &str) {
    line.push('"');
    for c in text.chars() {
        match c {
            '"' | '\\' => line.extend(['\\', c]),
            c if c.is_control() => {
                // Writing to a String cannot fail.
                let _ = write!(line, "\\u{:04X}", u32::from(c));
            }
            c => line.push(c),
        }
    }
    line.push('"');
}

/// `endpoint` with its host in the form in which hosts are compared.
fn normal(endpoint: Endpoint) -> Endpoint {
    let fix = |host: String| Host::parse(&host).map_or(host, |host| host.to_string());
    match endpoint {
        Endpoint::Http(origin) => Endpoint::Http(Origin { host: fix(origin.host), ..origin }),
        Endpoint::Tcp { host, port } => Endpoint::Tcp { host: fix(host), port },
        Endpoint::Udp { host, port } => Endpoint::Udp { host: fix(host), port },
        Endpoint::Ssh { host, port } => Endpoint::Ssh { host: fix(host), port },
        Endpoint::Dns(name) => Endpoint::Dns(fix(name)),
        other @ (Endpoint::Container(_) | Endpoint::Process(_)) => other,
    }
}

/// `endpoint` with `address` for its host.
fn with_host(endpoint: &Endpoint, address: IpAddr) -> Endpoint {
    let host = address.to_string();
    match endpoint {
        Endpoint::Http(origin) => {
            Endpoint::Http(Origin { scheme: origin.scheme, host, port: origin.port })
        }
        Endpoint::Tcp { port, .. } => Endpoint::Tcp { host, port: *port },
        Endpoint::Udp { port, .. } => Endpoint::Udp { host, port: *port },
        Endpoint::Ssh { port, .. } => Endpoint::Ssh { host, port: *port },
        other @ (Endpoint::Container(_) | Endpoint::Process(_) | Endpoint::Dns(_)) => other.clone(),
    }
}

#[cfg(test)]
mod tests;
