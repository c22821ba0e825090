//! When time alone brings a managed target on.

use std::time::Duration;

use super::{AttemptPhase, LifecycleRecord, LifecycleState, Policy};
use crate::Timestamp;

/// How often a target is probed while it has its start budget, or is due to leave quarantine:
/// its own interval may be a minute, and nobody wants to wait that long to see it ready.
pub const START_PROBE_EVERY: Duration = Duration::from_secs(1);

/// When the start budget of the attempt under way is over. While the runtime is being called it
/// counts from the mark before the call: a call that hangs is no reason to wait for ever.
#[must_use]
pub fn start_deadline(record: &LifecycleRecord, policy: &Policy) -> Option<Timestamp> {
    let attempt = record.attempt.as_ref()?;
    let from = match attempt.phase {
        AttemptPhase::Issued => attempt.issued_at?,
        AttemptPhase::Started => attempt.started_at?,
        AttemptPhase::Decided | AttemptPhase::Ready | AttemptPhase::Failed => return None,
    };
    Some(from.plus(policy.start_budget))
}

/// When the next [`super::Event::Tick`] is worth sending; none: only another event changes
/// anything. May lie in the past: then at once.
#[must_use]
pub fn wake_at(record: &LifecycleRecord, policy: &Policy, now: Timestamp) -> Option<Timestamp> {
    let soon = now.plus(START_PROBE_EVERY);
    match record.state {
        LifecycleState::Unknown | LifecycleState::Updating => None,
        LifecycleState::Running => {
            let unsettled = record.failures > 0 || record.attempt.is_some();
            let since = record.healthy_since.filter(|_| unsettled)?;
            Some(since.plus(policy.healthy_reset))
        }
        LifecycleState::Offline => Some(record.next_attempt_at.unwrap_or(now)),
        LifecycleState::Restarting => match record.phase() {
            Some(AttemptPhase::Issued) => start_deadline(record, policy),
            Some(AttemptPhase::Started) => {
                start_deadline(record, policy).map(|deadline| deadline.min(soon))
            }
            _ => Some(now),
        },
        LifecycleState::Quarantined => match (policy.quarantine_retry, record.next_attempt_at) {
            (Some(_), Some(due)) if due > now => Some(due),
            // The probe has been asked for; should its result be lost, it is asked for again.
            (Some(_), Some(_)) => Some(soon),
            (Some(_), None) | (None, Some(_)) => Some(now),
            (None, None) => None,
        },
    }
}
