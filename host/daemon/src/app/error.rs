//! Why a host can't start.

use std::net::SocketAddr;

use probehost_capability::SetupError;
use probehost_capability::resolve::SystemConfigError;
use probehost_config::ConfigErrors;
use probehost_sandbox::{LoadError, SandboxError};
use probehost_store::StoreError;

/// Why a host can't start. Every text says what to do.
#[derive(Debug, thiserror::Error)]
pub(crate) enum AppError {
    /// The file, or what the plugins say of it.
    #[error("{0}")]
    Config(#[from] ConfigErrors),
    #[error(transparent)]
    Sandbox(#[from] SandboxError),
    #[error(transparent)]
    Capability(#[from] SetupError),
    #[error(transparent)]
    Resolver(#[from] SystemConfigError),
    #[error(
        "the built-in plugin {name} does not load: {error}; this binary is broken, build it anew"
    )]
    Builtin { name: &'static str, error: LoadError },
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(
        "{address} can't be listened on ({error}); is another host running there? Choose another with [server] listen"
    )]
    Listen { address: SocketAddr, error: std::io::Error },
    #[error("the API ended: {0}")]
    Api(std::io::Error),
}
