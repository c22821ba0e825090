//! A change of status, and what asked for the probe that found it.

use serde::{Deserialize, Serialize};

use crate::words::words;
use crate::{CheckId, Reason, Status, Timestamp};

/// What asked for a probe (contract A1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Trigger {
    /// The check's cadence.
    Scheduled,
    /// Somebody, by hand.
    Manual,
    /// A save that changed the check.
    Saved,
}

words!(Trigger, "trigger", {
    Scheduled => "scheduled",
    Manual => "manual",
    Saved => "saved",
});

/// One change of a check's status, as the append-only history keeps it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Transition {
    /// Ascends with every transition of this store.
    pub id: i64,
    /// When the probe that found it ended.
    pub at: Timestamp,
    /// Whose status changed.
    #[serde(flatten)]
    pub check: CheckId,
    /// The status that the write replaced (contract T6).
    pub from: Status,
    /// The status now.
    pub to: Status,
    /// Why, when the probe failed.
    pub reason: Option<Reason>,
    /// For people; empty after a pass.
    pub message: String,
    /// Failures in a row, this one included.
    pub streak: u32,
    /// What asked for the probe.
    pub trigger: Trigger,
}
