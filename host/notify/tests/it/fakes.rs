//! A store that lies in memory, and a sink that does as it is told.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use probehost_model::notify::{
    DeliveryState, Notification, ProblemState, Rule, Selection, Settings, Sink, SinkKind, SinkText,
};
use probehost_model::{
    Change, ChangeEvent, Check, Reason, Role, Source, Status, Target, Thresholds, Timestamp,
};
use probehost_monitor::Clock;
use probehost_notify::ports::{Outbox, Outgoing, SendError, Wire};
use probehost_notify::{Metrics, Notifier, Options};
use probehost_store::{
    Delivery, Due, NotifyPlan, NotifyState, ProblemKey, ProblemRow, Settled, StoreError,
};
use serde_json::json;
use tokio::sync::watch;

/// The store; clones are the same, and outlive a notifier as a database outlives a host.
#[derive(Debug, Clone)]
pub(crate) struct Memory(Arc<Mutex<Inner>>, watch::Sender<()>);

#[derive(Debug, Default)]
pub(crate) struct Inner {
    events: Vec<ChangeEvent>,
    revision: i64,
    cursor: i64,
    problems: BTreeMap<ProblemKey, String>,
    pub(crate) deliveries: Vec<Delivery>,
    claims: BTreeMap<i64, (String, Timestamp)>,
    pub(crate) away: bool,
    pub(crate) shared: bool,
}

impl Memory {
    pub(crate) fn new() -> Self {
        Self(Arc::default(), watch::Sender::new(()))
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap()
    }

    fn reach(&self) -> Result<MutexGuard<'_, Inner>, StoreError> {
        let inner = self.lock();
        if inner.away { Err(StoreError::Closed) } else { Ok(inner) }
    }

    /// Commits a change of a target's one check.
    pub(crate) fn status(&self, target: &str, to: Status, at: Timestamp) {
        let failed = to == Status::Unhealthy;
        let change = Change::Status {
            check: "head".into(),
            from: if failed { Status::Healthy } else { Status::Unhealthy },
            to,
            reason: failed.then_some(Reason::Network),
            message: String::new(),
            streak: 2,
        };
        let mut inner = self.lock();
        let id = i64::try_from(inner.events.len()).unwrap() + 1;
        inner.events.push(ChangeEvent { id, at, target: target.into(), change });
        drop(inner);
        self.1.send_replace(());
    }

    pub(crate) fn cursor(&self) -> i64 {
        self.lock().cursor
    }

    pub(crate) fn in_state(&self, state: DeliveryState) -> usize {
        self.lock().deliveries.iter().filter(|each| each.state == state).count()
    }
}

impl Outbox for Memory {
    fn news(&self) -> watch::Receiver<()> {
        self.1.subscribe()
    }

    fn is_shared(&self) -> bool {
        self.lock().shared
    }

    async fn newest(&self) -> Result<i64, StoreError> {
        Ok(self.reach()?.events.last().map_or(0, |event| event.id))
    }

    async fn after(&self, id: i64, limit: u32) -> Result<Vec<ChangeEvent>, StoreError> {
        let inner = self.reach()?;
        let found = inner.events.iter().filter(|event| event.id > id);
        Ok(found.take(limit as usize).cloned().collect())
    }

    async fn target(&self, id: &str) -> Result<Option<Target>, StoreError> {
        let _reached = self.reach()?;
        Ok(Some(target(id)))
    }

    async fn state(&self) -> Result<NotifyState, StoreError> {
        let inner = self.reach()?;
        let rows = inner.problems.iter();
        let problems = rows.map(|(key, data)| ProblemRow { key: key.clone(), data: data.clone() });
        Ok(NotifyState {
            revision: inner.revision,
            cursor: inner.cursor,
            problems: problems.collect(),
        })
    }

    async fn plan(&self, plan: NotifyPlan) -> Result<bool, StoreError> {
        let mut inner = self.reach()?;
        if inner.revision != plan.revision {
            return Ok(false);
        }
        inner.revision += 1;
        inner.cursor = plan.cursor;
        plan.gone.iter().for_each(|key| drop(inner.problems.remove(key)));
        plan.put.into_iter().for_each(|row| drop(inner.problems.insert(row.key, row.data)));
        for new in plan.deliveries {
            let id = i64::try_from(inner.deliveries.len()).unwrap() + 1;
            inner.deliveries.push(Delivery {
                id,
                sink: new.key.sink,
                target: new.key.target,
                check: new.key.check,
                kind: new.kind,
                event: new.event,
                message: new.message,
                state: DeliveryState::Pending,
                attempts: 0,
                created_at: plan.at.unwrap(),
                first_attempt_at: None,
                next_attempt_at: plan.at.unwrap(),
                finished_at: None,
                last_error: String::new(),
            });
        }
        Ok(true)
    }

    async fn due(&self, sink: &str, now: Timestamp) -> Result<Due, StoreError> {
        let inner = self.reach()?;
        let mut seen = Vec::new();
        let mut next: Option<Timestamp> = None;
        for each in &inner.deliveries {
            let pending = each.state == DeliveryState::Pending && each.sink == sink;
            if !pending || seen.contains(&&each.target) {
                continue;
            }
            seen.push(&each.target);
            let claimed = inner.claims.get(&each.id).map(|(_, until)| *until);
            let at = claimed.unwrap_or(each.next_attempt_at).max(each.next_attempt_at);
            if at <= now {
                return Ok(Due::Now(Box::new(each.clone())));
            }
            next = Some(next.map_or(at, |next| next.min(at)));
        }
        Ok(next.map_or(Due::Nothing, Due::At))
    }

    async fn claim(
        &self,
        id: i64,
        host: &str,
        now: Timestamp,
        until: Timestamp,
    ) -> Result<bool, StoreError> {
        let mut inner = self.reach()?;
        if inner.claims.get(&id).is_some_and(|(_, until)| *until > now) {
            return Ok(false);
        }
        inner.claims.insert(id, (host.to_owned(), until));
        let each = inner.deliveries.iter_mut().find(|each| each.id == id).unwrap();
        each.attempts += 1;
        each.first_attempt_at.get_or_insert(now);
        Ok(true)
    }

    async fn settle(&self, id: i64, settled: Settled, now: Timestamp) -> Result<bool, StoreError> {
        let mut inner = self.reach()?;
        inner.claims.remove(&id);
        let each = inner.deliveries.iter_mut().find(|each| each.id == id).unwrap();
        let state = match settled {
            Settled::Delivered => DeliveryState::Delivered,
            Settled::Dead(error) => {
                each.last_error = error;
                DeliveryState::Dead
            }
            Settled::Later { at, error } => {
                (each.next_attempt_at, each.last_error) = (at, error);
                return Ok(true);
            }
        };
        (each.state, each.finished_at) = (state, Some(now));
        Ok(true)
    }

    async fn hasten(&self, sink: &str, now: Timestamp) -> Result<bool, StoreError> {
        for each in self.reach()?.deliveries.iter_mut().filter(|each| each.sink == sink) {
            each.next_attempt_at = each.next_attempt_at.min(now);
        }
        Ok(true)
    }

    async fn release(&self) -> Result<bool, StoreError> {
        self.reach()?.claims.clear();
        Ok(true)
    }

    async fn abandon(
        &self,
        sinks: Vec<String>,
        before: Timestamp,
        now: Timestamp,
    ) -> Result<bool, StoreError> {
        for each in &mut self.reach()?.deliveries {
            let pending = each.state == DeliveryState::Pending && each.created_at < before;
            if pending && !sinks.contains(&each.sink) {
                (each.state, each.finished_at) = (DeliveryState::Dead, Some(now));
            }
        }
        Ok(true)
    }

    async fn trim(&self, _before: Timestamp) -> Result<bool, StoreError> {
        Ok(true)
    }
}

pub(crate) fn target(id: &str) -> Target {
    Target {
        id: id.into(),
        name: id.into(),
        labels: BTreeMap::new(),
        enabled: true,
        source: Source::File,
        updated_at: Timestamp::from_micros(0),
        managed: None,
        checks: vec![Check {
            name: "head".into(),
            kind: "http-head".into(),
            role: Role::Liveness,
            config: json!({}),
            interval: None,
            timeout: Duration::from_secs(10),
            thresholds: Thresholds { failure: 2, inconclusive: 2 },
        }],
    }
}

/// What a sink does with a message.
#[derive(Debug, Clone)]
pub(crate) enum Does {
    Take,
    Fail(SendError),
    /// Takes it, but only after that time.
    Slowly(Duration),
}

/// A message that reached the sink: when, its id, and `target kind`.
type Came = (Timestamp, String, String);

/// A sink; clones are the same.
#[derive(Debug, Clone)]
pub(crate) struct FakeSink {
    does: Arc<Mutex<Does>>,
    next: Arc<Mutex<VecDeque<Does>>>,
    pub(crate) attempts: Arc<Mutex<Vec<Came>>>,
    pub(crate) taken: Arc<Mutex<Vec<Came>>>,
    clock: Clock,
}

impl FakeSink {
    pub(crate) fn new(clock: Clock) -> Self {
        Self {
            does: Arc::new(Mutex::new(Does::Take)),
            next: Arc::default(),
            attempts: Arc::default(),
            taken: Arc::default(),
            clock,
        }
    }

    /// From now on.
    pub(crate) fn does(&self, what: Does) {
        *self.does.lock().unwrap() = what;
    }

    /// Only with the next message.
    pub(crate) fn does_once(&self, what: Does) {
        self.next.lock().unwrap().push_back(what);
    }

    pub(crate) fn attempts(&self) -> Vec<Came> {
        self.attempts.lock().unwrap().clone()
    }

    /// `target kind` of each, in order.
    pub(crate) fn taken(&self) -> Vec<String> {
        self.taken.lock().unwrap().iter().map(|(.., what)| what.clone()).collect()
    }
}

impl Wire for FakeSink {
    async fn send(&self, _: &Sink, message: &Outgoing, _: Duration) -> Result<(), SendError> {
        let Notification { target, kind, .. } = &message.notification;
        let what = format!("{} {kind}", target.as_deref().unwrap_or("many"));
        let came = (self.clock.now(), message.id.clone(), what);
        self.attempts.lock().unwrap().push(came.clone());
        let does = self.next.lock().unwrap().pop_front();
        match does.unwrap_or_else(|| self.does.lock().unwrap().clone()) {
            Does::Take => {}
            Does::Fail(error) => return Err(error),
            Does::Slowly(time) => tokio::time::sleep(time).await,
        }
        self.taken.lock().unwrap().push(came);
        Ok(())
    }
}

/// One sink, `chat`, that is told everything.
pub(crate) fn settings() -> Settings {
    let sink = Sink {
        kind: SinkKind::Webhook,
        url: SinkText::Text("http://127.0.0.1:1/".into()),
        signing_key: None,
        rate: 10.0,
        from: String::new(),
        to: Vec::new(),
    };
    let rule = Rule {
        sinks: vec!["chat".into()],
        of: Selection::default(),
        kinds: Vec::new(),
        states: ProblemState::DEFAULT.to_vec(),
        repeat: None,
    };
    Settings { sinks: [("chat".to_owned(), sink)].into(), rules: vec![rule], ..Settings::default() }
}

/// A host's notifier.
pub(crate) fn notifier(
    store: &Memory,
    sink: &FakeSink,
    clock: Clock,
    host: &str,
) -> Notifier<Memory, FakeSink> {
    let options = Options { clock, metrics: Metrics::default(), host: host.into() };
    let notifier = Notifier::new(store.clone(), sink.clone(), settings(), options);
    drop(notifier.start());
    notifier
}

/// Lets the driven clock run on until it is so; fails when it is not within two days.
pub(crate) async fn until(what: &str, is_so: impl Fn() -> bool) {
    for _ in 0..1_728_000 {
        if is_so() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    panic!("not within two days: {what}");
}
