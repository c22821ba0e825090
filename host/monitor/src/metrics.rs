//! What is counted about probes, for `/metrics`.

use std::time::Duration;

use probehost_model::{Outcome, Status};
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::{Registry, Unit};

/// A probe kind and what came of its probe.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct KindOutcome {
    kind: String,
    outcome: &'static str,
    reason: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Kind {
    kind: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Destination {
    to: &'static str,
}

/// The counters of one monitor. Cheap to clone; all clones count together.
#[derive(Debug, Clone)]
pub struct Metrics {
    probes: Family<KindOutcome, Counter>,
    duration: Family<Kind, Histogram>,
    lag: Histogram,
    transitions: Family<Destination, Counter>,
    skipped: Counter,
    refused: Counter,
    reset: Counter,
    discarded: Counter,
    store_unavailable: Counter,
    in_use: Gauge,
    last_run: Gauge,
}

/// Upper bounds in seconds: from a loopback answer to the default deadline and beyond.
const DURATION: [f64; 12] =
    [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0, 2.5, 10.0, 30.0];
const LAG: [f64; 8] = [0.001, 0.01, 0.1, 0.5, 1.0, 5.0, 15.0, 60.0];

impl Default for Metrics {
    fn default() -> Self {
        Self {
            probes: Family::default(),
            duration: Family::new_with_constructor(|| Histogram::new(DURATION)),
            lag: Histogram::new(LAG),
            transitions: Family::default(),
            skipped: Counter::default(),
            refused: Counter::default(),
            reset: Counter::default(),
            discarded: Counter::default(),
            store_unavailable: Counter::default(),
            in_use: Gauge::default(),
            last_run: Gauge::default(),
        }
    }
}

impl Metrics {
    /// Enters every counter into `registry`, whose prefix is the product's name.
    pub fn register(&self, registry: &mut Registry) {
        registry.register("probe", "Probes by kind, outcome and reason", self.probes.clone());
        registry.register_with_unit(
            "probe_duration",
            "Time a probe took, without the wait for a permit",
            Unit::Seconds,
            self.duration.clone(),
        );
        registry.register_with_unit(
            "probe_dispatch_lag",
            "Time from when a scheduled probe was due to when it began",
            Unit::Seconds,
            self.lag.clone(),
        );
        registry.register(
            "transitions",
            "Changes of a check's status by the status it came to",
            self.transitions.clone(),
        );
        registry.register(
            "probe_skipped",
            "Scheduled probes skipped because the one before was still running",
            self.skipped.clone(),
        );
        registry.register(
            "write_refused",
            "Results that did not land: overtaken, or the target changed meanwhile",
            self.refused.clone(),
        );
        registry.register(
            "probe_reset",
            "Records reset because a save changed what is probed",
            self.reset.clone(),
        );
        registry.register(
            "probe_discarded",
            "Probes abandoned before they had a result",
            self.discarded.clone(),
        );
        registry.register(
            "probe_store_unavailable",
            "Results that were lost because the store could not be reached",
            self.store_unavailable.clone(),
        );
        registry.register("probe_running", "Probes that hold a permit now", self.in_use.clone());
        registry.register_with_unit(
            "probe_last_run_timestamp",
            "When the last probe of any check ended, since the Unix epoch",
            Unit::Seconds,
            self.last_run.clone(),
        );
    }

    /// Counts records that a save reset.
    pub fn records_reset(&self, count: usize) {
        self.reset.inc_by(u64::try_from(count).unwrap_or(u64::MAX));
    }

    pub(crate) fn probe(&self, kind: &str, outcome: &Outcome, took: Duration) {
        let reason = match outcome {
            Outcome::Fail(failure) => failure.reason.as_str(),
            Outcome::Pass | Outcome::Inconclusive { .. } => "",
        };
        let labels = KindOutcome { kind: kind.to_owned(), outcome: outcome.as_str(), reason };
        self.probes.get_or_create(&labels).inc();
        self.duration.get_or_create(&Kind { kind: kind.to_owned() }).observe(took.as_secs_f64());
    }

    pub(crate) fn ended(&self, at: probehost_model::Timestamp) {
        self.last_run.set(at.as_micros() / 1_000_000);
    }

    pub(crate) fn lag(&self, lag: Duration) {
        self.lag.observe(lag.as_secs_f64());
    }

    pub(crate) fn transition(&self, to: Status) {
        self.transitions.get_or_create(&Destination { to: to.as_str() }).inc();
    }

    pub(crate) fn skip(&self) {
        self.skipped.inc();
    }

    pub(crate) fn refuse(&self) {
        self.refused.inc();
    }

    pub(crate) fn discard(&self) {
        self.discarded.inc();
    }

    pub(crate) fn store_unavailable(&self) {
        self.store_unavailable.inc();
    }

    pub(crate) fn running(&self, in_use: usize) {
        self.in_use.set(i64::try_from(in_use).unwrap_or(i64::MAX));
    }

    /// How often scheduled probes were skipped (contract S3).
    #[must_use]
    pub fn skipped(&self) -> u64 {
        self.skipped.get()
    }

    /// How many results did not land (contract R2).
    #[must_use]
    pub fn refused(&self) -> u64 {
        self.refused.get()
    }

    /// How many probes were abandoned (contract P4).
    #[must_use]
    pub fn discarded(&self) -> u64 {
        self.discarded.get()
    }
}
