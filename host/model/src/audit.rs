//! What the audit keeps.

use serde::{Deserialize, Serialize};

use crate::words::words;
use crate::{Timestamp, Trigger};

/// The principal of what the host does by itself (contract A1).
pub const SYSTEM_PRINCIPAL: &str = "system:health";

/// What an audit row is about (contract A1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Action {
    /// A check's status changed.
    Transition,
    /// A probe by hand (also when nothing changed).
    Probe,
    /// A target was created, changed, enabled, disabled or deleted.
    TargetChanged,
    /// A plugin asked for something that is not granted.
    CapabilityDenied,
    /// A managed target went from one lifecycle state to another.
    Lifecycle,
    /// A restart was issued, failed, or led to a ready target.
    Restart,
    /// A managed target was quarantined, by the host or by somebody.
    Quarantine,
    /// Somebody ended a quarantine.
    Release,
    /// An update began, was promoted or was rolled back.
    Update,
    /// A token was made or revoked.
    TokenChanged,
}

words!(Action, "action", {
    Transition => "transition",
    Probe => "probe",
    TargetChanged => "target-changed",
    CapabilityDenied => "capability-denied",
    Lifecycle => "lifecycle",
    Restart => "restart",
    Quarantine => "quarantine",
    Release => "release",
    Update => "update",
    TokenChanged => "token-changed",
});

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
    /// Id of the target; empty where it is about none.
    pub target: String,
    /// Name of the check, where one is concerned.
    pub check: Option<String>,
    /// The state before: a status of the check, or a lifecycle state of the target.
    pub from: Option<String>,
    /// The state after; equal to `from` when nothing changed.
    pub to: Option<String>,
    /// What came of it, for people: `pass`, `fail network: …`, `deleted`, the denied call.
    pub outcome: String,
}
