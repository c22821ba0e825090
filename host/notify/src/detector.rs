//! Whether most targets fail the same way at once: then it is probably this host's own network or
//! resolver, and not hundreds of targets (contract E5).
//!
//! Pure: it is told of each conclusive result and of the time, and keeps the last of each check.
//! With a failure threshold of 2, every target has failed once an interval before its status
//! changes, so an own fault is known before the first of them would be told.

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use probehost_model::{CheckId, Reason, Timestamp};

/// What is kept of a check.
#[derive(Debug, Clone, Copy)]
struct Seen {
    /// When the last conclusive probe began, and ended.
    began: Timestamp,
    at: Timestamp,
    /// Why it failed; none: it passed.
    reason: Option<Reason>,
    /// When it first failed for this reason, since it last did not.
    onset: Timestamp,
    /// Within which time every check like it has been probed once.
    round: Duration,
}

/// Many targets that fail the same way at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OwnFault {
    /// How they fail.
    pub reason: Reason,
    /// When the first of them began to.
    pub since: Timestamp,
    /// How many fail like that.
    pub failing: usize,
    /// How many had a result since then.
    pub of: usize,
}

/// What became of a check after a moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum After {
    /// No probe of it has begun since, and one may yet.
    Open,
    /// It failed.
    Failing,
    /// It passed.
    Well,
    /// Nothing is known of it, or nothing was heard of it for long.
    Lost,
}

/// Watches the results of all targets.
#[derive(Debug, Default)]
pub struct Detector {
    /// By target, then by check.
    targets: HashMap<String, BTreeMap<String, Seen>>,
    /// How many it was told.
    results: usize,
}

/// A result counts as late when it is this much older than a round.
const SLACK: Duration = Duration::from_secs(2);

impl Detector {
    /// A conclusive result: of which check, why it failed if it did, when its probe began and
    /// ended, and within which time every such check is probed once (interval and timeout).
    pub fn saw(
        &mut self,
        check: &CheckId,
        reason: Option<Reason>,
        (began, at): (Timestamp, Timestamp),
        round: Duration,
    ) {
        self.results = self.results.wrapping_add(1);
        let checks = match self.targets.get_mut(&check.target) {
            Some(checks) => checks,
            None => self.targets.entry(check.target.clone()).or_default(),
        };
        let before = checks.get(&check.check);
        if before.is_some_and(|before| before.at > at) {
            return;
        }
        let same = before.filter(|before| reason.is_some() && before.reason == reason);
        let onset = same.map_or(at, |before| before.onset);
        let seen = Seen { began, at, reason, onset, round: round + SLACK };
        match checks.get_mut(&check.check) {
            Some(kept) => *kept = seen,
            None => drop(checks.insert(check.check.clone(), seen)),
        }
    }

    /// Drops what says nothing any more: the checks of which nothing was heard for two rounds.
    pub fn forget_old(&mut self, now: Timestamp) {
        self.targets.retain(|_, checks| {
            checks.retain(|_, seen| now.since(seen.at) <= seen.round * 2);
            !checks.is_empty()
        });
    }

    /// How many results it was told.
    #[must_use]
    pub const fn results(&self) -> usize {
        self.results
    }

    /// How many targets are watched.
    #[must_use]
    pub fn targets(&self) -> usize {
        self.targets.len()
    }

    /// When the check began to fail as it does; none: it does not fail, or is not known.
    #[must_use]
    pub fn onset(&self, target: &str, check: &str) -> Option<Timestamp> {
        let seen = self.targets.get(target)?.get(check)?;
        seen.reason.map(|_| seen.onset)
    }

    /// The own faults that there seem to be, one for each reason: at least `min` targets began to
    /// fail that way, each within a round before `now`, and they are at least half of those that
    /// had a result since the first of them did, at least `wait` ago.
    #[must_use]
    pub fn judge(&self, now: Timestamp, min: usize, wait: Duration) -> Vec<OwnFault> {
        let mut onsets: BTreeMap<Reason, Vec<Timestamp>> = BTreeMap::new();
        for checks in self.targets.values() {
            let mut of_target: BTreeMap<Reason, Timestamp> = BTreeMap::new();
            for seen in checks.values() {
                if let Some(reason) = seen.reason
                    && now.since(seen.onset) <= seen.round
                {
                    let first = of_target.entry(reason).or_insert(seen.onset);
                    *first = seen.onset.min(*first);
                }
            }
            for (reason, onset) in of_target {
                onsets.entry(reason).or_default().push(onset);
            }
        }
        onsets.retain(|_, all| all.len() >= min.max(1));
        if onsets.is_empty() {
            return Vec::new();
        }
        let mut heard: Vec<Timestamp> = self.targets.values().filter_map(last).collect();
        heard.sort_unstable();
        let since =
            |all: &[Timestamp], begin: Timestamp| all.len() - all.partition_point(|at| *at < begin);
        let faults = onsets.into_iter().filter_map(|(reason, mut all)| {
            all.sort_unstable();
            // The earliest begin that fits has the most of them.
            all.iter().find_map(|begin| {
                let (failing, of) = (since(&all, *begin), since(&heard, *begin));
                let enough = failing >= min.max(1) && failing * 2 >= of;
                (enough && now.since(*begin) >= wait).then_some(OwnFault {
                    reason,
                    since: *begin,
                    failing,
                    of,
                })
            })
        });
        faults.collect()
    }

    /// How many targets fail that way since about `since`, of how many that had a result since.
    #[must_use]
    pub fn share(&self, reason: Reason, since: Timestamp) -> (usize, usize) {
        let of = self.targets.values().filter(|checks| last(checks).is_some_and(|at| at >= since));
        let failing = self.targets.values().filter(|checks| {
            let fails = |seen: &Seen| seen.reason == Some(reason) && seen.onset >= since;
            checks.values().any(fails)
        });
        (failing.count(), of.count())
    }

    /// What became of a check after `moment`: of the target as a whole when the name is empty.
    #[must_use]
    pub fn after(&self, target: &str, check: &str, moment: Timestamp, now: Timestamp) -> After {
        let all = self.targets.get(target).into_iter().flatten();
        let of_check = all.filter(|(name, _)| check.is_empty() || *name == check);
        let mut found = After::Lost;
        for (_, seen) in of_check {
            let new = if seen.began >= moment {
                if seen.reason.is_some() { After::Failing } else { After::Well }
            } else if now.since(moment) <= seen.round * 2 {
                After::Open
            } else {
                After::Lost
            };
            found = match (found, new) {
                (After::Failing, _) | (_, After::Failing) => After::Failing,
                (After::Open, _) | (_, After::Open) => After::Open,
                (After::Well, _) | (_, After::Well) => After::Well,
                (After::Lost, After::Lost) => After::Lost,
            };
        }
        found
    }
}

fn last(checks: &BTreeMap<String, Seen>) -> Option<Timestamp> {
    checks.values().map(|seen| seen.at).max()
}

#[cfg(test)]
mod tests;
