//! What is counted about notifications, for `/metrics`.

use std::time::Duration;

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::{Registry, Unit};

/// A sink and what came of an attempt.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct SinkOutcome {
    sink: String,
    outcome: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OfSink {
    sink: String,
}

/// Upper bounds in seconds: from at once to a day.
const LAG: [f64; 9] = [0.1, 0.5, 1.0, 5.0, 15.0, 60.0, 600.0, 3600.0, 86_400.0];

/// The counters. Cheap to clone; all clones count together.
#[derive(Debug, Clone)]
pub struct Metrics {
    attempts: Family<SinkOutcome, Counter>,
    lag: Family<OfSink, Histogram>,
}

impl Default for Metrics {
    fn default() -> Self {
        Self {
            attempts: Family::default(),
            lag: Family::new_with_constructor(|| Histogram::new(LAG)),
        }
    }
}

/// What came of an attempt, for the counter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Attempt {
    Delivered,
    Retry,
    Dead,
}

impl Attempt {
    const ALL: [Self; 3] = [Self::Delivered, Self::Retry, Self::Dead];

    const fn word(self) -> &'static str {
        match self {
            Self::Delivered => "delivered",
            Self::Retry => "retry",
            Self::Dead => "dead",
        }
    }
}

impl Metrics {
    /// Adds them to a registry.
    pub fn register(&self, registry: &mut Registry) {
        registry.register(
            "notifications",
            "Attempts to deliver a notification, by sink and what came of each",
            self.attempts.clone(),
        );
        registry.register_with_unit(
            "notification_lag",
            "From the plan of a notification to its delivery",
            Unit::Seconds,
            self.lag.clone(),
        );
    }

    /// There is a sink of that name: its counters begin at zero, or the first of each outcome would
    /// be no increase to who looks at them.
    pub(crate) fn begin(&self, sink: &str) {
        for outcome in Attempt::ALL.map(Attempt::word) {
            let labels = SinkOutcome { sink: sink.to_owned(), outcome };
            drop(self.attempts.get_or_create(&labels));
        }
    }

    pub(crate) fn attempt(&self, sink: &str, came: Attempt) {
        let labels = SinkOutcome { sink: sink.to_owned(), outcome: came.word() };
        self.attempts.get_or_create(&labels).inc();
    }

    pub(crate) fn delivered_after(&self, sink: &str, lag: Duration) {
        self.lag.get_or_create(&OfSink { sink: sink.to_owned() }).observe(lag.as_secs_f64());
    }
}
