//! Counts a check's probes into hours, and says for which time each one vouches (contract A4).

use std::collections::BTreeMap;
use std::time::Duration;

use crate::{Outcome, Rollup, Status, Step, Timestamp};

/// A probe vouches for at most this many intervals before it: what is older is stale (S6).
const INTERVALS: u32 = 3;
/// And for no longer than this, whatever the interval.
const LONGEST: Duration = Duration::from_hours(24);

/// A probe that was recorded.
#[derive(Debug, Clone, Copy)]
pub struct Counted<'a> {
    /// When it ended.
    pub at: Timestamp,
    /// How long it took.
    pub took: Duration,
    /// What it found.
    pub outcome: &'a Outcome,
    /// The check's status afterwards.
    pub status: Status,
    /// How often the check is probed; none: only by hand.
    pub interval: Option<Duration>,
    /// When the target was last changed: before that, the check may have been another.
    pub since: Timestamp,
}

/// The hours of one check that may still grow.
#[derive(Debug, Clone, Default)]
pub struct Tally {
    /// When the last probe was counted.
    last: Option<Timestamp>,
    hours: BTreeMap<Timestamp, Hour>,
}

#[derive(Debug, Clone, Default)]
struct Hour {
    rollup: Rollup,
    /// Something was added since it was last taken.
    fresh: bool,
}

impl Tally {
    /// Counts a probe, and the time for which it vouches: since the one before, but no more than
    /// three intervals, nor from before the target was changed. That time counts as the status
    /// that the probe led to. The first probe of all vouches for none, and so does one that is
    /// inconclusive, or that is not made on schedule: what nobody knows is never up.
    ///
    /// A probe from before the last one (the clock was set back) counts at the last one's time.
    pub fn count(&mut self, seen: &Counted<'_>) {
        let at = self.last.map_or(seen.at, |last| last.max(seen.at));
        self.hour(at).count(seen.outcome, seen.took);
        let before = self.last.replace(at);
        let (Some(before), Some(interval)) = (before, seen.interval) else { return };
        if matches!(seen.outcome, Outcome::Inconclusive { .. }) || seen.status == Status::Unknown {
            return;
        }
        let reach = interval.saturating_mul(INTERVALS).min(LONGEST);
        let mut from = before.max(at.minus(reach)).max(seen.since);
        while from < at {
            let end = Step::Hour.start_of(from).plus(Step::Hour.span()).min(at);
            let rollup = self.hour(from);
            let part = match seen.status {
                Status::Healthy => &mut rollup.healthy,
                Status::Unhealthy | Status::Unknown => &mut rollup.unhealthy,
            };
            *part = part.saturating_add(end.since(from));
            if end <= from {
                return;
            }
            from = end;
        }
    }

    fn hour(&mut self, at: Timestamp) -> &mut Rollup {
        let hour = self.hours.entry(Step::Hour.start_of(at)).or_default();
        hour.fresh = true;
        &mut hour.rollup
    }

    /// The hours that have grown since they were last taken, each as a whole. Hours that can't
    /// grow any more are let go of once they were taken.
    pub fn take(&mut self) -> Vec<(Timestamp, Rollup)> {
        if let Some(last) = self.last {
            let current = Step::Hour.start_of(last);
            self.hours.retain(|start, hour| hour.fresh || *start >= current);
        }
        let fresh = self.hours.iter_mut().filter(|(_, hour)| hour.fresh);
        fresh
            .map(|(start, hour)| {
                hour.fresh = false;
                (*start, hour.rollup.clone())
            })
            .collect()
    }

    /// An hour that was taken could not be kept: it is given again.
    pub fn give_again(&mut self, start: Timestamp) {
        if let Some(hour) = self.hours.get_mut(&start) {
            hour.fresh = true;
        }
    }

    /// The hours that are held, taken or not.
    pub fn hours(&self) -> impl Iterator<Item = (Timestamp, &Rollup)> {
        self.hours.iter().map(|(start, hour)| (*start, &hour.rollup))
    }

    /// Whether everything was taken.
    #[must_use]
    pub fn is_taken(&self) -> bool {
        self.hours.values().all(|hour| !hour.fresh)
    }
}

#[cfg(test)]
#[path = "tally_tests.rs"]
mod tests;
