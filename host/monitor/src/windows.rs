//! How fast and how often well each check was lately, and each layer of a managed target
//! (contract A4).

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use probehost_model::{CheckId, Layer, Outcome, Sample, Timestamp, Window, WindowSummary};

use crate::Evidence;
use crate::ports::CheckSeen;

/// Windows of the last hour for each check, in memory. Cheap to clone; every clone is the same.
#[derive(Debug, Clone, Default)]
pub struct Windows(Arc<Mutex<HashMap<CheckId, OfCheck>>>);

/// The whole, and the layers, where somebody wants to know.
#[derive(Debug, Clone, Default)]
struct OfCheck {
    whole: Window,
    layers: BTreeMap<Layer, Window>,
}

impl Windows {
    /// Takes in a probe that landed. What is inconclusive says nothing of the target. The
    /// layers of a managed target have windows of their own.
    pub(crate) fn push(
        &self,
        check: &CheckSeen,
        at: Timestamp,
        took: Duration,
        evidence: &Evidence,
    ) {
        let Evidence { outcome, measurements, layers, .. } = evidence;
        let failed = match outcome {
            Outcome::Pass => false,
            Outcome::Fail(_) => true,
            Outcome::Inconclusive { .. } => return,
        };
        let of_layers = if check.managed {
            Layer::samples(layers, at, took, outcome, measurements)
        } else {
            Vec::new()
        };
        let mut windows = self.lock();
        let of_check = match windows.get_mut(&check.id) {
            Some(of_check) => of_check,
            None => windows.entry(check.id.clone()).or_default(),
        };
        of_check.whole.push(Sample { at, took, failed });
        for (layer, sample) in of_layers {
            of_check.layers.entry(layer).or_default().push(sample);
        }
    }

    /// What the last hour before `now` holds of a check.
    #[must_use]
    pub fn summary(&self, check: &CheckId, now: Timestamp) -> WindowSummary {
        // Out of the lock before it is sorted: probes wait for it.
        let window = self.lock().get(check).map(|of_check| of_check.whole.clone());
        window.unwrap_or_default().summary(now)
    }

    /// Its newest probes in the last hour before `now`, `most` of them at most, oldest first.
    #[must_use]
    pub fn recent(&self, check: &CheckId, now: Timestamp, most: usize) -> Vec<Sample> {
        let windows = self.lock();
        let of_check = windows.get(check);
        of_check.map(|of_check| of_check.whole.recent(now, most).collect()).unwrap_or_default()
    }

    /// What it holds of the layers of a managed target's check, from the lowest up.
    #[must_use]
    pub fn layers(&self, check: &CheckId, now: Timestamp) -> Vec<(Layer, WindowSummary)> {
        let layers = self.lock().get(check).map(|of_check| of_check.layers.clone());
        let layers = layers.unwrap_or_default().into_iter();
        layers.map(|(layer, window)| (layer, window.summary(now))).collect()
    }

    /// Starts a check anew: it watches something else from now on (contract T7).
    pub fn forget(&self, check: &CheckId) {
        self.lock().remove(check);
    }

    /// Lets go of all other checks: they are not there any more.
    pub fn retain(&self, checks: &HashSet<CheckId>) {
        self.lock().retain(|check, _| checks.contains(check));
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<CheckId, OfCheck>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ports::tests::check;
    use probehost_model::Reason;

    const TOOK: Duration = Duration::from_millis(20);

    fn at(second: i64) -> Timestamp {
        Timestamp::from_micros(second * 1_000_000)
    }

    fn push(windows: &Windows, check: &CheckSeen, second: i64, outcome: Outcome) {
        let evidence = Evidence {
            outcome,
            subject: "web:443".into(),
            measurements: Vec::new(),
            layers: Layer::OF_ANSWERS,
            log: Vec::new(),
            calls: Vec::new(),
            denied: Vec::new(),
        };
        windows.push(check, at(second), TOOK, &evidence);
    }

    /// A4, T5: what is conclusive is counted, check by check, until it starts anew or is gone.
    #[test]
    fn each_check_has_its_window() {
        let windows = Windows::default();
        let [web, db] = ["web", "db"].map(|target| check(target, Duration::from_secs(60)));
        push(&windows, &web, 1, Outcome::Pass);
        push(&windows, &web, 2, Outcome::fail(Reason::Network, "refused"));
        push(&windows, &web, 3, Outcome::inconclusive("the engine is away"));
        push(&windows, &db, 3, Outcome::Pass);
        let web_now = windows.summary(&web.id, at(4));
        assert_eq!((web_now.count, web_now.failed, web_now.p50), (2, 1, Some(TOOK)));
        let ends: Vec<_> = windows.recent(&web.id, at(4), 9).iter().map(|run| run.at).collect();
        assert_eq!(ends, [at(1), at(2)]);
        assert_eq!(windows.layers(&web.id, at(4)), [], "nobody asked for them");
        assert_eq!(windows.summary(&web.id, at(3602)).count, 1);
        windows.forget(&web.id);
        assert_eq!(windows.summary(&web.id, at(4)).count, 0);
        assert_eq!(windows.summary(&db.id, at(4)).count, 1);
        windows.retain(&HashSet::from([web.id]));
        assert_eq!(windows.summary(&db.id, at(4)).count, 0);
    }

    /// A4: the layers of a managed target are told apart.
    #[test]
    fn a_managed_target_has_windows_for_its_layers() {
        let windows = Windows::default();
        let web = CheckSeen { managed: true, ..check("web", Duration::from_secs(60)) };
        push(&windows, &web, 1, Outcome::Pass);
        push(&windows, &web, 2, Outcome::fail(Reason::Network, "refused"));
        push(&windows, &web, 3, Outcome::fail(Reason::Answer, "tools are missing"));
        let layers = windows.layers(&web.id, at(4)).into_iter();
        let told: Vec<_> =
            layers.map(|(layer, window)| (layer, window.count, window.failed)).collect();
        assert_eq!(told, [(Layer::Transport, 3, 1), (Layer::Application, 2, 1)]);
        assert_eq!(windows.summary(&web.id, at(4)).failed, 2);
    }
}
