//! The task of one managed target: everything that happens to it, one thing after the other.

mod calling;
mod stepping;

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use probehost_model::lifecycle::{Event, LifecycleRecord, wake_at};
use probehost_model::{Managed, Role, Timestamp, Trigger};
use probehost_monitor::Clock;
use probehost_monitor::ports::{CheckSeen, Landed};
use probehost_store::{StoreError, StoredTarget};
use tokio::sync::{mpsc, oneshot};
use tokio::time::{Instant, sleep_until, timeout};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tracing::{debug, info, warn};

use calling::{Call, outcome};
use stepping::{By, Failed};

use crate::error::AskError;
use crate::instance::{Ask, Board, Instance};
use crate::ports::{Probing, Records, Restarter};
use crate::sightings::Sightings;

/// How long to wait before something is tried again that the store could not take.
const STORE_PAUSE: Duration = Duration::from_secs(1);
/// The time of day can be set: no wait is longer without a look at it.
const LONGEST_SLEEP: Duration = Duration::from_secs(60);
/// How long a restart under way is waited for when the host stops.
pub(crate) const LAST_CALL: Duration = Duration::from_secs(10);

/// What a task is told.
#[derive(Debug)]
pub(crate) enum Message {
    /// The target is like this now; with its checks, for probes.
    Configure(Box<Configuration>),
    /// A result of one of its checks was recorded.
    Landed(Box<Landed>),
    /// Somebody asks for something.
    Ask(Ask, String, oneshot::Sender<Result<(), AskError>>),
}

/// A managed target as it is stored.
#[derive(Debug, Clone)]
pub(crate) struct Configuration {
    pub(crate) stored: StoredTarget,
    pub(crate) managed: Managed,
    pub(crate) checks: Vec<Arc<CheckSeen>>,
}

/// What all tasks share.
pub(crate) struct Shared<S, R, P> {
    pub(crate) records: S,
    pub(crate) restarter: R,
    pub(crate) probing: P,
    pub(crate) clock: Clock,
    pub(crate) chance: fn() -> f64,
    pub(crate) board: Board,
    /// Every task, of targets and of calls: a stop waits for them all.
    pub(crate) tasks: TaskTracker,
}

pub(crate) struct Actor<S, R, P> {
    shared: Arc<Shared<S, R, P>>,
    configuration: Configuration,
    record: LifecycleRecord,
    sightings: Sightings,
    /// The checks have shown something that the record has not taken in.
    looks: bool,
    /// What has happened and is not saved yet.
    pending: VecDeque<Event>,
    call: Option<Call>,
    /// Not before then: the store could not take the last step.
    retry_at: Option<Instant>,
    /// When time was last looked at. What is due every second counts from here, so that
    /// results that come more often don't put it off.
    looked_at: Timestamp,
    /// When it is looked at again at the latest, whatever the record says.
    look_by: Instant,
    /// Cancelled when the target is not managed any more, or by another runtime.
    gone: CancellationToken,
}

/// The target has no lifecycle any more.
struct Gone;

impl<S: Records, R: Restarter, P: Probing> Actor<S, R, P> {
    /// `record`: as it was left, by this host or another; none for a target that has just
    /// become managed.
    pub(crate) fn new(
        shared: Arc<Shared<S, R, P>>,
        configuration: Configuration,
        record: Option<LifecycleRecord>,
        gone: CancellationToken,
    ) -> Self {
        let now = shared.clock.now();
        let resumed = record.is_some();
        let record = record.map(|record| record.taken_up(now));
        let record = record.unwrap_or_else(|| unseen(now, &configuration));
        // One that is disabled is left alone, and taken up when it is enabled.
        let enabled = configuration.stored.target.enabled;
        let pending = (resumed && enabled).then_some(Event::Resumed).into_iter().collect();
        let mut actor = Self {
            shared,
            configuration,
            record,
            sightings: Sightings::default(),
            looks: true,
            pending,
            call: None,
            retry_at: None,
            looked_at: now,
            look_by: Instant::now() + LONGEST_SLEEP,
            gone,
        };
        actor.expect_checks();
        actor.publish();
        if !resumed {
            // What was found before doesn't count, and the next probe may be far.
            actor.probe();
        }
        actor
    }

    pub(crate) async fn run(
        mut self,
        mut mailbox: mpsc::UnboundedReceiver<Message>,
        stopping: CancellationToken,
    ) {
        let gone = self.gone.clone();
        loop {
            if self.work_off().await.is_err() {
                debug!(target = self.id(), "no lifecycle any more");
                self.shared.board.withdraw(self.id(), &self.gone);
                return;
            }
            let wake = self.wake();
            tokio::select! {
                biased;
                () = gone.cancelled() => return,
                () = stopping.cancelled() => break,
                outcome = outcome(&mut self.call) => self.called(outcome),
                message = mailbox.recv() => match message {
                    Some(message) => self.receive(message).await,
                    // As when it is gone.
                    None => return,
                },
                () = sleep_until(wake) => {
                    if self.retry_at.is_none_or(|at| at <= Instant::now()) {
                        self.tick();
                    }
                }
            }
        }
        self.wind_up().await;
    }

    /// A restart that is under way is waited for: its outcome is worth more than a quick stop.
    async fn wind_up(mut self) {
        if self.call.is_none() {
            return;
        }
        if let Ok(done) = timeout(LAST_CALL, outcome(&mut self.call)).await {
            // Nothing else: what the store could not take would issue a restart now.
            self.pending.clear();
            self.looks = false;
            self.called(done);
            self.retry_at = None;
            let _gone = self.work_off().await;
        }
    }

    fn tick(&mut self) {
        if self.pending.is_empty() {
            self.pending.push_back(Event::Tick);
        }
    }

    fn id(&self) -> &str {
        &self.configuration.stored.target.id
    }

    async fn receive(&mut self, message: Message) {
        match message {
            Message::Configure(configuration) => {
                let was_enabled = self.configuration.stored.target.enabled;
                self.configuration = *configuration;
                self.expect_checks();
                if self.configuration.stored.target.enabled && !was_enabled {
                    self.pending.push_back(Event::Resumed);
                }
                // The checks may have other roles, and the policy other times.
                self.looks = true;
                self.tick();
                self.publish();
            }
            Message::Landed(landed) => self.looks |= self.sightings.take(&landed),
            Message::Ask(ask, principal, answer) => {
                let done = self.asked(ask, principal).await;
                // Who asked may have gone; it stands all the same.
                let _ = answer.send(done);
            }
        }
    }

    fn expect_checks(&mut self) {
        let StoredTarget { target, records } = &self.configuration.stored;
        let checks = target.checks.iter().map(|check| (check, records.get(&check.name)));
        self.sightings.expect(checks);
    }

    async fn asked(&mut self, ask: Ask, principal: String) -> Result<(), AskError> {
        let id = self.id().to_owned();
        if !self.configuration.stored.target.enabled {
            return Err(AskError::Disabled(id));
        }
        info!(target = id, principal, ?ask, "asked for");
        let by = By { principal: principal.into(), trigger: Some(Trigger::Manual) };
        self.advance(&ask.into(), by).await.map_err(|failed| match failed {
            Failed::Refused(refused) => AskError::Refused(refused),
            Failed::Store(error) => AskError::Store(error),
            Failed::Gone => AskError::Gone(id),
        })
    }

    /// When to look again without news.
    fn wake(&self) -> Instant {
        if let Some(retry_at) = self.retry_at {
            return retry_at;
        }
        if !self.configuration.stored.target.enabled {
            return Instant::now() + LONGEST_SLEEP;
        }
        let now = self.shared.clock.now();
        wake_at(&self.record, &self.configuration.managed.policy, self.looked_at)
            .map_or(self.look_by, |at| (Instant::now() + at.since(now)).min(self.look_by))
    }

    /// Takes in what has happened, until nothing is left or the store can't take it.
    async fn work_off(&mut self) -> Result<(), Gone> {
        if self.retry_at.is_some_and(|at| at > Instant::now()) {
            return Ok(());
        }
        self.retry_at = None;
        loop {
            while let Some(event) = self.pending.front().cloned() {
                // Time does nothing to a disabled target.
                let timed = matches!(event, Event::Tick | Event::Resumed);
                if !timed || self.configuration.stored.target.enabled {
                    self.take_in(&event).await?;
                }
                if self.retry_at.is_some() {
                    return Ok(());
                }
                self.pending.pop_front();
            }
            if !self.looks || !self.configuration.stored.target.enabled {
                return Ok(());
            }
            for role in [Role::Liveness, Role::Readiness] {
                let Some(seen) = self.sightings.of(role) else { continue };
                let event = match role {
                    Role::Liveness => Event::Liveness(seen),
                    Role::Readiness => Event::Readiness(seen),
                };
                self.take_in(&event).await?;
                if self.retry_at.is_some() {
                    return Ok(());
                }
            }
            self.looks = false;
        }
    }

    async fn take_in(&mut self, event: &Event) -> Result<(), Gone> {
        if *event == Event::Tick {
            self.looked_at = self.shared.clock.now();
            self.look_by = Instant::now() + LONGEST_SLEEP;
        }
        match self.advance(event, By::HOST).await {
            Ok(()) => {}
            Err(Failed::Store(error)) => self.hold(&error),
            Err(Failed::Gone) => return Err(Gone),
            // Nothing but what people ask for is refused.
            Err(Failed::Refused(refused)) => debug!(target = self.id(), %refused, "refused"),
        }
        Ok(())
    }

    /// The store could not take a step: the record stays, and the step is tried again.
    fn hold(&mut self, error: &StoreError) {
        let text = error.to_string();
        warn!(target = self.id(), error = text, "its lifecycle is held as it was");
        self.retry_at = Some(Instant::now() + STORE_PAUSE);
    }

    fn probe(&self) {
        if self.configuration.stored.target.enabled {
            for check in &self.configuration.checks {
                self.shared.probing.probe(Arc::clone(check));
            }
        }
    }

    fn publish(&self) {
        let target = &self.configuration.stored.target;
        let instance = Instance {
            target: target.id.clone(),
            name: target.name.clone(),
            enabled: target.enabled,
            managed: self.configuration.managed.clone(),
            updated_at: target.updated_at,
            record: self.record.clone(),
        };
        self.shared.board.put(instance, &self.gone);
    }
}

/// The record of a target that has just become managed. A probe that is under way counts: no
/// other is started before its end.
fn unseen(now: Timestamp, configuration: &Configuration) -> LifecycleRecord {
    let checks = &configuration.stored.target.checks;
    let longest = checks.iter().map(|check| check.timeout).max().unwrap_or_default();
    LifecycleRecord { since: now, ..LifecycleRecord::new(now.minus(longest)) }
}
