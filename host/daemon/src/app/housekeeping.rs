//! What is tidied up while the host runs.

use std::time::Duration;

use probehost_config::History;
use probehost_model::Timestamp;
use probehost_monitor::Clock;
use probehost_store::{Store, StoreError};
use tokio::time::{MissedTickBehavior, interval, sleep};
use tokio_util::sync::CancellationToken;
use tracing::{debug, warn};

use super::set_back::warn_of_this;

/// How often.
const EVERY: Duration = Duration::from_hours(1);
/// How long an event can be read by who resumes the stream.
const KEEP_EVENTS: Duration = Duration::from_hours(7 * 24);
/// Between two steps, so that the writer does other work meanwhile.
const PAUSE: Duration = Duration::from_millis(50);

/// How long the host remembers.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Keep {
    rollups: Duration,
    audit: Duration,
}

impl Keep {
    pub(crate) fn of(history: &History) -> Self {
        let days = |days: u32| Duration::from_hours(24 * u64::from(days));
        Self { rollups: days(history.keep_days), audit: days(history.keep_audit_days) }
    }
}

/// Tidies up at once and then every hour, until `stop`.
pub(crate) async fn tidy_up(store: Store, clock: Clock, keep: Keep, stop: CancellationToken) {
    let mut ticks = interval(EVERY);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            biased;
            () = stop.cancelled() => return,
            _ = ticks.tick() => {}
        }
        warn_of_this(clock);
        // By the system's clock: what was ahead for a moment must not drop what is young.
        let now = clock.now().minus(clock.set_back());
        if let Err(error) = store.tidy_sessions(now).await {
            debug!(%error, "sessions that are over stay for another hour");
        }
        if let Err(error) = store.trim_events(now.minus(KEEP_EVENTS)).await {
            debug!(%error, "old events stay for another hour");
        }
        tokio::select! {
            biased;
            () = stop.cancelled() => return,
            trimmed = trim(&store, now, keep) => match trimmed {
                Ok(()) => {}
                Err(error @ StoreError::AuditDamaged(_)) => {
                    warn!(%error, "old history stays");
                }
                Err(error) => debug!(%error, "old history stays for another hour"),
            },
        }
    }
}

/// Step by step, until nothing is left that is old. A step that was begun is done, whatever
/// becomes of this.
async fn trim(store: &Store, now: Timestamp, keep: Keep) -> Result<(), StoreError> {
    while store.trim_rollups(now.minus(keep.rollups)).await? {
        sleep(PAUSE).await;
    }
    while store.trim_history(now.minus(keep.audit)).await? {
        sleep(PAUSE).await;
    }
    Ok(())
}
