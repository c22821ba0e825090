//! Targets to probe and to write records of.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Duration;

use probehost::check_seen;
use probehost_model::{Check, Role, Source, Target, Thresholds, Timestamp};
use probehost_monitor::ports::CheckSeen;
use probehost_store::{Location, Options, Store};
use tempfile::TempDir;

use crate::Failed;

pub(crate) const KIND: &str = "http-head";
pub(crate) const CHECK: &str = "head";
pub(crate) const THRESHOLDS: Thresholds = Thresholds { failure: 2, inconclusive: 2 };

/// How many targets there are, with one check each: more than are ever in flight.
pub(crate) const TARGETS: usize = 1_000;

/// The id of a target.
pub(crate) fn id(number: usize) -> String {
    format!("target-{number}")
}

/// A store in a file of its own, with [`TARGETS`] targets whose checks probe below `url`.
pub(crate) async fn store(url: &str) -> Result<(Store, TempDir), Failed> {
    let folder = tempfile::tempdir()?;
    let store = store_at(Location::file(folder.path().join("bench.db")), url).await?;
    Ok((store, folder))
}

/// The same in this database.
pub(crate) async fn store_at(location: Location, url: &str) -> Result<Store, Failed> {
    let store = Store::open(Options::at(location)).await?;
    let targets = (0..TARGETS).map(|number| target(number, url)).collect();
    store.sync_file_targets(targets, HashMap::new(), Timestamp::from_micros(0), "bench").await?;
    Ok(store)
}

/// Every check of the store, as the host sees it before it probes.
pub(crate) async fn checks(store: &Store) -> Result<Vec<Arc<CheckSeen>>, Failed> {
    let mut checks = Vec::new();
    for stored in store.targets().await? {
        for check in &stored.target.checks {
            checks.push(Arc::new(check_seen(&stored.target, check, None)));
        }
    }
    Ok(checks)
}

fn target(number: usize, url: &str) -> Target {
    Target {
        id: id(number),
        name: format!("Target {number}"),
        labels: BTreeMap::new(),
        enabled: true,
        source: Source::File,
        updated_at: Timestamp::from_micros(0),
        managed: None,
        checks: vec![Check {
            name: CHECK.to_owned(),
            kind: KIND.to_owned(),
            role: Role::Liveness,
            config: serde_json::json!({ "url": url, "path": format!("/health/{number}") }),
            interval: Some(Duration::from_secs(60)),
            timeout: Duration::from_secs(10),
            thresholds: THRESHOLDS,
        }],
    }
}
