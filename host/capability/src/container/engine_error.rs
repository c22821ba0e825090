//! Why a container engine can't be used.

use std::path::PathBuf;

/// An engine that can't be used as it is given.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EngineError {
    /// Its address is none.
    #[error(
        "{0:?} is not the address of a container engine; write for example \
         \"unix:///var/run/docker.sock\" or \"tcp://127.0.0.1:2375\""
    )]
    Address(String),
    /// TLS goes with TCP only.
    #[error("{0} is no TCP port, so there is no TLS with it; leave `tls` out")]
    NotTcp(String),
    /// A file for TLS is not what it should be.
    #[error("cannot use {} for TLS with the container engine: {why}", path.display())]
    TlsFile {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
}
