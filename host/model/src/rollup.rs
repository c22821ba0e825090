//! What a check did in an hour or a day: runs, failures by reason, time healthy and unhealthy,
//! and how long passes took (contract A4).
//!
//! Rollups merge, in any order: parts of an hour that several hosts kept, hours of a day.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use sketches_ddsketch::{Config, DDSketch};

use crate::{Outcome, Reason, Timestamp};

const HOUR: i64 = 3_600_000_000;
const DAY: i64 = 24 * HOUR;

/// How long the period of a rollup is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Step {
    /// An hour of UTC.
    Hour,
    /// A day of UTC.
    Day,
}

impl Step {
    /// In seconds.
    #[must_use]
    pub const fn seconds(self) -> u32 {
        match self {
            Self::Hour => 3_600,
            Self::Day => 86_400,
        }
    }

    /// How long it is.
    #[must_use]
    pub const fn span(self) -> Duration {
        Duration::from_secs(self.seconds() as u64)
    }

    /// When the period began that `at` is in.
    #[must_use]
    pub const fn start_of(self, at: Timestamp) -> Timestamp {
        let step = match self {
            Self::Hour => HOUR,
            Self::Day => DAY,
        };
        let at = at.as_micros();
        Timestamp::from_micros(at.saturating_sub(at.rem_euclid(step)))
    }
}

/// How long passes took: a sketch of which quantiles are within 2 % of the true ones.
#[derive(Clone)]
pub struct Latency(DDSketch);

/// A stored sketch that can't be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("it is no sketch of latencies: {0}")]
pub struct LatencyError(String);

/// Quantiles are this near to the true ones, as a share.
const ACCURACY: f64 = 0.02;
/// Bins at most; the smallest latencies share one before there are more.
const BINS: u32 = 2048;
/// In seconds; what is shorter counts as nothing.
const SHORTEST: f64 = 1e-9;

impl Default for Latency {
    fn default() -> Self {
        Self(DDSketch::new(Config::new(ACCURACY, BINS, SHORTEST)))
    }
}

impl Latency {
    /// Takes in one pass.
    pub fn add(&mut self, took: Duration) {
        self.0.add(took.as_secs_f64());
    }

    /// Takes in what another has; none is lost, and the order does not matter.
    pub fn merge(&mut self, other: &Self) {
        // Fails only for another accuracy, and `from_bytes` lets none in.
        let _ = self.0.merge(&other.0);
    }

    /// The latency that this share of the passes, from 0 to 1, was not slower than; none
    /// without a pass.
    #[must_use]
    pub fn quantile(&self, share: f64) -> Option<Duration> {
        let seconds = self.0.quantile(share).ok().flatten()?;
        Duration::try_from_secs_f64(seconds).ok()
    }

    /// Whether there was no pass.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.count() == 0
    }

    /// For the store: none for an empty one, else some hundred bytes.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        if self.is_empty() { Vec::new() } else { self.0.to_java_bytes() }
    }

    /// What [`Latency::to_bytes`] gave.
    ///
    /// # Errors
    /// The bytes are of something else.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, LatencyError> {
        let mut latency = Self::default();
        if !bytes.is_empty() {
            let read = DDSketch::from_java_bytes(bytes);
            let read = read.map_err(|error| LatencyError(error.to_string()))?;
            latency.0.merge(&read).map_err(|error| LatencyError(error.to_string()))?;
        }
        Ok(latency)
    }
}

impl PartialEq for Latency {
    fn eq(&self, other: &Self) -> bool {
        // The sum depends on the order of adding by what floating point loses.
        let counts = |latency: &Self| {
            let mut quantiles = vec![latency.0.count() as u64];
            if !latency.is_empty() {
                let shares = (0..=100).map(|share| latency.0.quantile(f64::from(share) / 100.0));
                quantiles.extend(shares.flatten().flatten().map(f64::to_bits));
            }
            quantiles
        };
        counts(self) == counts(other)
    }
}

impl fmt::Debug for Latency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Latency({} passes, p50 {:?})", self.0.count(), self.quantile(0.5))
    }
}

/// What a check did in some period.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Rollup {
    /// Probes that were recorded, whatever they found.
    pub runs: u64,
    /// Those that passed.
    pub passes: u64,
    /// Those that said nothing of the target.
    pub inconclusive: u64,
    /// Those that failed, by reason.
    pub failures: BTreeMap<Reason, u64>,
    /// How long it was known to be healthy.
    pub healthy: Duration,
    /// How long it was known to be unhealthy.
    pub unhealthy: Duration,
    /// How long the passes took.
    pub latency: Latency,
}

impl Rollup {
    /// Counts one probe.
    pub fn count(&mut self, outcome: &Outcome, took: Duration) {
        self.runs += 1;
        match outcome {
            Outcome::Pass => {
                self.passes += 1;
                self.latency.add(took);
            }
            Outcome::Fail(failure) => *self.failures.entry(failure.reason).or_default() += 1,
            Outcome::Inconclusive { .. } => self.inconclusive += 1,
        }
    }

    /// Those that failed, for whatever reason.
    #[must_use]
    pub fn failed(&self) -> u64 {
        self.failures.values().fold(0, |all, count| all.saturating_add(*count))
    }

    /// Takes in another of the same period, or of a part of it.
    pub fn merge(&mut self, other: &Self) {
        self.runs = self.runs.saturating_add(other.runs);
        self.passes = self.passes.saturating_add(other.passes);
        self.inconclusive = self.inconclusive.saturating_add(other.inconclusive);
        for (reason, count) in &other.failures {
            let all = self.failures.entry(*reason).or_default();
            *all = all.saturating_add(*count);
        }
        self.healthy = self.healthy.saturating_add(other.healthy);
        self.unhealthy = self.unhealthy.saturating_add(other.unhealthy);
        self.latency.merge(&other.latency);
    }

    /// Two hosts that probe the same check know of the same time: both parts shrink, so that
    /// together they are no longer than the period.
    pub fn fit(&mut self, period: Duration) {
        let known = self.healthy.saturating_add(self.unhealthy);
        if known > period {
            let healthy = self.healthy.as_micros().saturating_mul(period.as_micros());
            let healthy = healthy / known.as_micros().max(1);
            self.healthy = Duration::from_micros(u64::try_from(healthy).unwrap_or(u64::MAX));
            self.unhealthy = period.saturating_sub(self.healthy);
        }
    }

    /// The healthy share of the time that is known, from 0 to 1; none when nothing is known.
    #[must_use]
    pub fn availability(&self) -> Option<f64> {
        let known = self.healthy.saturating_add(self.unhealthy);
        (!known.is_zero()).then(|| self.healthy.as_secs_f64() / known.as_secs_f64())
    }
}
