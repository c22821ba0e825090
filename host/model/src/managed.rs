//! What makes a target managed (contract L): how it is restarted, and by which policy.

use serde::{Deserialize, Serialize};

use crate::lifecycle::Policy;

/// How a target is restarted (contract L9). Plugins have no part in it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Runtime {
    /// The container of this name or id, by the container engine.
    Container(String),
    /// The command that the operator gave this name under `[commands]`.
    Command(String),
}

impl std::fmt::Display for Runtime {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Container(name) => write!(f, "container {name}"),
            Self::Command(name) => write!(f, "command {name}"),
        }
    }
}

/// The part of a target that makes it managed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Managed {
    /// How it is restarted.
    pub runtime: Runtime,
    /// When, and when no more; every layer already applied (contract L10).
    pub policy: Policy,
}
