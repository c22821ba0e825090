//! What the checks of one target have shown, as far as its lifecycle goes by it.

use std::collections::BTreeMap;
use std::time::Duration;

use probehost_model::lifecycle::{CheckView, Sighting, sight};
use probehost_model::{Check, Outcome, Reason, Record, Role, Status, Timestamp};
use probehost_monitor::ports::Landed;

/// The checks of a target, by name.
#[derive(Debug, Default)]
pub(crate) struct Sightings(BTreeMap<String, Seen>);

#[derive(Debug, Clone)]
struct Seen {
    role: Role,
    status: Status,
    reason: Option<Reason>,
    message: String,
    /// When the probe that the status rests on began; none: not probed.
    probed_at: Option<Timestamp>,
    /// When the probe that was last taken in ended.
    taken_at: Option<Timestamp>,
}

impl Seen {
    const fn nothing(role: Role) -> Self {
        Self {
            role,
            status: Status::Unknown,
            reason: None,
            message: String::new(),
            probed_at: None,
            taken_at: None,
        }
    }
}

impl Sightings {
    /// The checks are these now. What is known of one stays, unless its record was reset. Of a
    /// new one the stored record counts only when it is healthy: what an old record says is
    /// wrong may long be right, and nothing is restarted for it.
    pub(crate) fn expect<'a>(
        &mut self,
        checks: impl IntoIterator<Item = (&'a Check, Option<&'a Record>)>,
    ) {
        let mut before = std::mem::take(&mut self.0);
        for (check, record) in checks {
            let last_attempt = record.and_then(|record| record.last_attempt_at);
            let known = before
                .remove(&check.name)
                .filter(|known| last_attempt.is_some() || known.taken_at.is_none());
            let seen = match (known, record) {
                (Some(known), _) => Seen { role: check.role, ..known },
                (None, Some(record)) if record.status == Status::Healthy => Seen {
                    status: Status::Healthy,
                    probed_at: record.last_success_at.map(|end| end.minus(check.timeout)),
                    taken_at: last_attempt,
                    ..Seen::nothing(check.role)
                },
                (None, _) => Seen::nothing(check.role),
            };
            self.0.insert(check.name.clone(), seen);
        }
    }

    /// Takes in a result. Gives whether it says something new.
    pub(crate) fn take(&mut self, landed: &Landed) -> bool {
        let Landed { check, began, outcome, record } = landed;
        let Some(seen) = self.0.get_mut(&check.id.check) else { return false };
        if record.last_attempt_at <= seen.taken_at {
            return false;
        }
        let known = seen.probed_at.filter(|_| seen.status == record.status);
        seen.probed_at = rests_on(record, outcome, *began, known, check.timeout);
        seen.taken_at = record.last_attempt_at;
        seen.status = record.status;
        seen.reason = record.reason;
        seen.message = match record.status {
            Status::Unknown => record.last_error.clone(),
            Status::Healthy | Status::Unhealthy => record.message.clone(),
        };
        true
    }

    /// What the checks of a role say together; none: too little is known.
    pub(crate) fn of(&self, role: Role) -> Option<Sighting> {
        let views: Vec<CheckView<'_>> = self
            .0
            .values()
            .map(|seen| CheckView {
                role: seen.role,
                status: seen.status,
                reason: seen.reason,
                message: &seen.message,
                probed_at: seen.probed_at,
            })
            .collect();
        sight(&views, role)
    }
}

/// When the probe that the status rests on began. A failure below its threshold says nothing for
/// `healthy`, and an inconclusive probe below its own nothing for either: the status then rests
/// on the one before, whose begin is `known`, or lies at most a timeout before its end.
fn rests_on(
    record: &Record,
    outcome: &Outcome,
    began: Timestamp,
    known: Option<Timestamp>,
    timeout: Duration,
) -> Option<Timestamp> {
    let ended = match (record.status, outcome) {
        (Status::Healthy, Outcome::Pass)
        | (Status::Unhealthy, Outcome::Fail(_))
        | (Status::Unknown, _) => return Some(began),
        (Status::Healthy, _) => record.last_success_at,
        (Status::Unhealthy, _) => record.checked_at,
    };
    known.or_else(|| ended.map(|ended| ended.minus(timeout)))
}
