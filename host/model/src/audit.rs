//! What the audit keeps.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::reason::UnknownWord;
use crate::{Status, Timestamp, Trigger};

/// The principal of what the host does by itself (contract A1).
pub const SYSTEM_PRINCIPAL: &str = "system:health";

/// What an audit row is about (contract A1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Action {
    /// A check's status changed.
    Transition,
    /// A probe by hand (also when nothing changed).
    Probe,
    /// A target was created, changed, enabled, disabled or deleted.
    TargetChanged,
    /// A plugin asked for something that is not granted.
    CapabilityDenied,
}

impl Action {
    /// Every action.
    pub const ALL: [Self; 4] =
        [Self::Transition, Self::Probe, Self::TargetChanged, Self::CapabilityDenied];

    /// The word for it in audit rows and API.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Transition => "transition",
            Self::Probe => "probe",
            Self::TargetChanged => "target-changed",
            Self::CapabilityDenied => "capability-denied",
        }
    }
}

impl fmt::Display for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Action {
    type Err = UnknownWord;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::ALL
            .into_iter()
            .find(|action| action.as_str() == text)
            .ok_or_else(|| UnknownWord::new("action", text))
    }
}

/// One row of the append-only audit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AuditEntry {
    /// Ascends with every row of this store.
    pub id: i64,
    /// When it happened.
    pub at: Timestamp,
    /// Who did it: a principal's name, or [`SYSTEM_PRINCIPAL`].
    pub principal: String,
    /// What was done.
    pub action: Action,
    /// What asked for the probe, where there was one.
    pub trigger: Option<Trigger>,
    /// Id of the target.
    pub target: String,
    /// Name of the check, where one is concerned.
    pub check: Option<String>,
    /// The status before.
    pub from: Option<Status>,
    /// The status after; equal to `from` when nothing changed.
    pub to: Option<Status>,
    /// What came of it, for people: `pass`, `fail network: …`, `deleted`, the denied call.
    pub outcome: String,
}
