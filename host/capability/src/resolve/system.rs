//! The machine's own resolver configuration, asked through hickory.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::Path;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Instant;

use hickory_resolver::TokioResolver;
use hickory_resolver::config::{
    ConnectionConfig, NameServerConfig, ResolveHosts, ResolverConfig, ResolverOpts,
};
use hickory_resolver::lookup_ip::LookupIp;
use hickory_resolver::net::runtime::TokioRuntimeProvider;
use hickory_resolver::net::{DnsError, NetError};
use hickory_resolver::proto::op::ResponseCode;
use hickory_resolver::proto::rr::Name;
use hickory_resolver::system_conf::parse_resolv_conf;

use super::ResolveError;
use super::cache::Cache;
use super::hosts::Hosts;
use super::watched::Watched;
use crate::own_fault::is_own_fault;

/// A resolver could not be set up.
#[derive(Debug, thiserror::Error)]
#[error("names cannot be resolved: {0}")]
pub struct ResolverError(String);

/// The hosts file and the name servers of this machine. A change of either is noticed: a host
/// lives longer than the network that it was started in.
pub(super) struct System {
    hosts: Hosts,
    /// None: the name servers were given, and stay.
    config: Option<Watched>,
    dns: RwLock<Arc<Dns>>,
}

/// One configuration of name servers, with the answers that they gave.
struct Dns {
    resolver: TokioResolver,
    search: Vec<Name>,
    servers: Vec<SocketAddr>,
    cache: Cache,
}

impl std::fmt::Debug for System {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("System").field("hosts", &self.hosts).finish_non_exhaustive()
    }
}

impl System {
    pub(super) fn new() -> Result<Self, ResolverError> {
        Self::following(Watched::new("/etc/resolv.conf"))
    }

    fn following(config: Watched) -> Result<Self, ResolverError> {
        // What is read here has been seen.
        config.has_changed();
        let dns = Dns::read(config.path())?;
        Ok(Self { config: Some(config), ..Self::fixed(dns) })
    }

    pub(super) fn with_servers(servers: &[SocketAddr]) -> Result<Self, ResolverError> {
        Dns::build(servers_config(servers), ResolverOpts::default()).map(Self::fixed)
    }

    fn fixed(dns: Dns) -> Self {
        let hosts = Hosts::new(Watched::new("/etc/hosts"));
        Self { hosts, config: None, dns: RwLock::new(Arc::new(dns)) }
    }

    pub(super) fn hosts(&self, name: &str) -> Option<Vec<IpAddr>> {
        self.hosts.get(name)
    }

    /// The addresses of `name`, asked for where they are not known.
    pub(super) async fn lookup(&self, name: &str) -> Result<Vec<IpAddr>, ResolveError> {
        let dns = self.dns();
        if let Some(known) = dns.cache.get(name, Instant::now()) {
            return Ok(known);
        }
        let found = dns.find(name).await?;
        let addresses: Vec<_> = found.iter().collect();
        dns.cache.put(name, &addresses, found.valid_until(), Instant::now());
        Ok(addresses)
    }

    /// The name servers, the first to ask first.
    pub(super) fn servers(&self) -> Vec<SocketAddr> {
        self.dns().servers.clone()
    }

    fn dns(&self) -> Arc<Dns> {
        if let Some(config) = self.config.as_ref().filter(|config| config.has_changed()) {
            match Dns::read(config.path()) {
                Ok(fresh) => {
                    *self.dns.write().unwrap_or_else(PoisonError::into_inner) = fresh.into()
                }
                Err(error) => tracing::warn!(%error, "the name servers before are asked on"),
            }
        }
        Arc::clone(&self.dns.read().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Dns {
    /// As a file like `/etc/resolv.conf` says. Where it is missing, or names no server, the one
    /// on this machine is asked, which is what the C library does.
    fn read(path: &Path) -> Result<Self, ResolverError> {
        let read = std::fs::read(path).map_err(NetError::from).and_then(parse_resolv_conf);
        match read {
            Ok((config, options)) => Self::build(config, options),
            Err(error) => {
                let file = path.display();
                tracing::warn!(%error, "{file} names no server: names are asked for at 127.0.0.1:53");
                let local = SocketAddr::from((Ipv4Addr::LOCALHOST, 53));
                Self::build(servers_config(&[local]), ResolverOpts::default())
            }
        }
    }

    fn build(config: ResolverConfig, mut options: ResolverOpts) -> Result<Self, ResolverError> {
        if config.name_servers().is_empty() {
            return Err(ResolverError("no name server is given".to_owned()));
        }
        let search = config.search().to_vec();
        let servers = config.name_servers().iter().map(address_of).collect();
        // The hosts file and the search list are ours.
        options.use_hosts_file = ResolveHosts::Never;
        let resolver = TokioResolver::builder_with_config(config, TokioRuntimeProvider::default())
            .with_options(options)
            .build()
            .map_err(|error| ResolverError(error.to_string()))?;
        Ok(Self { resolver, search, servers, cache: Cache::default() })
    }

    /// Asks for `name` as it is; one without a dot first with each name of the search list.
    async fn find(&self, name: &str) -> Result<LookupIp, ResolveError> {
        let not_found = || ResolveError::NotFound(name.to_owned());
        let mut absolute = Name::from_ascii(name).map_err(|_| not_found())?;
        if !name.contains('.') {
            for suffix in &self.search {
                let Ok(mut longer) = absolute.clone().append_domain(suffix) else { continue };
                longer.set_fqdn(true);
                match self.ask(longer, name).await {
                    Err(ResolveError::NotFound(_)) => {}
                    // An answer; or no answer, and then the next name would be a guess.
                    done => return done,
                }
            }
        }
        absolute.set_fqdn(true);
        self.ask(absolute, name).await
    }

    async fn ask(&self, absolute: Name, name: &str) -> Result<LookupIp, ResolveError> {
        self.resolver.lookup_ip(absolute).await.map_err(|error| classify(name.to_owned(), &error))
    }
}

/// Where a name server takes datagrams.
fn address_of(server: &NameServerConfig) -> SocketAddr {
    let port = server.connections.first().map_or(53, |connection| connection.port);
    SocketAddr::new(server.ip, port)
}

fn servers_config(servers: &[SocketAddr]) -> ResolverConfig {
    let servers = servers.iter().map(|server| {
        let connections = [ConnectionConfig::udp(), ConnectionConfig::tcp()]
            .map(|mut connection| {
                connection.port = server.port();
                connection
            })
            .into();
        NameServerConfig::new(server.ip(), true, connections)
    });
    ResolverConfig::from_parts(None, Vec::new(), servers.collect())
}

fn classify(name: String, error: &NetError) -> ResolveError {
    match error {
        NetError::Dns(DnsError::NoRecordsFound(none))
            if matches!(none.response_code, ResponseCode::NXDomain | ResponseCode::NoError) =>
        {
            ResolveError::NotFound(name)
        }
        NetError::Dns(DnsError::NoRecordsFound(none)) => ResolveError::Temporary {
            name,
            why: format!("the name server says {}", none.response_code),
        },
        NetError::Timeout => ResolveError::Timeout(name),
        NetError::Io(io) if is_own_fault(io) => ResolveError::Host { name, why: io.to_string() },
        NetError::Busy => {
            ResolveError::Host { name, why: "too many questions are under way".to_owned() }
        }
        other => ResolveError::Temporary { name, why: other.to_string() },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn search(system: &System) -> Vec<String> {
        system.dns().search.iter().map(ToString::to_string).collect()
    }

    /// A host lives longer than the network that it was started in: other name servers are
    /// taken up, a file that is gone leaves the server on this machine.
    #[test]
    fn a_change_of_the_name_servers_is_noticed() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("resolv.conf");
        let system = System::following(Watched::closely(&path)).unwrap();
        assert!(search(&system).is_empty());
        for (second, domain) in [(1, "one.example."), (2, "two.example.")] {
            std::fs::write(&path, format!("nameserver 192.0.2.53\nsearch {domain}\n")).unwrap();
            let at = std::time::UNIX_EPOCH + std::time::Duration::from_secs(second);
            std::fs::File::options().write(true).open(&path).unwrap().set_modified(at).unwrap();
            assert_eq!(search(&system), [domain]);
        }
        let before = system.dns();
        assert!(Arc::ptr_eq(&before, &system.dns()), "nothing has changed, so answers are kept");
        std::fs::remove_file(&path).unwrap();
        assert!(search(&system).is_empty());
    }
}
