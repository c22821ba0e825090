//! The handle that the rest of the host holds: follows results, takes up settings, starts and stops.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use probehost_model::notify::{Notification, NotificationKind, Settings, Sink};
use probehost_model::{Outcome, Timestamp};
use probehost_monitor::ports::{Follower, Landed};
use tokio::task::AbortHandle;
use tokio::time::timeout;

use crate::delivering::{self, LIMIT};
use crate::inner::{Inner, Options, SinkState};
use crate::planning;
use crate::ports::{Outbox, Outgoing, SendError, Wire};

/// Tells people what changes. Cheap to clone; every clone is the same.
#[derive(Debug)]
pub struct Notifier<O, W>(Arc<Inner<O, W>>);

impl<O, W> Clone for Notifier<O, W> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

/// How often what the detector knows of checks that are gone is dropped, in results.
const FORGET_EVERY: usize = 4096;

impl<O: Outbox, W: Wire> Notifier<O, W> {
    /// One that does nothing until it is started.
    #[must_use]
    pub fn new(outbox: O, wire: W, settings: Settings, options: Options) -> Self {
        Self(Arc::new(Inner::new(outbox, wire, settings, options)))
    }

    /// Starts the tasks that plan and deliver. Dropping what this gives does nothing; to abort it
    /// is what a crash does.
    pub fn start(&self) -> [AbortHandle; 2] {
        let planning = self.0.tasks.spawn(planning::run(Arc::clone(&self.0)));
        let delivering = self.0.tasks.spawn(delivering::run(Arc::clone(&self.0)));
        self.0.tasks.close();
        [planning.abort_handle(), delivering.abort_handle()]
    }

    /// Goes on by these settings.
    pub fn set(&self, settings: Settings) {
        self.0.settings.send_if_modified(|current| {
            let changed = **current != settings;
            if changed {
                *current = Arc::new(settings);
            }
            changed
        });
    }

    /// What it goes by.
    #[must_use]
    pub fn settings(&self) -> Arc<Settings> {
        self.0.settings.borrow().clone()
    }

    /// How the deliveries to each sink go.
    #[must_use]
    pub fn states(&self) -> BTreeMap<String, SinkState> {
        self.0.states().iter().map(|(name, state)| (name.clone(), state.clone())).collect()
    }

    /// Something may be due that was not planned by this notifier.
    pub fn look_again(&self) {
        self.0.work.send_replace(());
    }

    /// Sends a message to a sink that says that it is a try, at once and past the outbox.
    ///
    /// # Errors
    /// What the sink said, or why it could not be reached.
    pub async fn test(&self, sink: &Sink) -> Result<(), SendError> {
        let message = trial(self.0.clock.now());
        let sent = timeout(LIMIT, self.0.wire.send(sink, &message, LIMIT)).await;
        sent.unwrap_or_else(|_| {
            Err(SendError::later(format!("no answer within {} s", LIMIT.as_secs())))
        })
    }

    /// Ends the tasks. What is being sent has a moment to come to its end; what is not delivered
    /// then waits for the next start.
    pub async fn stop(&self) {
        self.0.stop.cancel();
        self.0.tasks.wait().await;
    }
}

/// A message that says that it is a try.
#[must_use]
pub fn trial(now: Timestamp) -> Outgoing {
    let notification = Notification {
        kind: NotificationKind::Test,
        at: now,
        target: None,
        name: "probehost".to_owned(),
        labels: BTreeMap::new(),
        check: None,
        from: "healthy".to_owned(),
        to: "healthy".to_owned(),
        reason: None,
        message: "this is a test: notifications of this host arrive here".to_owned(),
        since: now,
    };
    let id = format!("test-{}-{:08x}", now.as_micros(), fastrand::u32(..));
    Outgoing { id, notification, now }
}

impl<O: Outbox, W: Wire> Follower for Notifier<O, W> {
    fn landed(&self, landed: Landed) {
        let Landed { check, began, outcome, record } = landed;
        let reason = match outcome {
            Outcome::Pass => None,
            Outcome::Fail(failure) => Some(failure.reason),
            Outcome::Inconclusive { .. } => return,
        };
        let at = record.checked_at.unwrap_or(began);
        let interval = check.interval.unwrap_or(Duration::from_mins(1));
        let mut detector = self.0.detector();
        detector.saw(&check.id, reason, (began, at), interval + check.timeout);
        if detector.results().is_multiple_of(FORGET_EVERY) {
            detector.forget_old(at);
        }
    }
}
