//! The durable record of one managed target: all that a host needs to go on after a crash
//! (contract L8).

use serde::{Deserialize, Serialize};

use crate::words::words;
use crate::{Reason, Timestamp, sanitize};

/// Where a managed target is in its life (contract L1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum LifecycleState {
    /// Nothing conclusive is known: before the first conclusive probe, and when only
    /// inconclusive ones come.
    #[default]
    Unknown,
    /// Its liveness checks are healthy.
    Running,
    /// A liveness check is unhealthy; the next restart has a time.
    Offline,
    /// A restart is decided or under way, or the target has its start budget to become ready.
    Restarting,
    /// Given up, or set aside by an operator: no restart.
    Quarantined,
    /// The update manager has it: no restart.
    Updating,
}

words!(LifecycleState, "lifecycle state", {
    Unknown => "unknown",
    Running => "running",
    Offline => "offline",
    Restarting => "restarting",
    Quarantined => "quarantined",
    Updating => "updating",
});

/// What the checks of one role say together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Verdict {
    /// Nothing conclusive.
    #[default]
    Unknown,
    /// Every one is well.
    Healthy,
    /// At least one is unwell.
    Unhealthy,
}

words!(Verdict, "verdict", {
    Unknown => "unknown",
    Healthy => "healthy",
    Unhealthy => "unhealthy",
});

/// A verdict, and how fresh it is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sighting {
    /// What was seen.
    pub verdict: Verdict,
    /// When the probe that it rests on *began*: one that began before a restart says nothing
    /// of what came after. It counts only when it is later than
    /// [`LifecycleRecord::fresh_after`].
    pub at: Timestamp,
    /// Why, when unhealthy.
    pub reason: Option<Reason>,
    /// For people; empty when healthy.
    pub message: String,
}

impl Sighting {
    /// What a probe that began at `at` has shown; the message is made fit for people.
    #[must_use]
    pub fn new(verdict: Verdict, at: Timestamp, reason: Option<Reason>, message: &str) -> Self {
        Self { verdict, at, reason, message: sanitize(message) }
    }

    /// Nothing is known since `at`.
    pub(super) fn none_since(at: Timestamp) -> Self {
        Self { verdict: Verdict::Unknown, at, reason: None, message: String::new() }
    }

    /// Whether they say the same, however fresh.
    fn says_as(&self, other: &Self) -> bool {
        (self.verdict, self.reason, &self.message) == (other.verdict, other.reason, &other.message)
    }
}

/// How far a restart has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum AttemptPhase {
    /// Wanted. The runtime has not been called: after a crash it is issued.
    Decided,
    /// The runtime is being called, or was when the host died: after a crash it is not
    /// called again for this attempt.
    Issued,
    /// The runtime has done it, and the target has its start budget.
    Started,
    /// It led to a running target, which has yet to stay up for `healthy_reset`.
    Ready,
    /// It did not lead to a running target, or the target did not stay up.
    Failed,
}

words!(AttemptPhase, "attempt phase", {
    Decided => "decided",
    Issued => "issued",
    Started => "started",
    Ready => "ready",
    Failed => "failed",
});

/// One restart, from its decision until the target has stayed up for `healthy_reset`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attempt {
    /// Its number within the target: ascends, and is never used again.
    pub number: u64,
    /// How far it has come.
    pub phase: AttemptPhase,
    /// When it was decided.
    pub decided_at: Timestamp,
    /// When the mark before the call was made. None also for one that the update manager did.
    pub issued_at: Option<Timestamp>,
    /// When the start budget began to run: when the runtime was done, or when a host that
    /// found the attempt `issued` came back.
    pub started_at: Option<Timestamp>,
}

/// An update under way (contract L6).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Update {
    /// When it began. Only probes that began later count for its verdict.
    pub began_at: Timestamp,
    /// Whether the target was quarantined before: a rollback puts it back there.
    pub from_quarantine: bool,
}

/// The one durable row of a managed target.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LifecycleRecord {
    /// One more with every change that is to be saved. The store writes a record of revision
    /// `n` only over revision `n - 1`.
    pub revision: u64,
    /// The state.
    pub state: LifecycleState,
    /// When the state was entered.
    pub since: Timestamp,
    /// Why it is in this state, where a probe said so.
    pub reason: Option<Reason>,
    /// Why it is in this state, for people; may be empty.
    pub message: String,
    /// Restarts in a row that did not hold: the target did not become ready in its start
    /// budget, or was not up for `healthy_reset` (contract L3, L4).
    pub failures: u32,
    /// Number of the last attempt that was decided; 0: none yet.
    pub attempts: u64,
    /// Restarts that were issued, ever. Never reset.
    pub restarts: u64,
    /// The last restart, while it matters.
    pub attempt: Option<Attempt>,
    /// `offline`: when the next restart is due. `quarantined`: when the next probe may end it.
    pub next_attempt_at: Option<Timestamp>,
    /// Probes in a row that did not end the quarantine (`quarantine_retry`).
    pub quarantine_probes: u32,
    /// `running`: since when without a break.
    pub healthy_since: Option<Timestamp>,
    /// Only probes that began later count: when the target was last restarted, or given to or
    /// taken back from the update manager.
    pub fresh_after: Timestamp,
    /// What the liveness checks say.
    pub liveness: Sighting,
    /// What the readiness checks say.
    pub readiness: Sighting,
    /// `updating`: the update.
    pub update: Option<Update>,
}

impl LifecycleRecord {
    /// The record of a target that has just become managed; only probes that begin after
    /// `now` count. Revision 0: it is not stored yet.
    #[must_use]
    pub fn new(now: Timestamp) -> Self {
        Self {
            revision: 0,
            state: LifecycleState::Unknown,
            since: now,
            reason: None,
            message: String::new(),
            failures: 0,
            attempts: 0,
            restarts: 0,
            attempt: None,
            next_attempt_at: None,
            quarantine_probes: 0,
            healthy_since: None,
            fresh_after: now,
            liveness: Sighting::none_since(now),
            readiness: Sighting::none_since(now),
            update: None,
        }
    }

    /// The phase of the last restart, while it matters.
    #[must_use]
    pub fn phase(&self) -> Option<AttemptPhase> {
        self.attempt.as_ref().map(|attempt| attempt.phase)
    }

    /// Whether live and ready, by the last sightings.
    #[must_use]
    pub fn is_ready(&self) -> bool {
        self.liveness.verdict == Verdict::Healthy && self.readiness.verdict == Verdict::Healthy
    }

    /// The record as it is to be taken up at `now`. One that was written by a clock that is ahead (it
    /// was set back since) has all its times moved by as much, so that nothing waits that long again.
    #[must_use]
    pub fn taken_up(mut self, now: Timestamp) -> Self {
        let ahead = self.times().map(|time| time.since(now)).max().unwrap_or_default();
        if !ahead.is_zero() {
            for time in self.times() {
                *time = time.minus(ahead);
            }
            self.next_attempt_at = self.next_attempt_at.map(|due| due.minus(ahead));
        }
        self
    }

    /// When things were that have been.
    fn times(&mut self) -> impl Iterator<Item = &mut Timestamp> {
        let attempt = self.attempt.as_mut().map(|attempt| {
            let Attempt { decided_at, issued_at, started_at, .. } = attempt;
            [Some(decided_at), issued_at.as_mut(), started_at.as_mut()]
        });
        let update = self.update.as_mut().map(|update| &mut update.began_at);
        [&mut self.since, &mut self.fresh_after, &mut self.liveness.at, &mut self.readiness.at]
            .into_iter()
            .chain(self.healthy_since.as_mut())
            .chain(attempt.into_iter().flatten().flatten())
            .chain(update)
    }

    /// Whether they are the same but for how fresh their sightings are. A sighting that only
    /// repeats the last one is not worth a write.
    pub(super) fn is_as_good_as(&self, other: &Self) -> bool {
        let mut same = other.clone();
        if self.liveness.says_as(&other.liveness) {
            same.liveness.at = self.liveness.at;
        }
        if self.readiness.says_as(&other.readiness) {
            same.readiness.at = self.readiness.at;
        }
        *self == same
    }
}
