//! What is tidied up while the host runs.

use std::time::Duration;

use probehost_monitor::Clock;
use probehost_store::Store;
use tokio::time::{MissedTickBehavior, interval};
use tokio_util::sync::CancellationToken;
use tracing::debug;

/// How often.
const EVERY: Duration = Duration::from_hours(1);
/// How long an event can be read by who resumes the stream.
const KEEP_EVENTS: Duration = Duration::from_hours(7 * 24);

/// Tidies up at once and then every hour, until `stop`.
pub(crate) async fn tidy_up(store: Store, clock: Clock, stop: CancellationToken) {
    let mut ticks = interval(EVERY);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            biased;
            () = stop.cancelled() => return,
            _ = ticks.tick() => {}
        }
        if let Err(error) = store.tidy_sessions(clock.now()).await {
            debug!(%error, "sessions that are over stay for another hour");
        }
        if let Err(error) = store.trim_events(clock.now().minus(KEEP_EVENTS)).await {
            debug!(%error, "old events stay for another hour");
        }
    }
}
