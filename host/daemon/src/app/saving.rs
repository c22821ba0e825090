//! Makes the file's targets the stored ones, and tells the operator what was noticed.

use std::collections::HashMap;

use probehost_config::Resolved;
use probehost_model::{CheckId, Target};
use probehost_monitor::Clock;
use probehost_store::{SaveReport, Store, StoreError};
use tracing::{info, warn};

use super::kinds::clamp_text;
use super::{Kinds, SandboxProber};

/// Makes the file's targets the stored ones. Each check's subject comes from its plan, so that
/// a record that is reset already tells what will be probed (contract T7).
pub(crate) async fn save(
    store: &Store,
    prober: &SandboxProber,
    targets: Vec<Target>,
    clock: Clock,
    principal: &str,
) -> Result<SaveReport, StoreError> {
    let subjects = subjects(prober, &targets).await;
    let count = targets.len();
    let saved = store.sync_file_targets(targets, subjects, clock.now(), principal).await?;
    let (created, changed) = (saved.created.len(), saved.changed.len());
    info!(targets = count, created, changed, deleted = saved.deleted.len(), "targets of the file");
    Ok(saved)
}

/// What each check probes, by its plan.
pub(crate) async fn subjects(
    prober: &SandboxProber,
    targets: &[Target],
) -> HashMap<CheckId, String> {
    let mut subjects = HashMap::new();
    for target in targets {
        for check in &target.checks {
            let planned = prober.plan(&check.kind, &check.config.to_string().into()).await;
            let subject = planned.map(|planned| planned.subject().to_owned()).unwrap_or_default();
            subjects.insert(target.check_id(check), subject);
        }
    }
    subjects
}

/// What an operator should know of the config: intervals that were changed, once each
/// (contract S6), and kinds that are not installed (P9).
pub(crate) fn log_resolved(resolved: &Resolved, kinds: &Kinds) {
    for clamp in &resolved.clamps {
        warn!("{}", clamp_text(clamp));
    }
    for missing in &resolved.missing_kinds {
        let problem = kinds.problem(&missing.kind).unwrap_or_default();
        warn!(check = %missing.check, at = %missing.location, problem, "not probed");
    }
}
