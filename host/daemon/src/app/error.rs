//! Why a host can't start.

use std::net::SocketAddr;

use probehost_capability::SetupError;
use probehost_capability::container::EngineError;
use probehost_capability::resolve::ResolverError;
use probehost_config::ConfigErrors;
use probehost_sandbox::{LoadError, SandboxError};
use probehost_store::StoreError;

use crate::server::CertificateError;

/// Why a host can't start. Every text says what to do.
#[derive(Debug, thiserror::Error)]
pub enum AppError {
    /// The file, or what the plugins say of it.
    #[error("{0}")]
    Config(#[from] ConfigErrors),
    /// The engine that plugins run in.
    #[error(transparent)]
    Sandbox(#[from] SandboxError),
    /// What plugins can be given.
    #[error(transparent)]
    Capability(#[from] SetupError),
    /// This machine's way to resolve names.
    #[error(transparent)]
    Resolver(#[from] ResolverError),
    /// The container engine.
    #[error("[containers]: {0}")]
    Engine(#[from] EngineError),
    /// A built-in plugin.
    #[error(
        "the built-in plugin {name} does not load: {error}; this binary is broken, build it anew"
    )]
    Builtin {
        /// Its name.
        name: &'static str,
        /// What is wrong with it.
        error: LoadError,
    },
    /// The database.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The certificate of the API.
    #[error(transparent)]
    Certificate(#[from] CertificateError),
    /// Others could use the API, and nothing would tell them apart (contract E4).
    #[error(
        "[server] listen: {address} can be reached from other machines, and no access token is in use: make one with `probehost token new NAME --role admin`, or listen on 127.0.0.1:{port}",
        port = address.port()
    )]
    NoTokens {
        /// The address.
        address: SocketAddr,
    },
    /// The address of the API.
    #[error(
        "{address} can't be listened on ({error}); is another host running there? Choose another with [server] listen"
    )]
    Listen {
        /// The address.
        address: SocketAddr,
        /// Why not.
        error: std::io::Error,
    },
    /// The API, while it served.
    #[error("the API ended: {0}")]
    Api(std::io::Error),
}
