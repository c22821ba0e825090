//! The checks that are probed on schedule, from the store.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, PoisonError, RwLock};

use probehost_model::{Check, CheckId, Target, Timestamp};
use probehost_monitor::ports::{CheckSeen, Listed, Listing};
use probehost_monitor::{Clock, Rollups, Windows};
use probehost_store::{Store, StoreError, TargetsVersion};

use super::set_back::warn_of_others;

/// The checks as they were last listed, for when the store can't be reached.
#[derive(Debug, Clone, Default)]
pub(crate) struct Known(Arc<RwLock<HashMap<CheckId, Arc<CheckSeen>>>>);

impl Known {
    /// The check, when it was there at the last look.
    pub(crate) fn get(&self, target: &str, check: &str) -> Option<Arc<CheckSeen>> {
        let known = self.0.read().unwrap_or_else(PoisonError::into_inner);
        known.get(&CheckId::new(target, check)).map(Arc::clone)
    }

    fn set(&self, checks: &[CheckSeen]) {
        let fresh = checks.iter().map(|check| (check.id.clone(), Arc::new(check.clone())));
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = fresh.collect();
    }
}

/// Lists the checks of the store.
#[derive(Debug, Clone)]
pub(crate) struct StoreListing {
    pub(crate) store: Store,
    pub(crate) known: Known,
    pub(crate) windows: Windows,
    pub(crate) rollups: Rollups,
    pub(crate) clock: Clock,
}

impl Listing for StoreListing {
    async fn checks(&self, version: Option<TargetsVersion>) -> Result<Option<Listed>, StoreError> {
        warn_of_others(&self.store, self.clock).await?;
        // Before the targets: what is saved after this look is news the next time.
        let now = self.store.targets_version().await?;
        if version == Some(now) {
            return Ok(None);
        }
        let mut checks = Vec::new();
        let mut all = HashSet::new();
        for stored in self.store.targets().await? {
            all.extend(stored.target.checks.iter().map(|check| stored.target.check_id(check)));
            if !stored.target.enabled {
                continue;
            }
            for check in &stored.target.checks {
                let record = stored.records.get(&check.name);
                let last_attempt_at = record.and_then(|record| record.last_attempt_at);
                checks.push(check_seen(&stored.target, check, last_attempt_at));
            }
        }
        self.windows.retain(&all);
        self.rollups.retain(&all);
        self.known.set(&checks);
        Ok(Some(Listed { version: now, checks }))
    }
}

/// A check of a target, with all that a probe of it needs.
#[must_use]
pub fn check_seen(target: &Target, check: &Check, last_attempt_at: Option<Timestamp>) -> CheckSeen {
    CheckSeen {
        id: target.check_id(check),
        target_name: target.name.clone(),
        kind: check.kind.clone(),
        config: check.config.to_string().into(),
        interval: check.interval,
        timeout: check.timeout,
        thresholds: check.thresholds,
        seen_updated_at: target.updated_at,
        managed: target.managed.is_some(),
        last_attempt_at,
    }
}
