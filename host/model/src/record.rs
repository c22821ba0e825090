//! The durable record of one check, and the rule by which an observation changes it.
//!
//! The store decides each observation in one SQL statement (contract R1); this module states
//! the same rule in Rust, and a property test of the store holds the two equal.

use serde::{Deserialize, Serialize};

use crate::{Outcome, Reason, Status, Timestamp};

/// How many in a row it takes. Neither is ever zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Thresholds {
    /// Failures in a row until `unhealthy` (contract T4).
    pub failure: u32,
    /// Inconclusive probes in a row until `unknown` (contract T5).
    pub inconclusive: u32,
}

/// The one durable row of a check.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Record {
    /// What is known of the check.
    pub status: Status,
    /// Why the last conclusive probe failed; none after a pass.
    pub reason: Option<Reason>,
    /// For people; empty after a pass.
    pub message: String,
    /// What was probed, for people: a host and port.
    pub subject: String,
    /// Failures in a row.
    pub streak: u32,
    /// Inconclusive probes in a row.
    pub inconclusive_streak: u32,
    /// When the last conclusive probe ended.
    pub checked_at: Option<Timestamp>,
    /// When the last pass was seen.
    pub last_success_at: Option<Timestamp>,
    /// When the last probe ended, conclusive or not.
    pub last_attempt_at: Option<Timestamp>,
    /// Why the last probe was inconclusive; empty when it was conclusive.
    pub last_error: String,
}

/// What one probe adds to a record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Observation {
    /// When the probe ended.
    pub at: Timestamp,
    /// What was probed, for people.
    pub subject: String,
    /// What it found.
    pub outcome: Outcome,
}

/// Why an observation does not land (contract R2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Refusal {
    /// The target was deleted, disabled or changed since the probe began.
    Changed,
    /// A result that is as late or later is already stored.
    Overtaken,
}

/// The record after `seen`, or [`Refusal::Overtaken`].
///
/// An observation lands only when it is later than the last attempt that is stored; equal is
/// not later (contract R2). One clock orders conclusive and inconclusive results alike, so
/// that "in a row" (contract T5) has one meaning.
///
/// # Errors
/// [`Refusal::Overtaken`]; whether the target still is as the probe saw it is not known here.
pub fn advance(
    prior: Option<&Record>,
    seen: &Observation,
    thresholds: Thresholds,
) -> Result<Record, Refusal> {
    let mut record = prior.cloned().unwrap_or_default();
    if record.last_attempt_at.is_some_and(|stored| seen.at <= stored) {
        return Err(Refusal::Overtaken);
    }
    record.last_attempt_at = Some(seen.at);
    match &seen.outcome {
        Outcome::Inconclusive { error } => {
            record.inconclusive_streak = record.inconclusive_streak.saturating_add(1);
            record.last_error.clone_from(error);
            if record.inconclusive_streak >= thresholds.inconclusive {
                record.status = Status::Unknown;
            }
            if prior.is_none() {
                record.subject.clone_from(&seen.subject);
            }
            return Ok(record);
        }
        Outcome::Pass => {
            record.status = Status::Healthy;
            record.reason = None;
            record.message.clear();
            record.streak = 0;
            record.last_success_at = Some(seen.at);
        }
        Outcome::Fail(failure) => {
            record.streak = record.streak.saturating_add(1);
            if failure.reason.is_sticky() || record.streak >= thresholds.failure {
                record.status = Status::Unhealthy;
            }
            record.reason = Some(failure.reason);
            failure.message().clone_into(&mut record.message);
        }
    }
    record.subject.clone_from(&seen.subject);
    record.checked_at = Some(seen.at);
    record.inconclusive_streak = 0;
    record.last_error.clear();
    Ok(record)
}

/// The record after a save that changed what is probed (contract T7): nothing is known of it.
#[must_use]
pub fn reset(subject: &str) -> Record {
    Record { subject: subject.to_owned(), ..Record::default() }
}

#[cfg(test)]
mod tests {
    use super::*;

    const THRESHOLDS: Thresholds = Thresholds { failure: 2, inconclusive: 2 };

    fn seen(at: i64, outcome: Outcome) -> Observation {
        Observation { at: Timestamp::from_micros(at), subject: "db:5432".into(), outcome }
    }

    fn fail(reason: Reason) -> Outcome {
        Outcome::fail(reason, "db:5432: refused")
    }

    /// Runs outcomes one after the other and gives each status and streak on the way.
    fn run(outcomes: &[Outcome]) -> Vec<(Status, u32)> {
        let mut record = None;
        let mut states = Vec::new();
        for (at, outcome) in (1..).zip(outcomes) {
            let next = advance(record.as_ref(), &seen(at, outcome.clone()), THRESHOLDS).unwrap();
            states.push((next.status, next.streak));
            record = Some(next);
        }
        states
    }

    use Status::{Healthy, Unhealthy, Unknown};

    /// T2: one pass is enough from any state, and clears the failure.
    #[test]
    fn a_pass_heals_at_once() {
        let down = advance(None, &seen(1, fail(Reason::Config)), THRESHOLDS).unwrap();
        assert_eq!(down.status, Unhealthy);
        let up = advance(Some(&down), &seen(2, Outcome::Pass), THRESHOLDS).unwrap();
        assert_eq!((up.status, up.streak, up.reason), (Healthy, 0, None));
        assert_eq!(up.message, "");
        assert_eq!(up.last_success_at, Some(Timestamp::from_micros(2)));
    }

    /// T3: a sticky failure flips at once and counts.
    #[test]
    fn sticky_flips_at_once() {
        for reason in [Reason::Config, Reason::HostKey] {
            assert_eq!(run(&[Outcome::Pass, fail(reason)]), [(Healthy, 0), (Unhealthy, 1)]);
        }
    }

    /// T4: below the threshold the status stands; at it, it flips; a failure never promotes.
    #[test]
    fn the_threshold_flips() {
        let network = || fail(Reason::Network);
        assert_eq!(
            run(&[network(), network(), network()]),
            [(Unknown, 1), (Unhealthy, 2), (Unhealthy, 3)]
        );
        assert_eq!(
            run(&[Outcome::Pass, network(), network()]),
            [(Healthy, 0), (Healthy, 1), (Unhealthy, 2)]
        );
    }

    /// R8: after a recovery the next failure counts 1.
    #[test]
    fn a_recovery_starts_the_count_anew() {
        let network = || fail(Reason::Network);
        assert_eq!(
            run(&[network(), network(), Outcome::Pass, network()]).last(),
            Some(&(Healthy, 1))
        );
    }

    /// T5: inconclusive probes leave everything but the attempt, until there are enough of them.
    #[test]
    fn inconclusive_holds_then_says_unknown() {
        let healthy = advance(None, &seen(1, Outcome::Pass), THRESHOLDS).unwrap();
        let odd = Outcome::inconclusive("engine is gone");
        let once = advance(Some(&healthy), &seen(2, odd.clone()), THRESHOLDS).unwrap();
        assert_eq!(once.status, Healthy);
        assert_eq!(once.checked_at, healthy.checked_at);
        assert_eq!(once.last_success_at, healthy.last_success_at);
        assert_eq!(once.last_attempt_at, Some(Timestamp::from_micros(2)));
        assert_eq!(once.last_error, "engine is gone");
        let twice = advance(Some(&once), &seen(3, odd), THRESHOLDS).unwrap();
        assert_eq!((twice.status, twice.checked_at), (Unknown, healthy.checked_at));
        let back = advance(Some(&twice), &seen(4, Outcome::Pass), THRESHOLDS).unwrap();
        assert_eq!((back.status, back.inconclusive_streak), (Healthy, 0));
        assert_eq!(back.last_error, "");
    }

    /// T5: the failures in a row stand across an inconclusive probe.
    #[test]
    fn inconclusive_keeps_the_streak() {
        let network = || fail(Reason::Network);
        assert_eq!(
            run(&[Outcome::Pass, network(), Outcome::inconclusive("trap"), network()]),
            [(Healthy, 0), (Healthy, 1), (Healthy, 1), (Unhealthy, 2)]
        );
    }

    /// R2: equal is not later.
    #[test]
    fn overtaken_is_refused() {
        let record = advance(None, &seen(5, Outcome::Pass), THRESHOLDS).unwrap();
        for at in [4, 5] {
            let late = advance(Some(&record), &seen(at, fail(Reason::Network)), THRESHOLDS);
            assert_eq!(late, Err(Refusal::Overtaken));
        }
    }

    /// T7: after a reset nothing is known, and any time lands.
    #[test]
    fn a_reset_knows_nothing() {
        let record = reset("new:22");
        assert_eq!((record.status, record.streak, record.checked_at), (Unknown, 0, None));
        assert!(advance(Some(&record), &seen(0, Outcome::Pass), THRESHOLDS).is_ok());
    }
}
