//! What the host can do for a plugin: network calls behind one egress, and a log.
//!
//! Plain async services that know nothing of the sandbox, the store or the API, so that they
//! are tested without a plugin. Every call gets the [`Run`] that it belongs to: its grants,
//! its deadline, and the trace in which it is noted.

pub mod container;
pub mod dns;
mod egress;
pub mod http;
pub mod log;
mod net;
mod own_fault;
pub mod process;
pub mod resolve;
pub mod run;
pub mod runtime;
pub mod secrets;
pub mod sockets;
pub mod ssh;
pub mod tcp;
mod text;
mod tls;
pub mod udp;

use std::path::PathBuf;
use std::sync::Arc;

pub use run::{Call, CallResult, Phase, Run, Timings, Trace, Waiting};

use resolve::{Resolver, ResolverError};

/// How the capabilities are set up.
#[derive(Debug)]
pub struct Options {
    /// Who turns names into addresses.
    pub resolver: Resolver,
    /// Whether the certificates that this machine trusts are trusted.
    pub system_roots: bool,
    /// PEM files with further certificates to trust.
    pub root_files: Vec<PathBuf>,
}

impl Options {
    /// This machine's resolver and its trusted certificates.
    ///
    /// # Errors
    ///
    /// When the resolver cannot be set up.
    pub fn system() -> Result<Self, ResolverError> {
        Ok(Self { resolver: Resolver::system()?, system_roots: true, root_files: Vec::new() })
    }
}

/// The capabilities could not be set up.
#[derive(Debug, thiserror::Error)]
pub enum SetupError {
    /// A file of trusted certificates is not what it should be.
    #[error("cannot read trusted certificates from {}: {why}; name a PEM file with at least one certificate", path.display())]
    RootFile {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// TLS could not be set up.
    #[error("cannot set up TLS: {0}")]
    Tls(#[from] rustls::Error),
}

/// Everything that a plugin can be given. Built once per process; clones share it.
#[derive(Debug, Clone)]
pub struct Capabilities {
    http: Arc<http::Http>,
    sockets: sockets::Sockets,
    ssh: Arc<ssh::Ssh>,
    containers: Arc<container::Containers>,
    processes: Arc<process::Processes>,
    tcp: Arc<tcp::Tcp>,
    udp: Arc<udp::Udp>,
    dns: Arc<dns::Dns>,
}

impl Capabilities {
    /// Sets up all capabilities, with what this process has for SSH (see [`ssh::Local::system`]).
    /// Reads the trusted certificates, so it takes some milliseconds.
    ///
    /// # Errors
    ///
    /// [`SetupError`], when a named file of certificates cannot be used.
    pub fn new(options: Options) -> Result<Self, SetupError> {
        Self::with_local(options, ssh::Local::system())
    }

    /// As [`new`](Self::new), with this for SSH.
    ///
    /// # Errors
    ///
    /// [`SetupError`], when a named file of certificates cannot be used.
    pub fn with_local(options: Options, local: ssh::Local) -> Result<Self, SetupError> {
        let Options { resolver, system_roots, root_files } = options;
        let egress = Arc::new(egress::Egress::new(resolver));
        let roots = tls::Roots::load(system_roots, &root_files)?;
        let secrets = local.secrets.clone();
        let http = Arc::new(http::Http::new(Arc::clone(&egress), &roots, secrets.clone())?);
        let tcp = Arc::new(tcp::Tcp::new(Arc::clone(&egress), &roots)?);
        let udp = Arc::new(udp::Udp::new(Arc::clone(&egress)));
        let dns = Arc::new(dns::Dns::new(Arc::clone(&egress)));
        let sockets = sockets::Sockets::new(Arc::clone(&egress));
        let ssh = Arc::new(ssh::Ssh::new(egress, local));
        let containers = Arc::new(container::Containers::new(container::Engine::default()));
        let processes = Arc::new(process::Processes::new(process::Commands::new(), secrets));
        Ok(Self { http, sockets, ssh, containers, processes, tcp, udp, dns })
    }

    /// The same with this container engine; without, it is Docker at its usual socket.
    #[must_use]
    pub fn with_engine(self, engine: container::Engine) -> Self {
        Self { containers: Arc::new(container::Containers::new(engine)), ..self }
    }

    /// The same with these commands, whose environments name secrets of `secrets`; without, there
    /// is none.
    #[must_use]
    pub fn with_commands(self, commands: process::Commands, secrets: secrets::Secrets) -> Self {
        Self { processes: Arc::new(process::Processes::new(commands, secrets)), ..self }
    }

    /// HTTP requests.
    #[must_use]
    pub fn http(&self) -> &http::Http {
        &self.http
    }

    /// Connections of guests that speak a protocol by themselves.
    #[must_use]
    pub fn sockets(&self) -> &sockets::Sockets {
        &self.sockets
    }

    /// SSH handshakes.
    #[must_use]
    pub fn ssh(&self) -> &ssh::Ssh {
        &self.ssh
    }

    /// Containers.
    #[must_use]
    pub fn containers(&self) -> &container::Containers {
        &self.containers
    }

    /// TCP connections.
    #[must_use]
    pub fn tcp(&self) -> &tcp::Tcp {
        &self.tcp
    }

    /// Exchanges of datagrams.
    #[must_use]
    pub fn udp(&self) -> &udp::Udp {
        &self.udp
    }

    /// DNS questions.
    #[must_use]
    pub fn dns(&self) -> &dns::Dns {
        &self.dns
    }

    /// Programs that the operator named.
    #[must_use]
    pub fn processes(&self) -> &process::Processes {
        &self.processes
    }
}
