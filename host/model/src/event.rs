//! What is pushed to those who follow the host: changes, not results (contract E1).

use serde::{Deserialize, Serialize};

use crate::lifecycle::LifecycleState;
use crate::words::words;
use crate::{Reason, Status, Timestamp};

/// One change, as the event stream tells it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChangeEvent {
    /// Ascends with every event of this store, in the order of commits (contract E2).
    pub id: i64,
    /// When it happened.
    pub at: Timestamp,
    /// Id of the target.
    pub target: String,
    /// What changed.
    pub change: Change,
}

/// What a kind of event is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum EventKind {
    /// The status or the reason of a check.
    Status,
    /// The lifecycle state of a managed target.
    Lifecycle,
    /// Whether routers may send a managed target work (contract L11).
    Pool,
    /// A target itself: saved, enabled, disabled, deleted.
    Target,
}

words!(EventKind, "kind of event", {
    Status => "status",
    Lifecycle => "lifecycle",
    Pool => "pool",
    Target => "target",
});

/// What changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Change {
    /// The status or the reason of a check.
    Status {
        /// Name of the check.
        check: String,
        /// The status before.
        from: Status,
        /// The status now; equal to `from` when only the reason changed.
        to: Status,
        /// Why, when its last conclusive probe failed.
        reason: Option<Reason>,
        /// For people; empty after a pass.
        message: String,
        /// Failures in a row.
        streak: u32,
    },
    /// The lifecycle state of a managed target.
    Lifecycle {
        /// The state before.
        from: LifecycleState,
        /// The state now.
        to: LifecycleState,
        /// Why, where a probe said so.
        reason: Option<Reason>,
        /// Why, for people; may be empty.
        message: String,
        /// Restarts in a row that did not hold.
        failures: u32,
        /// The restart it is about.
        attempt: Option<u64>,
    },
    /// Whether routers may send a managed target work.
    Pool {
        /// Whether they may.
        poolable: bool,
        /// Its lifecycle state now.
        state: LifecycleState,
    },
    /// A target itself.
    Target {
        /// `created`, `changed`, `enabled`, `disabled` or `deleted`.
        outcome: String,
    },
}

impl Change {
    /// What it is called.
    #[must_use]
    pub const fn kind(&self) -> EventKind {
        match self {
            Self::Status { .. } => EventKind::Status,
            Self::Lifecycle { .. } => EventKind::Lifecycle,
            Self::Pool { .. } => EventKind::Pool,
            Self::Target { .. } => EventKind::Target,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// E1: the word in the data is the word of the kind, for each.
    #[test]
    fn a_change_says_its_kind() {
        let (from, to) = (LifecycleState::Running, LifecycleState::Offline);
        let message = String::new;
        let all = [
            Change::Status {
                check: "head".into(),
                from: Status::Healthy,
                to: Status::Unhealthy,
                reason: Some(Reason::Network),
                message: message(),
                streak: 2,
            },
            Change::Lifecycle {
                from,
                to,
                reason: None,
                message: message(),
                failures: 0,
                attempt: None,
            },
            Change::Pool { poolable: false, state: to },
            Change::Target { outcome: "created".into() },
        ];
        let words: Vec<_> = all.iter().map(|change| change.kind().as_str()).collect();
        assert_eq!(words, EventKind::ALL.map(EventKind::as_str));
        for change in all {
            let json = serde_json::to_value(&change).unwrap();
            assert_eq!(json["kind"], change.kind().as_str());
            assert_eq!(serde_json::from_value::<Change>(json).unwrap(), change);
        }
    }
}
