//! Why what was asked for is not done.

use probehost_model::lifecycle::Refused;
use probehost_store::StoreError;

/// Why what was asked for is not done. Nothing has changed.
#[derive(Debug, Clone, thiserror::Error)]
pub enum AskError {
    /// No managed target of that id.
    #[error("there is no managed target {0:?}")]
    NotManaged(String),
    /// The target is disabled: it is not probed, so nobody would see what came of it.
    #[error("the target {0:?} is disabled; enable it first")]
    Disabled(String),
    /// Its state does not allow it.
    #[error(transparent)]
    Refused(#[from] Refused),
    /// It could not be saved.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The host is stopping, or the target has just been deleted.
    #[error("the target {0:?} is not managed any more, or the host is stopping")]
    Gone(String),
}
