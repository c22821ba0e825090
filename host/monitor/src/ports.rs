//! What the monitor needs of others: a prober, a recorder, a list of checks.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use probehost_model::{CheckId, Outcome, Record, Thresholds, Timestamp};
use probehost_store::{Recorded, StoreError, TargetsVersion, Write};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::Evidence;

/// A check as it was seen before its probe began, with all that a probe of it needs.
#[derive(Debug, Clone, PartialEq)]
pub struct CheckSeen {
    /// Which check.
    pub id: CheckId,
    /// The name of its target, for people.
    pub target_name: String,
    /// The probe kind: the name of a plugin.
    pub kind: String,
    /// What the plugin reads, as JSON text.
    pub config: Arc<str>,
    /// The effective interval. None: scheduled probing is off (contract S6).
    pub interval: Option<Duration>,
    /// Deadline of one probe.
    pub timeout: Duration,
    /// When failures count as `unhealthy`.
    pub thresholds: Thresholds,
    /// The target's `updated_at`: the result only lands if it still is this (contract R2).
    pub seen_updated_at: Timestamp,
    /// Whether its target is managed: its layers are then told apart (contract A4).
    pub managed: bool,
    /// When the last probe of it ended.
    pub last_attempt_at: Option<Timestamp>,
}

/// Why there is no evidence from a probe.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NoEvidence {
    /// The kind's plugin is missing or failed to load (contract P9); what to do about it.
    NotImplemented(String),
    /// The probe was cancelled (contract P4); what it had met by then.
    Cancelled(String),
}

/// Runs one probe.
pub trait Prober: Send + Sync + 'static {
    /// How many probes of this kind may run at once. None: no limit of its own.
    fn concurrency(&self, kind: &str) -> Option<u32>;

    /// Probes `check` until `deadline`; ends at once when `cancel` is cancelled.
    /// A deadline that expires is evidence, a cancellation is not (contract P4).
    fn probe(
        &self,
        check: &CheckSeen,
        deadline: Instant,
        cancel: &CancellationToken,
    ) -> impl Future<Output = Result<Evidence, NoEvidence>> + Send;
}

impl<P: Prober> Prober for Arc<P> {
    fn concurrency(&self, kind: &str) -> Option<u32> {
        P::concurrency(self, kind)
    }

    fn probe(
        &self,
        check: &CheckSeen,
        deadline: Instant,
        cancel: &CancellationToken,
    ) -> impl Future<Output = Result<Evidence, NoEvidence>> + Send {
        P::probe(self, check, deadline, cancel)
    }
}

/// Keeps what a probe found.
pub trait Recorder: Send + Sync + 'static {
    /// Records one observation, or says why it did not land.
    fn record(&self, write: Write) -> impl Future<Output = Result<Recorded, StoreError>> + Send;
}

impl Recorder for probehost_store::Store {
    async fn record(&self, write: Write) -> Result<Recorded, StoreError> {
        Self::record(self, write).await
    }
}

/// A result that was recorded, for who follows the monitor.
#[derive(Debug, Clone, PartialEq)]
pub struct Landed {
    /// The check as it was seen before the probe.
    pub check: Arc<CheckSeen>,
    /// When the probe began.
    pub began: Timestamp,
    /// What it found.
    pub outcome: Outcome,
    /// The record that came of it.
    pub record: Record,
}

/// Follows what is recorded.
pub trait Follower: Send + Sync + 'static {
    /// Is told of each result once it is committed, by the task of its probe: must not wait.
    fn landed(&self, landed: Landed);
}

/// Lists the checks that are probed on schedule: those of targets that are enabled and not
/// deleted.
pub trait Listing: Send + Sync + 'static {
    /// Every such check, as it is now. None: nothing has changed since the list of `version`.
    fn checks(
        &self,
        version: Option<TargetsVersion>,
    ) -> impl Future<Output = Result<Option<Listed>, StoreError>> + Send;
}

/// A list of checks.
#[derive(Debug, Clone, PartialEq)]
pub struct Listed {
    /// Which state of the targets it shows, or an earlier one.
    pub version: TargetsVersion,
    /// The checks.
    pub checks: Vec<CheckSeen>,
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// The check `ping` of the target `target`, without a record.
    pub(crate) fn check(target: &str, interval: Duration) -> CheckSeen {
        CheckSeen {
            id: CheckId::new(target, "ping"),
            target_name: target.to_owned(),
            kind: "echo".to_owned(),
            config: "{}".into(),
            interval: Some(interval),
            timeout: Duration::from_secs(10),
            thresholds: Thresholds { failure: 2, inconclusive: 2 },
            seen_updated_at: Timestamp::from_micros(1),
            managed: false,
            last_attempt_at: None,
        }
    }
}
