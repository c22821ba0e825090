//! What the tasks of a notifier share.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use probehost_model::Timestamp;
use probehost_model::notify::Settings;
use probehost_monitor::Clock;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::detector::Detector;
use crate::metrics::Metrics;

/// How a notifier is set up.
#[derive(Debug, Clone)]
pub struct Options {
    /// Where the time of day comes from.
    pub clock: Clock,
    /// What is counted.
    pub metrics: Metrics,
    /// Tells this host from others that have the same outbox.
    pub host: String,
}

/// How the deliveries to a sink go, since this host runs.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SinkState {
    /// Failures in a row.
    pub failures: u32,
    /// What went wrong last, and when. None: nothing since it last took a message.
    pub last_error: Option<(Timestamp, String)>,
    /// Until when it is left alone.
    pub paused_until: Option<Timestamp>,
}

#[derive(Debug)]
pub(crate) struct Inner<O, W> {
    pub(crate) outbox: O,
    pub(crate) wire: W,
    pub(crate) clock: Clock,
    pub(crate) metrics: Metrics,
    pub(crate) host: String,
    pub(crate) settings: watch::Sender<Arc<Settings>>,
    /// After each plan that brings deliveries, and each replay.
    pub(crate) work: watch::Sender<()>,
    detector: Mutex<Detector>,
    states: Mutex<HashMap<String, SinkState>>,
    pub(crate) stop: CancellationToken,
    pub(crate) tasks: TaskTracker,
}

impl<O, W> Inner<O, W> {
    pub(crate) fn new(outbox: O, wire: W, settings: Settings, options: Options) -> Self {
        let Options { clock, metrics, host } = options;
        Self {
            outbox,
            wire,
            clock,
            metrics,
            host,
            settings: watch::Sender::new(Arc::new(settings)),
            work: watch::Sender::new(()),
            detector: Mutex::default(),
            states: Mutex::default(),
            stop: CancellationToken::new(),
            tasks: TaskTracker::new(),
        }
    }

    pub(crate) fn detector(&self) -> MutexGuard<'_, Detector> {
        self.detector.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn states(&self) -> MutexGuard<'_, HashMap<String, SinkState>> {
        self.states.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn note(&self, sink: &str, state: SinkState) {
        self.states().insert(sink.to_owned(), state);
    }

    pub(crate) fn forget(&self, sink: &str) {
        self.states().remove(sink);
    }
}
