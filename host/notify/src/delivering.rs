//! The tasks that deliver: one for each sink, so that one that is slow or down holds up no other.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use probehost_model::Timestamp;
use probehost_model::lifecycle::{Policy, delay};
use probehost_model::notify::{Notification, Sink};
use probehost_store::{Delivery, Due, Settled};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, timeout};

use crate::inner::{Inner, SinkState};
use crate::metrics::Attempt;
use crate::ports::{Outbox, Outgoing, SendError, Wire};

/// How long one attempt may take.
pub const LIMIT: Duration = Duration::from_secs(10);
/// How long a host has a delivery to itself: longer than an attempt and its end take.
const CLAIM: Duration = Duration::from_secs(30);
/// How long an attempt that is under way may go on when the host stops.
const LAST_ATTEMPT: Duration = Duration::from_secs(2);
/// How often it is looked for what other hosts have planned, and whether a store that could not be
/// reached can.
const POLL: Duration = Duration::from_secs(2);
/// The longest that a sink can ask to be left alone.
const LONGEST_PAUSE: Duration = Duration::from_hours(1);
/// Messages that may be sent at once after a quiet time, whatever the rate is.
const BURST: f64 = 5.0;
/// Failures in a row after which a sink counts as one that was down.
const WAS_DOWN: u32 = 3;

/// How long a delivery waits for its next attempt, and a sink for its next delivery.
const MESSAGE: Duration = Duration::from_mins(5);
const SINK: Duration = Duration::from_mins(1);

fn backoff(failures: u32, cap: Duration) -> Duration {
    let policy = Policy {
        base: Duration::from_secs(1),
        cap,
        multiplier: 2.0,
        jitter: 0.5,
        ..Policy::default()
    };
    delay(failures.saturating_sub(1), &policy, fastrand::f64())
}

/// Keeps a task for each sink that is set, until the notifier stops.
pub(crate) async fn run<O: Outbox, W: Wire>(inner: Arc<Inner<O, W>>) {
    if !inner.outbox.is_shared() {
        // Whoever claimed something is gone.
        while let Err(error) = inner.outbox.release().await {
            tracing::debug!(%error, "nothing is delivered yet");
            tokio::select! {
                () = inner.stop.cancelled() => return,
                () = sleep(POLL) => {}
            }
        }
    }
    let mut settings = inner.settings.subscribe();
    // Dropped with this task, and those of the sinks with it.
    let mut tasks: JoinSet<String> = JoinSet::new();
    let mut running: HashSet<String> = HashSet::new();
    loop {
        let current = settings.borrow_and_update().clone();
        for name in current.sinks.keys() {
            if running.insert(name.clone()) {
                tasks.spawn(Courier::new(Arc::clone(&inner), name.clone()).run());
            }
        }
        tokio::select! {
            biased;
            () = inner.stop.cancelled() => break,
            Some(ended) = tasks.join_next() => match ended {
                // Its sink was taken out; it may be back already.
                Ok(name) => drop(running.remove(&name)),
                Err(error) => tracing::error!(%error, "the task of a sink ended by itself"),
            },
            _ = settings.changed() => {}
        }
    }
    while tasks.join_next().await.is_some() {}
}

/// Delivers to one sink.
struct Courier<O, W> {
    inner: Arc<Inner<O, W>>,
    name: String,
    /// As it was set when it was last tried.
    sink: Option<Sink>,
    /// Failures in a row.
    failures: u32,
    /// When it may be tried next.
    paused: Option<Timestamp>,
    tokens: f64,
    filled: Instant,
}

impl<O: Outbox, W: Wire> Courier<O, W> {
    fn new(inner: Arc<Inner<O, W>>, name: String) -> Self {
        inner.metrics.begin(&name);
        let filled = Instant::now();
        Self { inner, name, sink: None, failures: 0, paused: None, tokens: BURST, filled }
    }

    /// Until the notifier stops or there is no such sink any more. Gives the sink's name.
    async fn run(mut self) -> String {
        let mut settings = self.inner.settings.subscribe();
        let mut work = self.inner.work.subscribe();
        loop {
            settings.mark_unchanged();
            work.mark_unchanged();
            let wait = match self.step().await {
                Step::Again => Duration::ZERO,
                Step::Wait(wait) => wait,
                Step::Gone => break,
            };
            // What is new can't come before what has to wait.
            let must_wait = self.paused.is_some();
            tokio::select! {
                biased;
                () = self.inner.stop.cancelled() => break,
                _ = settings.changed() => {}
                _ = work.changed(), if !must_wait => {}
                () = sleep(wait) => {}
            }
        }
        self.inner.forget(&self.name);
        self.name
    }

    /// One attempt, or how long there is none to make.
    async fn step(&mut self) -> Step {
        let settings = self.inner.settings.borrow().clone();
        let Some(sink) = settings.sinks.get(&self.name) else { return Step::Gone };
        let now = self.inner.clock.now();
        if self.sink.as_ref() != Some(sink) {
            // What was wrong with it may be mended.
            (self.failures, self.paused) = (0, None);
            self.sink = Some(sink.clone());
        }
        if let Some(until) = self.paused.filter(|until| *until > now) {
            return Step::Wait(until.since(now));
        }
        self.paused = None;
        if let Some(wait) = self.lacks_token(sink.rate) {
            return Step::Wait(wait);
        }
        let most = if self.inner.outbox.is_shared() { POLL } else { Duration::from_hours(1) };
        let delivery = match self.inner.outbox.due(&self.name, now).await {
            Ok(Due::Now(delivery)) => delivery,
            Ok(Due::At(at)) => {
                return Step::Wait(at.since(now).clamp(Duration::from_millis(10), most));
            }
            Ok(Due::Nothing) => return Step::Wait(most),
            Err(error) => return self.store_is_away(&error),
        };
        let until = now.plus(CLAIM);
        match self.inner.outbox.claim(delivery.id, &self.inner.host, now, until).await {
            Ok(true) => {}
            // Another host has it.
            Ok(false) => return Step::Wait(Duration::from_millis(100)),
            Err(error) => return self.store_is_away(&error),
        }
        self.tokens -= 1.0;
        let sent = self.send(sink, &delivery, now).await;
        let settled = self.judge(sent, &delivery, settings.give_up);
        let now = self.inner.clock.now();
        match self.inner.outbox.settle(delivery.id, settled, now).await {
            Ok(_) => Step::Again,
            Err(error) => self.store_is_away(&error),
        }
    }

    async fn send(
        &self,
        sink: &Sink,
        delivery: &Delivery,
        now: Timestamp,
    ) -> Result<(), SendError> {
        let notification: Notification = serde_json::from_str(&delivery.message)
            .map_err(|error| SendError::Refused(format!("it can't be read: {error}")))?;
        let id = format!("{}-{}", delivery.created_at.as_micros(), delivery.id);
        let outgoing = Outgoing { id, notification, now };
        let attempt = timeout(LIMIT, self.inner.wire.send(sink, &outgoing, LIMIT));
        let late = || SendError::later(format!("no answer within {} s", LIMIT.as_secs()));
        let mut attempt = std::pin::pin!(attempt);
        tokio::select! {
            biased;
            sent = &mut attempt => sent.unwrap_or_else(|_| Err(late())),
            () = self.inner.stop.cancelled() => {
                match timeout(LAST_ATTEMPT, attempt).await {
                    Ok(sent) => sent.unwrap_or_else(|_| Err(late())),
                    Err(_) => Err(SendError::later("the host was stopped while it was sent")),
                }
            }
        }
    }

    /// What follows from an attempt, for the delivery and for the sink.
    fn judge(
        &mut self,
        sent: Result<(), SendError>,
        delivery: &Delivery,
        give_up: Duration,
    ) -> Settled {
        let now = self.inner.clock.now();
        let metrics = self.inner.metrics.clone();
        let (error, wish) = match sent {
            Ok(()) => {
                metrics.attempt(&self.name, Attempt::Delivered);
                metrics.delivered_after(&self.name, now.since(delivery.created_at));
                if self.failures > 0 {
                    tracing::info!(sink = self.name, "it takes notifications again");
                }
                if self.failures >= WAS_DOWN {
                    self.hasten();
                }
                self.failures = 0;
                self.inner.note(&self.name, SinkState::default());
                return Settled::Delivered;
            }
            Err(SendError::Refused(error)) => {
                metrics.attempt(&self.name, Attempt::Dead);
                tracing::warn!(
                    sink = self.name,
                    id = delivery.id,
                    error,
                    "a notification is refused"
                );
                self.failed(now, &error, None);
                self.failures = 0;
                return Settled::Dead(error);
            }
            Err(SendError::Later { error, after }) => (error, after),
        };
        let wish = wish.map(|wish| wish.min(LONGEST_PAUSE));
        let first = delivery.first_attempt_at.unwrap_or(now);
        self.failures = self.failures.saturating_add(1);
        let pause = backoff(self.failures, SINK).max(wish.unwrap_or_default());
        self.failed(now, &error, Some(now.plus(pause)));
        if now.since(first) >= give_up {
            metrics.attempt(&self.name, Attempt::Dead);
            tracing::warn!(sink = self.name, id = delivery.id, error, "a notification is given up");
            return Settled::Dead(error);
        }
        metrics.attempt(&self.name, Attempt::Retry);
        if self.failures == 1 {
            tracing::warn!(
                sink = self.name,
                error,
                "a notification was not taken; it is tried again"
            );
        }
        let attempts = delivery.attempts.saturating_add(1);
        let wait = backoff(attempts, MESSAGE).max(wish.unwrap_or_default());
        Settled::Later { at: now.plus(wait), error }
    }

    fn failed(&mut self, now: Timestamp, error: &str, paused: Option<Timestamp>) {
        self.paused = paused;
        let last_error = Some((now, error.to_owned()));
        let state = SinkState { failures: self.failures, last_error, paused_until: paused };
        self.inner.note(&self.name, state);
    }

    /// The sink was down and is back: what waits for its next attempt need not wait any longer.
    fn hasten(&self) {
        let (inner, name) = (Arc::clone(&self.inner), self.name.clone());
        self.inner.tasks.spawn(async move {
            let now = inner.clock.now();
            if let Err(error) = inner.outbox.hasten(&name, now).await {
                tracing::debug!(%error, "what waits goes on waiting");
            }
            inner.work.send_replace(());
        });
    }

    /// How long until a message may be sent at this rate; none: now.
    fn lacks_token(&mut self, rate: f64) -> Option<Duration> {
        let now = Instant::now();
        let gained = now.duration_since(self.filled).as_secs_f64() * rate;
        self.tokens = (self.tokens + gained).min(BURST);
        self.filled = now;
        let lack = 1.0 - self.tokens;
        // A hair less is as good: what is waited for is not exactly what has passed.
        (lack > 1e-6).then(|| Duration::try_from_secs_f64(lack / rate).unwrap_or(POLL))
    }

    fn store_is_away(&mut self, error: &probehost_store::StoreError) -> Step {
        tracing::debug!(sink = self.name, %error, "the outbox can't be reached");
        Step::Wait(POLL)
    }
}

/// What a courier does next.
enum Step {
    /// Look at once whether there is more.
    Again,
    /// Nothing for so long, unless something new is planned.
    Wait(Duration),
    /// There is no such sink any more.
    Gone,
}
