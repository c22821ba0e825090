//! A change of status, and what asked for the probe that found it.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::reason::UnknownWord;
use crate::{CheckId, Reason, Status, Timestamp};

/// What asked for a probe (contract A1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Trigger {
    /// The check's cadence.
    Scheduled,
    /// Somebody, by hand.
    Manual,
    /// A save that changed the check.
    Saved,
}

impl Trigger {
    /// Every trigger.
    pub const ALL: [Self; 3] = [Self::Scheduled, Self::Manual, Self::Saved];

    /// The word for it in audit rows, API and metrics.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Scheduled => "scheduled",
            Self::Manual => "manual",
            Self::Saved => "saved",
        }
    }
}

impl fmt::Display for Trigger {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Trigger {
    type Err = UnknownWord;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::ALL
            .into_iter()
            .find(|trigger| trigger.as_str() == text)
            .ok_or_else(|| UnknownWord::new("trigger", text))
    }
}

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

#[cfg(test)]
mod tests {
    use super::*;

    /// A1: the trigger names are fixed.
    #[test]
    fn trigger_names() {
        assert_eq!(Trigger::ALL.map(Trigger::as_str), ["scheduled", "manual", "saved"]);
        for trigger in Trigger::ALL {
            assert_eq!(trigger.as_str().parse(), Ok(trigger));
        }
        assert!("cron".parse::<Trigger>().is_err());
    }
}
