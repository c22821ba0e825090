//! A prober and a store that play a part, and a log that can be read.

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, Once};
use std::time::Duration;

use probehost_model::{
    CheckId, Outcome, Reason, Record, Refusal, Status, Thresholds, Timestamp, Trigger, advance,
};
use probehost_monitor::ports::{CheckSeen, Listed, Listing, NoEvidence, Prober, Recorder};
use probehost_monitor::{Clock, Evidence, Metrics, Monitor, Settings};
use probehost_store::{Recorded, StoreError, TargetsVersion, Write};
use tokio::time::{Instant, sleep, sleep_until};
use tokio_util::sync::CancellationToken;

/// 2025-11-29, somewhere in the evening.
pub const BASE: Timestamp = Timestamp::from_micros(1_764_456_769_000_000);
pub const SECOND: Duration = Duration::from_secs(1);

/// What a probe does, by the name of its target.
#[derive(Debug, Clone)]
pub enum Part {
    /// Answers after some time.
    Answer(Duration, Outcome),
    /// Waits for a target that says nothing.
    Silent,
}

pub fn pass() -> Part {
    Part::Answer(Duration::ZERO, Outcome::Pass)
}

pub fn fails(reason: Reason) -> Part {
    Part::Answer(Duration::ZERO, Outcome::fail(reason, "db:5432: no"))
}

/// Plays the parts, and keeps when each probe began.
#[derive(Clone, Default)]
pub struct Stage(Arc<Mutex<Acts>>);

#[derive(Default)]
struct Acts {
    parts: HashMap<String, Part>,
    limits: HashMap<String, u32>,
    began: Vec<(String, Duration)>,
    running: usize,
    most: usize,
    start: Option<Instant>,
}

impl Stage {
    pub fn plays(&self, target: &str, part: Part) {
        self.0.lock().unwrap().parts.insert(target.to_owned(), part);
    }

    pub fn limits(&self, kind: &str, limit: u32) {
        self.0.lock().unwrap().limits.insert(kind.to_owned(), limit);
    }

    /// The targets in the order in which their probes began.
    pub fn began(&self) -> Vec<String> {
        self.0.lock().unwrap().began.iter().map(|(target, _)| target.clone()).collect()
    }

    /// When probes of `target` began, from the first probe of all.
    pub fn times(&self, target: &str) -> Vec<Duration> {
        let acts = self.0.lock().unwrap();
        acts.began.iter().filter(|(name, _)| name == target).map(|(_, at)| *at).collect()
    }

    /// Most probes that ran at the same time.
    pub fn most(&self) -> usize {
        self.0.lock().unwrap().most
    }

    pub fn running(&self) -> usize {
        self.0.lock().unwrap().running
    }
}

/// Counts a probe as running until it is dropped, finished or cancelled.
struct Running(Stage);

impl Drop for Running {
    fn drop(&mut self) {
        self.0.0.lock().unwrap().running -= 1;
    }
}

impl Prober for Stage {
    fn concurrency(&self, kind: &str) -> Option<u32> {
        self.0.lock().unwrap().limits.get(kind).copied()
    }

    async fn probe(
        &self,
        check: &CheckSeen,
        deadline: Instant,
        cancel: &CancellationToken,
    ) -> Result<Evidence, NoEvidence> {
        let part = {
            let mut acts = self.0.lock().unwrap();
            let start = *acts.start.get_or_insert_with(Instant::now);
            acts.began.push((check.id.target.clone(), start.elapsed()));
            acts.running += 1;
            acts.most = acts.most.max(acts.running);
            acts.parts.get(&check.id.target).cloned()
        };
        let _running = Running(self.clone());
        let Some(part) = part else {
            return Err(NoEvidence::NotImplemented(format!("install {}.wasm", check.kind)));
        };
        let outcome = async {
            match part {
                Part::Answer(after, outcome) => {
                    sleep(after).await;
                    outcome
                }
                Part::Silent => std::future::pending().await,
            }
        };
        let outcome = tokio::select! {
            biased;
            () = cancel.cancelled() => {
                return Err(NoEvidence::Cancelled("connected to db:5432".to_owned()));
            }
            outcome = outcome => outcome,
            () = sleep_until(deadline) => Outcome::fail(Reason::Timeout, "db:5432: silent"),
        };
        Ok(Evidence {
            outcome,
            subject: "db:5432".to_owned(),
            measurements: Vec::new(),
            layers: &[],
            log: Vec::new(),
            calls: Vec::new(),
            denied: Vec::new(),
        })
    }
}

/// A store in memory that follows the rule of the model, and can be out of reach.
#[derive(Clone, Default)]
pub struct Shelf(Arc<Mutex<Books>>);

#[derive(Default)]
struct Books {
    records: HashMap<CheckId, Record>,
    updated_at: HashMap<String, Timestamp>,
    writes: Vec<Write>,
    audited: Vec<(Trigger, String, Status, Status)>,
    listed: Vec<CheckSeen>,
    down: bool,
    slow: Option<Duration>,
    slow_list: Option<Duration>,
    unchanged: bool,
}

impl Shelf {
    pub fn set_down(&self, down: bool) {
        self.0.lock().unwrap().down = down;
    }

    pub fn set_slow(&self, slow: Duration) {
        self.0.lock().unwrap().slow = Some(slow);
    }

    /// From now on nothing has changed, whoever asks.
    pub fn set_unchanged(&self) {
        self.0.lock().unwrap().unchanged = true;
    }

    pub fn set_slow_list(&self, slow: Duration) {
        self.0.lock().unwrap().slow_list = Some(slow);
    }

    pub fn save(&self, target: &str, updated_at: Timestamp) {
        self.0.lock().unwrap().updated_at.insert(target.to_owned(), updated_at);
    }

    pub fn list(&self, checks: Vec<CheckSeen>) {
        self.0.lock().unwrap().listed = checks;
    }

    pub fn record_of(&self, target: &str) -> Option<Record> {
        self.0.lock().unwrap().records.get(&CheckId::new(target, "ping")).cloned()
    }

    pub fn writes(&self) -> Vec<Write> {
        self.0.lock().unwrap().writes.clone()
    }

    pub fn audited(&self) -> Vec<(Trigger, String, Status, Status)> {
        self.0.lock().unwrap().audited.clone()
    }
}

pub fn out_of_reach() -> StoreError {
    StoreError::Disk { database: "probehost.db".to_owned(), detail: "disk I/O error".to_owned() }
}

impl Recorder for Shelf {
    async fn record(&self, write: Write) -> Result<Recorded, StoreError> {
        let slow = self.0.lock().unwrap().slow;
        if let Some(slow) = slow {
            sleep(slow).await;
        }
        let mut books = self.0.lock().unwrap();
        books.writes.push(write.clone());
        if books.down {
            return Err(out_of_reach());
        }
        let saved = books.updated_at.get(&write.check.target);
        if saved.is_some_and(|saved| *saved != write.seen_updated_at) {
            return Ok(Recorded::Refused(Refusal::Changed));
        }
        let prior = books.records.get(&write.check).cloned();
        let record = match advance(prior.as_ref(), &write.observation, write.thresholds) {
            Ok(record) => record,
            Err(refusal) => return Ok(Recorded::Refused(refusal)),
        };
        let from = prior.as_ref().map(|prior| prior.status).unwrap_or_default();
        if from != record.status || write.trigger == Trigger::Manual {
            let principal = write.principal.to_string();
            books.audited.push((write.trigger, principal, from, record.status));
        }
        books.records.insert(write.check, record.clone());
        Ok(Recorded::Applied {
            from,
            record: Box::new(record),
            reason_before: prior.and_then(|prior| prior.reason),
            transition_id: None,
        })
    }
}

impl Listing for Shelf {
    async fn checks(&self, _version: Option<TargetsVersion>) -> Result<Option<Listed>, StoreError> {
        let slow = self.0.lock().unwrap().slow_list;
        if let Some(slow) = slow {
            sleep(slow).await;
        }
        let books = self.0.lock().unwrap();
        if books.down {
            return Err(out_of_reach());
        }
        let checks = books.listed.clone();
        Ok((!books.unchanged).then(|| Listed { version: TargetsVersion::default(), checks }))
    }
}

/// A monitor with its stage, shelf and metrics.
pub struct Scene {
    pub stage: Stage,
    pub shelf: Shelf,
    pub metrics: Metrics,
    pub monitor: Monitor<Stage, Shelf>,
}

pub fn scene(concurrency: usize) -> Scene {
    listen();
    let (stage, shelf, metrics) = (Stage::default(), Shelf::default(), Metrics::default());
    let settings = Settings { concurrency, clock: Clock::driven(BASE) };
    let monitor = Monitor::new(stage.clone(), shelf.clone(), settings, metrics.clone());
    Scene { stage, shelf, metrics, monitor }
}

impl Scene {
    /// A probe by hand, and the status of the record after it.
    pub async fn by_hand(&self, target: &str) -> Arc<probehost_monitor::ProbeResult> {
        let check = Arc::new(check(target, 60 * SECOND));
        self.monitor.probe_by_hand(check, "alice", None).await.unwrap()
    }

    /// A scheduled probe, run to its end.
    pub async fn scheduled(&self, target: &str) {
        let before = self.shelf.writes().len();
        self.monitor.launch(Arc::new(check(target, 60 * SECOND)), Instant::now());
        while self.shelf.writes().len() == before || self.stage.running() > 0 {
            sleep(Duration::from_millis(1)).await;
        }
        // One more turn, in which the task logs and lands.
        sleep(Duration::from_millis(1)).await;
    }
}

/// The check `ping` of `target`.
pub fn check(target: &str, interval: Duration) -> CheckSeen {
    CheckSeen {
        id: CheckId::new(target, "ping"),
        target_name: target.to_owned(),
        kind: "echo".to_owned(),
        config: "{}".into(),
        interval: Some(interval),
        timeout: 10 * SECOND,
        thresholds: Thresholds { failure: 2, inconclusive: 2 },
        seen_updated_at: Timestamp::from_micros(1),
        managed: false,
        last_attempt_at: None,
    }
}

thread_local! {
    static LINES: RefCell<Vec<String>> = const { RefCell::new(Vec::new()) };
}

/// What this test logs, as `LEVEL message`. A test and all its tasks run on one thread.
pub struct Logged;

impl Logged {
    pub fn start() -> Self {
        listen();
        LINES.take();
        Self
    }

    /// What was logged since the last look.
    pub fn take(&self) -> Vec<String> {
        LINES.take()
    }
}

/// One subscriber for all tests, from before the first of them logs: with one for each, a line
/// can be lost while another test's comes or goes.
fn listen() {
    use tracing_subscriber::layer::SubscriberExt as _;
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let all = tracing_subscriber::registry().with(Lines);
        tracing::subscriber::set_global_default(all).unwrap();
    });
}

struct Lines;

impl<S: tracing::Subscriber> tracing_subscriber::Layer<S> for Lines {
    fn on_event(&self, event: &tracing::Event<'_>, _: tracing_subscriber::layer::Context<'_, S>) {
        struct Message(String);
        impl tracing::field::Visit for Message {
            fn record_debug(&mut self, field: &tracing::field::Field, value: &dyn std::fmt::Debug) {
                if field.name() == "message" {
                    self.0 = format!("{value:?}");
                }
            }
        }
        let mut message = Message(String::new());
        event.record(&mut message);
        let level = event.metadata().level();
        LINES.with_borrow_mut(|lines| lines.push(format!("{level} {}", message.0)));
    }
}
