//! Names to addresses (contract G3: the host resolves, nobody else).
//!
//! A name with a dot in it is asked for exactly as it is written; the search list of the
//! system's configuration serves names without one. So a name that is gone is seen as gone,
//! and one probe costs one question, whatever `ndots` says. Answers are kept for their TTL.
//! The hosts file comes first, and what stands there is not asked for elsewhere.

mod cache;
mod hosts;
mod system;
mod watched;

use std::collections::HashMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

pub use system::ResolverError;

/// Who turns names into addresses.
#[derive(Debug)]
pub struct Resolver(Kind);

#[derive(Debug)]
enum Kind {
    System(Box<system::System>),
    Fixed(HashMap<String, Vec<IpAddr>>),
}

/// Why a name has no addresses.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ResolveError {
    /// There is no such name, or it has no address.
    #[error("the name {0} does not exist, or has no address")]
    NotFound(String),
    /// The resolver can't tell now.
    #[error("the name {name} cannot be resolved now: {why}")]
    Temporary {
        /// The name.
        name: String,
        /// What the resolver says.
        why: String,
    },
    /// The resolver did not answer. The name servers are at fault, or the way to them.
    #[error("the name {0} cannot be resolved now: the name servers do not answer")]
    Timeout(String),
    /// This machine has no means left to ask, sockets say.
    #[error("the name {name} cannot be asked for: {why}")]
    Host {
        /// The name.
        name: String,
        /// What is missing.
        why: String,
    },
}

impl Resolver {
    /// This machine's resolver: the hosts file and the name servers of `/etc/resolv.conf`, each
    /// read anew when it changes. Without a name server the one at 127.0.0.1:53 is asked.
    ///
    /// # Errors
    ///
    /// When the resolver cannot be set up.
    pub fn system() -> Result<Self, ResolverError> {
        Ok(Self(Kind::System(Box::new(system::System::new()?))))
    }

    /// The hosts file of this machine, and these name servers instead of its own.
    ///
    /// # Errors
    ///
    /// When `servers` is empty.
    pub fn with_servers(servers: &[SocketAddr]) -> Result<Self, ResolverError> {
        Ok(Self(Kind::System(Box::new(system::System::with_servers(servers)?))))
    }

    /// A fixed table, and nothing else. Names are in lower case, without a trailing dot.
    pub fn fixed(table: impl IntoIterator<Item = (String, Vec<IpAddr>)>) -> Self {
        Self(Kind::Fixed(table.into_iter().collect()))
    }

    /// The name servers, the first to ask first; none where there is a fixed table.
    pub(crate) fn servers(&self) -> Vec<SocketAddr> {
        match &self.0 {
            Kind::System(system) => system.servers(),
            Kind::Fixed(_) => Vec::new(),
        }
    }

    /// The addresses of `name`, which is in lower case; never empty.
    ///
    /// # Errors
    ///
    /// [`ResolveError`] tells a name that does not exist from a resolver that does not work.
    pub async fn lookup(&self, name: &str) -> Result<Vec<IpAddr>, ResolveError> {
        let bare = name.strip_suffix('.').unwrap_or(name);
        let found = match &self.0 {
            Kind::Fixed(table) => table.get(bare).cloned().unwrap_or_default(),
            Kind::System(system) => match system.hosts(bare) {
                Some(addresses) => addresses,
                None if is_localhost(bare) => loopback(),
                None => system.lookup(name).await?,
            },
        };
        if found.is_empty() { Err(ResolveError::NotFound(name.to_owned())) } else { Ok(found) }
    }
}

/// `localhost` and all below it are loopback, and no name server is asked (RFC 6761).
fn is_localhost(name: &str) -> bool {
    name == "localhost" || name.ends_with(".localhost")
}

fn loopback() -> Vec<IpAddr> {
    vec![Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()]
}
