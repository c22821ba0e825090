//! The one place that dials: grant, resolve, check the addresses, dial exactly those
//! (contract G2, G3).

mod datagram;
mod dial;
mod looked_up;
mod peer;

use std::fmt;
use std::net::{IpAddr, SocketAddr};

use probehost_model::Endpoint;
use probehost_model::grant::grant_line;
use tokio::net::TcpStream;

use crate::resolve::{ResolveError, Resolver};
use crate::run::{ActiveCall, Phase};
use crate::text::HostPort;

pub(crate) use datagram::{Datagram, Undelivered};
pub(crate) use dial::{Cause, Failed};
pub(crate) use peer::{BadPeer, Peer};

/// Most addresses of one name that are tried.
const MAX_ADDRESSES: usize = 8;

/// Dials for all capabilities.
#[derive(Debug)]
pub(crate) struct Egress {
    resolver: Resolver,
}

/// Why there is no connection. The phase is the one that the call is in.
#[derive(Debug, thiserror::Error)]
pub(crate) enum EgressError {
    #[error(transparent)]
    Denied(#[from] Denied),
    #[error(transparent)]
    Resolve(#[from] ResolveError),
    #[error(transparent)]
    Dial(#[from] Failed),
}

/// Something that is not granted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Denied {
    /// What would have to be granted.
    pub(crate) endpoint: Endpoint,
    /// The line that grants it.
    pub(crate) grant_line: String,
    why: String,
}

impl Denied {
    fn new(plugin: &str, endpoint: Endpoint, why: String) -> Self {
        let grant_line = grant_line(plugin, &endpoint);
        Self { endpoint, grant_line, why }
    }
}

impl fmt::Display for Denied {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}; to grant it, add {} in the host's config", self.why, self.grant_line)
    }
}

impl std::error::Error for Denied {}

impl Egress {
    pub(crate) const fn new(resolver: Resolver) -> Self {
        Self { resolver }
    }

    /// Whether the run may reach `endpoint`. No packet leaves.
    pub(crate) fn check(call: &ActiveCall<'_>, endpoint: &Endpoint) -> Result<(), Denied> {
        let run = call.run();
        if run.grants().allows(endpoint) {
            return Ok(());
        }
        let why = format!(
            "{endpoint} is not named by the check's config, nor granted to {}",
            run.plugin()
        );
        Err(Denied::new(run.plugin(), endpoint.clone(), why))
    }

    /// Whether the run may have somebody else connect to `host`, which is that of `endpoint`:
    /// an address is checked as if it were dialled, a name is resolved by whoever connects.
    pub(crate) fn check_remote(
        call: &ActiveCall<'_>,
        endpoint: &Endpoint,
        host: &str,
    ) -> Result<(), Denied> {
        Self::check(call, endpoint)?;
        match host.parse::<IpAddr>() {
            Ok(address) => admitted(call, endpoint, vec![address]).map(drop),
            Err(_) => Ok(()),
        }
    }

    /// Connects to `host` and `port`, which are those of `endpoint`. Leaves the call in the
    /// phase in which it failed, or in [`Phase::Connect`]. Whoever calls this sees to the deadline.
    pub(crate) async fn connect(
        &self,
        call: &ActiveCall<'_>,
        endpoint: &Endpoint,
        host: &str,
        port: u16,
    ) -> Result<TcpStream, EgressError> {
        let addresses = self.addresses(call, endpoint, host, port).await?;
        Ok(Self::dial(call, HostPort(host, port), &addresses).await?)
    }

    /// The addresses of `host` that may be dialled, with `port`, those to try first before the
    /// others. Leaves the call in the phase in which it failed. Whoever calls this sees to the
    /// deadline.
    pub(crate) async fn addresses(
        &self,
        call: &ActiveCall<'_>,
        endpoint: &Endpoint,
        host: &str,
        port: u16,
    ) -> Result<Vec<SocketAddr>, EgressError> {
        Self::check(call, endpoint)?;
        let found = match host.parse::<IpAddr>() {
            Ok(address) => vec![address],
            Err(_) => {
                call.enter(Phase::Dns);
                self.resolver.lookup(host).await?
            }
        };
        let addresses = admitted(call, endpoint, found)?;
        Ok(dial::interleave(addresses)
            .take(MAX_ADDRESSES)
            .map(|address| SocketAddr::new(address, port))
            .collect())
    }

    /// Connects to one of `addresses`, which have been checked or are the operator's own choice.
    pub(crate) async fn dial(
        call: &ActiveCall<'_>,
        peer: HostPort<'_>,
        addresses: &[SocketAddr],
    ) -> Result<TcpStream, Failed> {
        call.enter(Phase::Connect);
        let stream = dial::dial(peer, addresses).await?;
        // A request is one write; it must not wait for an acknowledgement of the one before.
        stream.set_nodelay(true).map_err(|error| Failed::new(peer, error))?;
        Ok(stream)
    }

    /// The name servers of this host, the first to ask first.
    pub(crate) fn name_servers(&self) -> Vec<SocketAddr> {
        self.resolver.servers()
    }
}

/// The addresses that may be dialled. A name may well have some that may not (link-local ones
/// are common beside others); it is refused when it has no other.
fn admitted(
    call: &ActiveCall<'_>,
    endpoint: &Endpoint,
    mut addresses: Vec<IpAddr>,
) -> Result<Vec<IpAddr>, Denied> {
    let run = call.run();
    let mut refused = None;
    addresses.retain(|address| match run.grants().admits_address(endpoint, *address) {
        Ok(()) => true,
        Err(forbidden) => {
            refused.get_or_insert(forbidden);
            false
        }
    });
    match refused {
        Some(forbidden) if addresses.is_empty() => {
            Err(Denied::new(run.plugin(), forbidden.endpoint().clone(), forbidden.to_string()))
        }
        _ => Ok(addresses),
    }
}
