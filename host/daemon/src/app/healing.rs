//! How the host heals managed targets (contract L9): what restarts them, and what it is told.

use std::time::Duration;

use probehost_capability::runtime::Runtimes;
use probehost_healer::Healer;
use probehost_healer::ports::{Probing, Restarter};
use probehost_model::Runtime;
use probehost_monitor::ports::CheckSeen;
use probehost_store::{Store, StoreError, StoredTarget};

use super::listing::check_seen;

/// Restarts by the container engine and the operator's commands.
#[derive(Debug)]
pub(crate) struct Restarts(pub(crate) Runtimes);

impl Restarter for Restarts {
    async fn restart(&self, runtime: &Runtime, limit: Duration) -> Result<(), String> {
        self.0.restart(runtime, limit).await.map_err(|error| error.to_string())
    }
}

/// Has the healer take up the targets as they are stored now.
pub(crate) async fn take_up<P: Probing>(
    healer: &Healer<Store, Restarts, P>,
    targets: Vec<StoredTarget>,
) -> Result<(), StoreError> {
    healer.sync(targets, checks_seen).await
}

fn checks_seen(stored: &StoredTarget) -> Vec<CheckSeen> {
    let StoredTarget { target, records } = stored;
    let last = |name: &str| records.get(name).and_then(|record| record.last_attempt_at);
    target.checks.iter().map(|check| check_seen(target, check, last(&check.name))).collect()
}
