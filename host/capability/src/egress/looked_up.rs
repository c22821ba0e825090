//! Names that are looked up before it is known what for, and addresses that they led to: the way of
//! sockets.

use std::net::{IpAddr, SocketAddr};

use probehost_model::grant::Grants;
use probehost_model::{Endpoint, Origin, Scheme};
use tokio::net::TcpStream;

use super::{Denied, Egress, EgressError};
use crate::run::{ActiveCall, Phase};
use crate::text::HostPort;

impl Egress {
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
        let literal = address.ip().to_string();
        let stream = Self::dial(call, HostPort(&literal, address.port()), &[address]).await?;
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
