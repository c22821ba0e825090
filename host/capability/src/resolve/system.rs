//! The machine's own resolver configuration, asked through hickory.

use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
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

use super::ResolveError;
use super::cache::Cache;
use super::hosts::Hosts;
use crate::egress::is_own_fault;

/// The resolver configuration of this machine cannot be used.
#[derive(Debug, thiserror::Error)]
#[error(
    "cannot use /etc/resolv.conf to resolve names: {0}; it needs a line like \"nameserver 192.0.2.53\""
)]
pub struct SystemConfigError(String);

pub(super) struct System {
    hosts: Hosts,
    dns: TokioResolver,
    cache: Cache,
    search: Vec<Name>,
}

impl std::fmt::Debug for System {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("System").field("search", &self.search).finish_non_exhaustive()
    }
}

impl System {
    pub(super) fn new() -> Result<Self, SystemConfigError> {
        let (config, options) = hickory_resolver::system_conf::read_system_conf()
            .map_err(|error| SystemConfigError(error.to_string()))?;
        Self::build(config, options)
    }

    pub(super) fn with_servers(servers: &[SocketAddr]) -> Result<Self, SystemConfigError> {
        let servers = servers.iter().map(|server| {
            let connections = [ConnectionConfig::udp(), ConnectionConfig::tcp()]
                .map(|mut connection| {
                    connection.port = server.port();
                    connection
                })
                .into();
            NameServerConfig::new(server.ip(), true, connections)
        });
        let config = ResolverConfig::from_parts(None, Vec::new(), servers.collect());
        Self::build(config, ResolverOpts::default())
    }

    fn build(config: ResolverConfig, mut options: ResolverOpts) -> Result<Self, SystemConfigError> {
        let unusable = |error: NetError| SystemConfigError(error.to_string());
        if config.name_servers().is_empty() {
            return Err(SystemConfigError("it names no name server".to_owned()));
        }
        let search = config.search().to_vec();
        // The hosts file and the search list are ours.
        options.use_hosts_file = ResolveHosts::Never;
        let dns = TokioResolver::builder_with_config(config, TokioRuntimeProvider::default())
            .with_options(options)
            .build()
            .map_err(unusable)?;
        let hosts = Hosts::new(PathBuf::from("/etc/hosts"));
        Ok(Self { hosts, dns, cache: Cache::default(), search })
    }

    pub(super) fn hosts(&self, name: &str) -> Option<Vec<IpAddr>> {
        self.hosts.get(name)
    }

    /// The addresses of `name`, asked for where they are not known.
    pub(super) async fn lookup(&self, name: &str) -> Result<Vec<IpAddr>, ResolveError> {
        if let Some(known) = self.cache.get(name, Instant::now()) {
            return Ok(known);
        }
        let found = self.find(name).await?;
        let addresses: Vec<_> = found.iter().collect();
        self.cache.put(name, &addresses, found.valid_until(), Instant::now());
        Ok(addresses)
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
        self.dns.lookup_ip(absolute).await.map_err(|error| classify(name.to_owned(), &error))
    }
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
