//! Writes what the checks did to the store, once a minute, and merges finished hours into days
//! (contract A4).

use std::sync::Arc;
use std::time::Duration;

use probehost_monitor::{Clock, Rollups};
use probehost_store::{Store, StoreError};
use tokio::time::{MissedTickBehavior, interval, sleep};
use tokio_util::sync::CancellationToken;
use tracing::debug;

/// How often: what a crash may lose.
const EVERY: Duration = Duration::from_secs(60);
/// Between two steps of merging, so that the writer does other work meanwhile.
const PAUSE: Duration = Duration::from_millis(50);

/// Writes and merges until `stop`. What has grown after that, [`write_down`] writes.
pub(crate) async fn keep_rollups(
    rollups: Rollups,
    store: Store,
    clock: Clock,
    stop: CancellationToken,
) {
    let mut ticks = interval(EVERY);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            biased;
            () = stop.cancelled() => return,
            _ = ticks.tick() => {}
        }
        write_down(&rollups, &store).await;
        tokio::select! {
            biased;
            () = stop.cancelled() => return,
            // A step that was begun is done, whatever becomes of this.
            merged = merge(&store, clock) => if let Err(error) = merged {
                debug!(%error, "finished hours are merged a minute later");
            },
        }
    }
}

/// Writes what has grown since the last time.
pub(crate) async fn write_down(rollups: &Rollups, store: &Store) {
    let put = |writer: Arc<str>, hours| async move { store.put_rollups(&writer, hours).await };
    if let Err(error) = rollups.flush(put).await {
        debug!(%error, "the history of the checks is written a minute later");
    }
}

async fn merge(store: &Store, clock: Clock) -> Result<(), StoreError> {
    while store.compact_rollups(clock.now()).await? {
        sleep(PAUSE).await;
    }
    Ok(())
}
