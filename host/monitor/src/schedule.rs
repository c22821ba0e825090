//! When probes run: one task that keeps the timetable and asks the monitor.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{Mutex, Notify};
use tokio::task::JoinHandle;
use tokio::time::{Instant, MissedTickBehavior, interval_at, sleep_until};
use tokio_util::sync::CancellationToken;
use tracing::{debug, info, warn};

use crate::ports::{Listing, Prober, Recorder};
use crate::timetable::{Moment, Timetable};
use crate::{Launch, Monitor};

/// How often it is looked whether the list of checks has changed, besides after each save: other
/// processes can change it too.
pub const REFRESH: Duration = Duration::from_secs(30);

/// Starts scheduled probes when they are due.
pub struct Schedule<P, R, L> {
    shared: Arc<Shared<P, R, L>>,
    running: Mutex<Option<Running>>,
}

struct Shared<P, R, L> {
    monitor: Monitor<P, R>,
    listing: L,
    changed: Notify,
}

struct Running {
    stop: CancellationToken,
    task: JoinHandle<()>,
}

impl<P: Prober, R: Recorder, L: Listing> Schedule<P, R, L> {
    /// A schedule that is not started.
    #[must_use]
    pub fn new(monitor: Monitor<P, R>, listing: L) -> Self {
        let shared = Arc::new(Shared { monitor, listing, changed: Notify::new() });
        Self { shared, running: Mutex::default() }
    }

    /// Begins to dispatch. Does nothing when it has begun already (contract S8).
    pub async fn start(&self) {
        let mut running = self.running.lock().await;
        if running.is_none() {
            let stop = CancellationToken::new();
            let task = tokio::spawn(run(Arc::clone(&self.shared), stop.clone()));
            *running = Some(Running { stop, task });
        }
    }

    /// Ends the dispatch and waits until its task is gone. The probes in flight are the
    /// monitor's. Does nothing when it is not running (contract S8).
    pub async fn stop(&self) {
        let mut running = self.running.lock().await;
        if let Some(Running { stop, task }) = running.take() {
            stop.cancel();
            if let Err(failed) = task.await {
                warn!(%failed, "the schedule ended badly");
            }
        }
    }

    /// Reads the list of checks anew, soon: it was changed.
    pub fn changed(&self) {
        self.shared.changed.notify_one();
    }
}

async fn run<P: Prober, R: Recorder, L: Listing>(
    shared: Arc<Shared<P, R, L>>,
    stop: CancellationToken,
) {
    let mut table = Timetable::default();
    let mut refresh = interval_at(Instant::now() + REFRESH, REFRESH);
    refresh.set_missed_tick_behavior(MissedTickBehavior::Delay);
    // A list that is being read. Dispatch goes on meanwhile: a slow store delays no probe.
    let mut reading = Some(Box::pin(shared.listing.checks(None)));
    let mut again = false;
    let mut version = None;
    loop {
        let due = table.next();
        tokio::select! {
            biased;
            () = stop.cancelled() => return,
            list = async { match reading.as_mut() { Some(list) => list.await, None => std::future::pending().await } } => {
                if let Ok(Some(listed)) = &list {
                    version = Some(listed.version);
                }
                reading = again.then(|| Box::pin(shared.listing.checks(version)));
                again = false;
                match list {
                    Ok(None) => {}
                    Ok(Some(listed)) => {
                        let before = table.len();
                        table.replace(listed.checks, moment(&shared.monitor));
                        if before != table.len() {
                            info!(checks = table.len(), "checks on schedule");
                        }
                    }
                    // Contract S9.
                    Err(error) => warn!(%error, "the checks could not be listed; going on with the list as it was"),
                }
            }
            () = async { match due { Some(due) => sleep_until(due).await, None => std::future::pending().await } } => {
                dispatch(&shared.monitor, &mut table);
            }
            () = shared.changed.notified() => {
                // A list that is being read now may have been read before the change.
                again = reading.is_some();
                reading = reading.or_else(|| Some(Box::pin(shared.listing.checks(version))));
            }
            _ = refresh.tick() => {
                reading = reading.or_else(|| Some(Box::pin(shared.listing.checks(version))));
            }
        }
    }
}

fn dispatch<P: Prober, R: Recorder>(monitor: &Monitor<P, R>, table: &mut Timetable) {
    let now = moment(monitor);
    while let Some((due, check)) = table.take_due(now) {
        if monitor.launch(check, due) == Launch::Stopping {
            debug!("the monitor is stopping: nothing is dispatched");
        }
    }
}

fn moment<P: Prober, R: Recorder>(monitor: &Monitor<P, R>) -> Moment {
    Moment { time: monitor.clock().now(), instant: Instant::now() }
}
