//! The one place that dials: grant, resolve, check the addresses, dial exactly those
//! (contract G2, G3).

mod dial;

use std::fmt;
use std::io;
use std::net::{IpAddr, SocketAddr};

use probehost_model::grant::{Grants, grant_line};
use probehost_model::{Endpoint, Origin, Scheme};
use tokio::net::TcpStream;

use crate::resolve::{ResolveError, Resolver};
use crate::run::{ActiveCall, Phase};
use crate::text::HostPort;

pub(crate) use dial::{Cause, Failed, is_own_fault};

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
        Self::check(call, endpoint)?;
        let found = match host.parse::<IpAddr>() {
            Ok(address) => vec![address],
            Err(_) => {
                call.enter(Phase::Dns);
                self.resolver.lookup(host).await?
            }
        };
        let addresses = admitted(call, endpoint, found)?;
        call.enter(Phase::Connect);
        let addresses: Vec<_> = dial::interleave(addresses)
            .take(MAX_ADDRESSES)
            .map(|address| SocketAddr::new(address, port))
            .collect();
        let stream = dial::dial(HostPort(host, port), &addresses).await?;
        // A request is one write; it must not wait for an acknowledgement of the one before.
        stream.set_nodelay(true).map_err(|error| own_fault(host, port, error))?;
        Ok(stream)
    }

    /// The addresses of `name`, for a run that may connect to it at some port. Addresses that need
    /// a literal grant are left out where there are others; whether one may be dialled, and at
    /// which port, is decided by [`connect_to`](Self::connect_to).
    pub(crate) async fn lookup(
        &self,
        call: &ActiveCall<'_>,
        name: &str,
    ) -> Result<Vec<IpAddr>, EgressError> {
        let run = call.run();
        if !run.grants().allows_name(name) {
            let why = format!(
                "the name {name} is not named by the check's config, nor granted to {}",
                run.plugin()
            );
            return Err(Denied::new(run.plugin(), Endpoint::Dns(name.to_owned()), why).into());
        }
        call.enter(Phase::Dns);
        let mut found = self.resolver.lookup(name).await?;
        if !found.iter().all(|address| Grants::is_special(*address)) {
            found.retain(|address| !Grants::is_special(*address));
        }
        Ok(found)
    }

    /// Connects to this very address. It has to be granted itself, or `names`, which are known to
    /// lead there, with this port: for connections or for requests of HTTP, since what is spoken
    /// over the connection is up to the guest.
    pub(crate) async fn connect_to(
        &self,
        call: &ActiveCall<'_>,
        names: &[String],
        address: SocketAddr,
    ) -> Result<TcpStream, EgressError> {
        reachable(call, names, address)?;
        call.enter(Phase::Connect);
        let literal = address.ip().to_string();
        let stream = dial::dial(HostPort(&literal, address.port()), &[address]).await?;
        stream.set_nodelay(true).map_err(|error| own_fault(&literal, address.port(), error))?;
        Ok(stream)
    }
}

/// Whether something is granted that has `address` reached, directly or by one of `names`.
fn reachable(call: &ActiveCall<'_>, names: &[String], address: SocketAddr) -> Result<(), Denied> {
    let (run, port) = (call.run(), address.port());
    let ip = address.ip().to_canonical();
    let literal = ip.to_string();
    let mut refused = None;
    for host in names.iter().chain([&literal]) {
        let origin = |scheme| Endpoint::Http(Origin { scheme, host: host.clone(), port });
        let tcp = Endpoint::Tcp { host: host.clone(), port };
        for endpoint in [tcp, origin(Scheme::Http), origin(Scheme::Https)] {
            if !run.grants().allows(&endpoint) {
                continue;
            }
            match run.grants().admits_address(&endpoint, ip) {
                Ok(()) => return Ok(()),
                Err(forbidden) => refused.get_or_insert(forbidden),
            };
        }
    }
    if let Some(forbidden) = refused {
        let why = forbidden.to_string();
        return Err(Denied::new(run.plugin(), forbidden.endpoint().clone(), why));
    }
    let host = names.first().unwrap_or(&literal).clone();
    let endpoint = Endpoint::Tcp { host, port };
    let why =
        format!("{endpoint} is not named by the check's config, nor granted to {}", run.plugin());
    Err(Denied::new(run.plugin(), endpoint, why))
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

fn own_fault(host: &str, port: u16, error: io::Error) -> Failed {
    Failed::new(HostPort(host, port), error)
}
