//! How fast and how often well each check was lately (contract A4).

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use probehost_model::{CheckId, Outcome, Sample, Timestamp, Window, WindowSummary};

/// A window of the last hour for each check, in memory. Cheap to clone; every clone is the same.
#[derive(Debug, Clone, Default)]
pub struct Windows(Arc<Mutex<HashMap<CheckId, Window>>>);

impl Windows {
    /// Takes in a probe that landed. What is inconclusive says nothing of the target.
    pub(crate) fn push(&self, check: &CheckId, at: Timestamp, took: Duration, outcome: &Outcome) {
        let failed = match outcome {
            Outcome::Pass => false,
            Outcome::Fail(_) => true,
            Outcome::Inconclusive { .. } => return,
        };
        let sample = Sample { at, took, failed };
        let mut windows = self.lock();
        match windows.get_mut(check) {
            Some(window) => window.push(sample),
            None => windows.entry(check.clone()).or_default().push(sample),
        }
    }

    /// What the last hour before `now` holds of a check.
    #[must_use]
    pub fn summary(&self, check: &CheckId, now: Timestamp) -> WindowSummary {
        // Out of the lock before it is sorted: probes wait for it.
        let window = self.lock().get(check).cloned().unwrap_or_default();
        window.summary(now)
    }

    /// Starts a check anew: it watches something else from now on (contract T7).
    pub fn forget(&self, check: &CheckId) {
        self.lock().remove(check);
    }

    /// Lets go of all other checks: they are not there any more.
    pub fn retain(&self, checks: &HashSet<CheckId>) {
        self.lock().retain(|check, _| checks.contains(check));
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<CheckId, Window>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use probehost_model::Reason;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_micros(second * 1_000_000)
    }

    /// A4, T5: what is conclusive is counted, check by check, until it starts anew or is gone.
    #[test]
    fn each_check_has_its_window() {
        let windows = Windows::default();
        let [web, db] = ["web", "db"].map(|target| CheckId::new(target, "head"));
        let took = Duration::from_millis(20);
        windows.push(&web, at(1), took, &Outcome::Pass);
        windows.push(&web, at(2), took, &Outcome::fail(Reason::Network, "refused"));
        windows.push(&web, at(3), took, &Outcome::inconclusive("the engine is away"));
        windows.push(&db, at(3), took, &Outcome::Pass);
        let web_now = windows.summary(&web, at(4));
        assert_eq!((web_now.count, web_now.failed, web_now.p50), (2, 1, Some(took)));
        assert_eq!(windows.summary(&web, at(3602)).count, 1);
        windows.forget(&web);
        assert_eq!(windows.summary(&web, at(4)).count, 0);
        assert_eq!(windows.summary(&db, at(4)).count, 1);
        windows.retain(&HashSet::from([web]));
        assert_eq!(windows.summary(&db, at(4)).count, 0);
    }
}
