//! What the healer needs of others: what keeps records, what restarts, and what probes.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use probehost_model::Runtime;
use probehost_model::lifecycle::LifecycleRecord;
use probehost_monitor::Monitor;
use probehost_monitor::ports::{CheckSeen, Prober, Recorder};
use probehost_store::{LifecycleWrite, Store, StoreError};

/// Keeps lifecycle records.
pub trait Records: Send + Sync + 'static {
    /// Saves a record with its history, or says that it did not land; see
    /// [`Store::save_lifecycle`].
    fn save(&self, write: LifecycleWrite) -> impl Future<Output = Result<bool, StoreError>> + Send;

    /// The record of one target.
    fn one(
        &self,
        target: &str,
    ) -> impl Future<Output = Result<Option<LifecycleRecord>, StoreError>> + Send;

    /// Every record, with the id of its target.
    fn all(
        &self,
    ) -> impl Future<Output = Result<Vec<(String, LifecycleRecord)>, StoreError>> + Send;
}

impl Records for Store {
    async fn save(&self, write: LifecycleWrite) -> Result<bool, StoreError> {
        self.save_lifecycle(write).await
    }

    async fn one(&self, target: &str) -> Result<Option<LifecycleRecord>, StoreError> {
        self.lifecycle(target).await
    }

    async fn all(&self) -> Result<Vec<(String, LifecycleRecord)>, StoreError> {
        self.lifecycles().await
    }
}

/// Restarts targets (contract L9).
pub trait Restarter: Send + Sync + 'static {
    /// Restarts what `runtime` names, within `limit`; to drop the future gives up the call.
    /// The error is for people.
    fn restart(
        &self,
        runtime: &Runtime,
        limit: Duration,
    ) -> impl Future<Output = Result<(), String>> + Send;
}

impl<R: Restarter> Restarter for Arc<R> {
    fn restart(
        &self,
        runtime: &Runtime,
        limit: Duration,
    ) -> impl Future<Output = Result<(), String>> + Send {
        R::restart(self, runtime, limit)
    }
}

/// Probes checks before they are due.
pub trait Probing: Send + Sync + 'static {
    /// Starts a probe, unless the check is being probed. Does not wait for it.
    fn probe(&self, check: Arc<CheckSeen>);
}

impl<P: Prober, R: Recorder> Probing for Monitor<P, R> {
    fn probe(&self, check: Arc<CheckSeen>) {
        self.probe_off_cycle(check);
    }
}
