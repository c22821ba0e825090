//! The checks that are probed on schedule, from the store.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};

use probehost_model::{Check, CheckId, Target, Timestamp};
use probehost_monitor::ports::{CheckSeen, Listing};
use probehost_store::{Store, StoreError};

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
}

impl Listing for StoreListing {
    async fn checks(&self) -> Result<Vec<CheckSeen>, StoreError> {
        let mut checks = Vec::new();
        for stored in self.store.targets().await? {
            if !stored.target.enabled {
                continue;
            }
            for check in &stored.target.checks {
                let record = stored.records.get(&check.name);
                let last_attempt_at = record.and_then(|record| record.last_attempt_at);
                checks.push(check_seen(&stored.target, check, last_attempt_at));
            }
        }
        self.known.set(&checks);
        Ok(checks)
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
        last_attempt_at,
    }
}
