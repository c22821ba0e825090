//! What happens to a managed target, and what there is to do about it.

use serde::{Deserialize, Serialize};

use super::record::{LifecycleRecord, LifecycleState, Sighting};
use crate::{Action, Reason, Timestamp};

/// What happens to a managed target.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// The liveness checks have spoken; see [`super::sight`].
    Liveness(Sighting),
    /// The readiness checks have spoken. A target without any is ready when it is live.
    Readiness(Sighting),
    /// Time has passed. Whatever is due at `now` happens: a restart, the end of a start
    /// budget, the reset of the failure count. To be sent at [`super::wake_at`]; more often
    /// does no harm.
    Tick,
    /// A host takes up the record: it has just started, or has taken over.
    Resumed,
    /// The runtime is about to be called for the attempt.
    Issue {
        /// Its number.
        attempt: u64,
    },
    /// The runtime has restarted the target.
    RestartSucceeded {
        /// The attempt's number.
        attempt: u64,
    },
    /// The runtime could not, or did not answer in time.
    RestartFailed {
        /// The attempt's number.
        attempt: u64,
        /// Why, for people.
        message: String,
    },
    /// An operator wants a restart now.
    OperatorRestart,
    /// An operator sets the target aside.
    OperatorQuarantine {
        /// Why, in the operator's words; may be empty.
        message: String,
    },
    /// An operator ends the quarantine: the target is restarted.
    OperatorRelease,
    /// The update manager takes the target.
    UpdateBegin,
    /// The update manager gives it back, updated.
    UpdatePromoted,
    /// The update manager gives it back as it was before.
    UpdateRolledBack,
}

/// What there is to do, in this order, once the record is saved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Effect {
    /// The state changed: a row of the history, a row of the audit and an event. Its rows
    /// commit with the record.
    Transition(LifecycleTransition),
    /// A row of the audit (contract A1), in the same transaction.
    Audit {
        /// What was done.
        action: Action,
        /// The restart it is about.
        attempt: Option<u64>,
        /// What came of it, for people.
        outcome: String,
    },
    /// Whether routers may send the target work has changed (contract L11): an event at once.
    Pool {
        /// Whether they may.
        poolable: bool,
    },
    /// A restart is decided: send [`Event::Issue`] back. Nothing is restarted yet.
    Issue {
        /// The attempt's number.
        attempt: u64,
    },
    /// Call the runtime, once. Comes at most once for each number.
    Restart {
        /// The attempt's number.
        attempt: u64,
    },
    /// Probe the target's checks off-cycle.
    Probe,
}

/// One change of the lifecycle state, for the history.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LifecycleTransition {
    /// When.
    pub at: Timestamp,
    /// The state before.
    pub from: LifecycleState,
    /// The state after.
    pub to: LifecycleState,
    /// Why, where a probe said so.
    pub reason: Option<Reason>,
    /// Why, for people.
    pub message: String,
    /// Restarts in a row that did not hold, up to here.
    pub failures: u32,
    /// The restart it is about.
    pub attempt: Option<u64>,
}

/// What an event comes to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// The record now.
    pub record: LifecycleRecord,
    /// Whether it is to be saved: more has changed than how fresh its sightings are. The
    /// revision is one higher then.
    pub save: bool,
    /// What there is to do, once it is saved.
    pub effects: Vec<Effect>,
}

impl Step {
    /// The changes of state, in order: mostly none or one.
    pub fn transitions(&self) -> impl Iterator<Item = &LifecycleTransition> {
        self.effects.iter().filter_map(|effect| match effect {
            Effect::Transition(transition) => Some(transition),
            _ => None,
        })
    }
}

/// Why something that was asked for is not done. Nothing has changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, thiserror::Error)]
pub enum Refused {
    /// A restart is under way.
    #[error("restart {attempt} is under way; wait for its end, or quarantine the target")]
    Restarting {
        /// Its number.
        attempt: u64,
    },
    /// The target is quarantined.
    #[error("the target is quarantined; release it, and it is restarted")]
    Quarantined,
    /// The target is not quarantined.
    #[error("the target is {0}, not quarantined: there is nothing to release")]
    NotQuarantined(LifecycleState),
    /// An update is under way.
    #[error("an update is under way; finish it first, as promoted or as rolled back")]
    Updating,
    /// No update is under way.
    #[error("the target is {0}, not updating: begin an update first")]
    NotUpdating(LifecycleState),
}
