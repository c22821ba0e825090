//! The moves that the table is made of. Each keeps the record whole: what a state does not
//! need is cleared on the way into it.

use std::time::Duration;

use super::policy::Policy;
use super::record::{
    Attempt, AttemptPhase, LifecycleRecord, LifecycleState, Sighting, Update, Verdict,
};
use super::{Effect, LifecycleTransition, Step, delay, is_poolable};
use crate::{Action, Reason, Timestamp, sanitize};

/// Longest wait between probes of a quarantined target, unless `quarantine_retry` is longer.
const LONGEST_QUARANTINE_RETRY: Duration = Duration::from_hours(24);

/// What the sightings come to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Standing {
    /// Live, and ready where a restart has to prove that.
    Up,
    /// Down, or not ready where a restart has to prove that.
    Down,
    /// Nothing conclusive.
    NotKnown,
}

/// A step being made.
pub(super) struct Machine<'a> {
    pub(super) record: LifecycleRecord,
    pub(super) policy: &'a Policy,
    pub(super) now: Timestamp,
    before: &'a LifecycleRecord,
    chance: f64,
    effects: Vec<Effect>,
}

impl<'a> Machine<'a> {
    pub(super) fn new(
        before: &'a LifecycleRecord,
        policy: &'a Policy,
        now: Timestamp,
        chance: f64,
    ) -> Self {
        Self { record: before.clone(), policy, now, before, chance, effects: Vec::new() }
    }

    pub(super) fn finish(mut self) -> Step {
        let poolable = is_poolable(&self.record);
        if poolable != is_poolable(self.before) {
            self.effects.push(Effect::Pool { poolable });
        }
        let save = !self.before.is_as_good_as(&self.record);
        if save {
            self.record.revision = self.record.revision.saturating_add(1);
        }
        // What is to be written comes first, then what is to be told, then what is to be done.
        self.effects.sort_by_key(|effect| match effect {
            Effect::Transition(_) | Effect::Audit { .. } => 0,
            Effect::Pool { .. } => 1,
            Effect::Issue { .. } | Effect::Restart { .. } | Effect::Probe => 2,
        });
        Step { record: self.record, save, effects: self.effects }
    }

    pub(super) fn ask(&mut self, effect: Effect) {
        self.effects.push(effect);
    }

    fn audit(&mut self, action: Action, attempt: Option<u64>, outcome: &str) {
        self.ask(Effect::Audit { action, attempt, outcome: sanitize(outcome) });
    }

    /// Goes to a state, with a line in the history.
    fn go(&mut self, to: LifecycleState, reason: Option<Reason>, message: &str) {
        let message = sanitize(message);
        let record = &mut self.record;
        let transition = LifecycleTransition {
            at: self.now,
            from: record.state,
            to,
            reason,
            message: message.clone(),
            failures: record.failures,
            attempt: record.attempt.as_ref().map(|attempt| attempt.number),
        };
        record.state = to;
        record.since = self.now;
        record.reason = reason;
        record.message = message;
        record.next_attempt_at = None;
        record.quarantine_probes = 0;
        record.healthy_since = (to == LifecycleState::Running).then_some(self.now);
        if to != LifecycleState::Updating {
            record.update = None;
        }
        self.ask(Effect::Transition(transition));
    }

    /// From now on only probes that begin later count.
    fn forget_sightings(&mut self) {
        self.record.fresh_after = self.now;
        self.record.liveness = Sighting::none_since(self.now);
        self.record.readiness = Sighting::none_since(self.now);
    }

    /// What the sightings come to. Readiness counts only while a restart has still to show
    /// that it has worked (L5): by itself it never makes a target unwell (L11). Without a
    /// conclusive word on readiness, liveness has the last one: an inconclusive probe is no
    /// reason for a restart.
    pub(super) fn standing(&self) -> Standing {
        let unproven = matches!(
            self.record.phase(),
            Some(AttemptPhase::Issued | AttemptPhase::Started | AttemptPhase::Failed)
        );
        match self.record.liveness.verdict {
            Verdict::Unknown => Standing::NotKnown,
            Verdict::Unhealthy => Standing::Down,
            Verdict::Healthy if unproven && self.record.readiness.verdict == Verdict::Unhealthy => {
                Standing::Down
            }
            Verdict::Healthy => Standing::Up,
        }
    }

    /// Whether probes have come since the last restart and could say nothing. Without any
    /// since, what was decided on before still stands.
    pub(super) fn is_blind(&self) -> bool {
        let record = &self.record;
        record.liveness.verdict == Verdict::Unknown && record.liveness.at > record.fresh_after
    }

    /// Why it is down.
    fn cause(&self) -> (Option<Reason>, String) {
        let record = &self.record;
        let seen = match record.liveness.verdict {
            Verdict::Unhealthy => &record.liveness,
            Verdict::Healthy | Verdict::Unknown => &record.readiness,
        };
        (seen.reason, seen.message.clone())
    }

    /// Up (L2). An attempt that was under way is ready, and has now to hold.
    pub(super) fn up(&mut self) {
        let number = self.record.attempt.as_ref().map(|attempt| attempt.number);
        match self.record.phase() {
            Some(AttemptPhase::Issued | AttemptPhase::Started) => {
                self.set_phase(AttemptPhase::Ready);
                let outcome = if self.record.is_ready() { "ready" } else { "running" };
                self.audit(Action::Restart, number, outcome);
            }
            // It came back by itself: the restart that failed before is settled, though its
            // failure still counts until the target has stayed up (L4).
            Some(AttemptPhase::Failed | AttemptPhase::Decided) => self.record.attempt = None,
            Some(AttemptPhase::Ready) | None => {}
        }
        self.go(LifecycleState::Running, None, "");
    }

    /// Down (L2): drained, and the next restart gets its time. A restart that has not held is
    /// a failed one (L4).
    pub(super) fn down(&mut self) {
        let (reason, message) = self.cause();
        let unheld = self.record.phase() == Some(AttemptPhase::Ready);
        if unheld {
            self.set_phase(AttemptPhase::Failed);
            self.record.failures = self.record.failures.saturating_add(1);
        }
        self.go(LifecycleState::Offline, reason, &message);
        if unheld {
            let number = self.record.attempt.as_ref().map(|attempt| attempt.number);
            self.audit(Action::Restart, number, &format!("failed: did not stay up: {message}"));
        }
        self.schedule_or_give_up();
    }

    /// The attempt under way has failed, because of what was seen.
    pub(super) fn attempt_failed_as_seen(&mut self) {
        let (reason, message) = self.cause();
        self.attempt_failed(reason, &message);
    }

    /// The attempt under way has failed (L3, L5).
    pub(super) fn attempt_failed(&mut self, reason: Option<Reason>, message: &str) {
        let number = self.record.attempt.as_ref().map(|attempt| attempt.number);
        self.set_phase(AttemptPhase::Failed);
        self.record.failures = self.record.failures.saturating_add(1);
        self.audit(Action::Restart, number, &format!("failed: {message}"));
        let seen = self.standing() != Standing::NotKnown;
        if !seen && self.record.state == LifecycleState::Unknown {
            // The next conclusive probe leads on from here.
            return;
        }
        // The runtime failed, and the probes say nothing either: it is the engine that is
        // gone, and nothing is to be restarted until the target is seen again (T5, C3).
        if self.is_blind() {
            self.unknown();
            return;
        }
        if self.record.failures < self.policy.max_restarts {
            self.go(LifecycleState::Offline, reason, message);
        } else {
            (self.record.reason, self.record.message) = (reason, sanitize(message));
        }
        self.schedule_or_give_up();
    }

    /// The next restart gets its time, or there is none (L3).
    pub(super) fn schedule_or_give_up(&mut self) {
        if self.record.failures < self.policy.max_restarts {
            let wait = delay(self.record.failures, self.policy, self.chance);
            self.record.next_attempt_at = Some(self.now.plus(wait));
            return;
        }
        let failures = self.record.failures;
        let message = format!("{failures} restarts in a row did not hold: {}", self.record.message);
        self.quarantine(self.record.reason, &message);
    }

    pub(super) fn quarantine(&mut self, reason: Option<Reason>, message: &str) {
        self.go(LifecycleState::Quarantined, reason, message);
        self.audit(Action::Quarantine, None, message);
        self.schedule_quarantine_probe();
    }

    /// When the next probe may end the quarantine: each wait is twice the one before (L7).
    pub(super) fn schedule_quarantine_probe(&mut self) {
        self.record.next_attempt_at = self.policy.quarantine_retry.map(|first| {
            let factor = 2_u32.saturating_pow(self.record.quarantine_probes);
            let wait = first.saturating_mul(factor).min(LONGEST_QUARANTINE_RETRY.max(first));
            self.now.plus(wait)
        });
    }

    /// Nothing is known (T5). What was counted stays, and so does a restart that has still to
    /// show that it has worked.
    pub(super) fn unknown(&mut self) {
        let message = self.record.liveness.message.clone();
        self.go(LifecycleState::Unknown, None, &message);
    }

    /// A restart is wanted: the first of its two marks.
    pub(super) fn decide(&mut self, message: &str) {
        self.begin_attempt(AttemptPhase::Decided);
        let reason = self.record.reason;
        self.go(LifecycleState::Restarting, reason, message);
        self.audit(Action::Restart, Some(self.record.attempts), &format!("decided: {message}"));
        self.ask_to_issue();
    }

    /// The update manager has just started the target: it gets its start budget, as after a
    /// restart of ours, but nothing is issued.
    fn adopt(&mut self, message: &str) {
        self.forget_sightings();
        self.begin_attempt(AttemptPhase::Started);
        self.go(LifecycleState::Restarting, None, message);
        self.ask(Effect::Probe);
    }

    fn begin_attempt(&mut self, phase: AttemptPhase) {
        self.record.attempts = self.record.attempts.saturating_add(1);
        self.record.attempt = Some(Attempt {
            number: self.record.attempts,
            phase,
            decided_at: self.now,
            issued_at: None,
            started_at: (phase == AttemptPhase::Started).then_some(self.now),
        });
    }

    pub(super) fn ask_to_issue(&mut self) {
        if let Some(attempt) = self.record.attempt.as_ref().map(|attempt| attempt.number) {
            self.ask(Effect::Issue { attempt });
        }
    }

    /// The second mark. Nothing else asks for [`Effect::Restart`].
    pub(super) fn issue(&mut self) {
        let now = self.now;
        let Some(attempt) = self.record.attempt.as_mut() else { return };
        attempt.phase = AttemptPhase::Issued;
        attempt.issued_at = Some(now);
        let number = attempt.number;
        self.record.restarts = self.record.restarts.saturating_add(1);
        self.forget_sightings();
        self.audit(Action::Restart, Some(number), "issued");
        self.ask(Effect::Restart { attempt: number });
    }

    /// The start budget begins to run; what was seen up to now may still have been the target
    /// before its restart.
    pub(super) fn started(&mut self) {
        let now = self.now;
        let Some(attempt) = self.record.attempt.as_mut() else { return };
        attempt.phase = AttemptPhase::Started;
        attempt.started_at = Some(now);
        self.forget_sightings();
        self.ask(Effect::Probe);
    }

    /// The update manager takes the target (L6). A restart that was decided is not issued.
    pub(super) fn begin_update(&mut self) {
        let from_quarantine = self.record.state == LifecycleState::Quarantined;
        self.record.attempt = None;
        self.record.update = Some(Update { began_at: self.now, from_quarantine });
        self.forget_sightings();
        self.go(LifecycleState::Updating, None, "");
        self.audit(Action::Update, None, "begun");
    }

    /// The update was good (L6, L7): whatever failed before was another version.
    pub(super) fn promote(&mut self) {
        self.record.failures = 0;
        self.audit(Action::Update, None, "promoted");
        if self.record.is_ready() {
            self.go(LifecycleState::Running, None, "update promoted");
        } else {
            self.adopt("update promoted");
        }
    }

    /// The update was not good (L6): back to what was before, quarantine included.
    pub(super) fn roll_back(&mut self) {
        let quarantined = self.record.update.as_ref().is_some_and(|update| update.from_quarantine);
        self.audit(Action::Update, None, "rolled back");
        if quarantined {
            self.forget_sightings();
            self.quarantine(None, "update rolled back: quarantined as before");
        } else {
            self.adopt("update rolled back");
        }
    }

    /// An operator vouches for it (L7): it has all its restarts again.
    pub(super) fn release(&mut self) {
        self.record.failures = 0;
        self.audit(Action::Release, None, "released");
        self.decide("released");
    }

    fn set_phase(&mut self, phase: AttemptPhase) {
        if let Some(attempt) = self.record.attempt.as_mut() {
            attempt.phase = phase;
        }
    }
}
