//! Latency and error rate of one check over a sliding window (contract A4). Kept in memory,
//! and filled anew after a restart.

use std::collections::VecDeque;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::Timestamp;

/// One conclusive probe, or one call of one. What is inconclusive says nothing of the target
/// and is not sampled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sample {
    /// When it ended.
    pub at: Timestamp,
    /// How long it took; what is over an hour counts as over an hour (71 minutes).
    pub took: Duration,
    /// Whether it failed.
    pub failed: bool,
}

/// The last samples of one check and layer, no older than a span and no more than a number.
#[derive(Debug, Clone)]
pub struct Window {
    span: Duration,
    capacity: usize,
    samples: VecDeque<Packed>,
}

/// 16 bytes: a host may keep millions.
#[derive(Debug, Clone, Copy)]
struct Packed {
    at: Timestamp,
    micros: u32,
    failed: bool,
}

/// What a window holds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct WindowSummary {
    /// How many samples there are.
    pub count: u32,
    /// How many of them failed.
    pub failed: u32,
    /// `failed / count`, from 0 to 1; none without a sample.
    pub error_rate: Option<f64>,
    /// Half of the samples that did not fail took no longer. None without one.
    pub p50: Option<Duration>,
    /// 95 of 100 took no longer.
    pub p95: Option<Duration>,
    /// 99 of 100 took no longer.
    pub p99: Option<Duration>,
    /// The oldest sample: a window that is new, or full, covers less than its span.
    pub since: Option<Timestamp>,
}

impl Window {
    /// Span by default: at an interval of a minute it holds sixty samples.
    pub const SPAN: Duration = Duration::from_hours(1);
    /// Capacity by default: 4 KiB when full.
    pub const CAPACITY: usize = 256;

    /// An empty window. Takes memory as samples come, 16 bytes for each, at most `capacity`
    /// of them (0 counts as 1).
    #[must_use]
    pub fn new(span: Duration, capacity: usize) -> Self {
        Self { span, capacity: capacity.max(1), samples: VecDeque::new() }
    }

    /// Adds a sample. It drops what is older than the span, and the oldest when it is full.
    /// A sample that comes late finds its place among the others.
    pub fn push(&mut self, sample: Sample) {
        let micros = u32::try_from(sample.took.as_micros()).unwrap_or(u32::MAX);
        let packed = Packed { at: sample.at, micros, failed: sample.failed };
        let place = self.samples.partition_point(|other| other.at <= packed.at);
        self.samples.insert(place, packed);
        let newest = self.samples.back().map_or(sample.at, |last| last.at);
        self.forget(newest);
        while self.samples.len() > self.capacity {
            self.samples.pop_front();
        }
    }

    /// Drops what is older than the span at `now`.
    pub fn forget(&mut self, now: Timestamp) {
        while self.samples.front().is_some_and(|first| now.since(first.at) > self.span) {
            self.samples.pop_front();
        }
    }

    /// The newest samples of the last span before `now`, `most` of them at most, oldest first.
    pub fn recent(&self, now: Timestamp, most: usize) -> impl Iterator<Item = Sample> + '_ {
        let past = self.samples.len().saturating_sub(most);
        let newest = self.samples.iter().skip(past);
        newest.filter(move |sample| now.since(sample.at) <= self.span).map(|sample| Sample {
            at: sample.at,
            took: Duration::from_micros(u64::from(sample.micros)),
            failed: sample.failed,
        })
    }

    /// What the last span before `now` holds. Sorts the samples: made for reports, not for
    /// every probe.
    #[must_use]
    pub fn summary(&self, now: Timestamp) -> WindowSummary {
        let inside = || self.samples.iter().filter(|sample| now.since(sample.at) <= self.span);
        let (mut count, mut failed) = (0_u32, 0_u32);
        // A refused connection takes no time and an expired deadline all of it: neither says
        // how fast the target is.
        let mut took = Vec::with_capacity(self.samples.len());
        for sample in inside() {
            count = count.saturating_add(1);
            if sample.failed {
                failed = failed.saturating_add(1);
            } else {
                took.push(sample.micros);
            }
        }
        took.sort_unstable();
        WindowSummary {
            count,
            failed,
            error_rate: (count > 0).then(|| f64::from(failed) / f64::from(count)),
            p50: rank(&took, 50),
            p95: rank(&took, 95),
            p99: rank(&took, 99),
            since: inside().next().map(|sample| sample.at),
        }
    }
}

impl Default for Window {
    fn default() -> Self {
        Self::new(Self::SPAN, Self::CAPACITY)
    }
}

/// The nearest rank: always a time that was measured.
fn rank(sorted: &[u32], percent: usize) -> Option<Duration> {
    let place = (sorted.len() * percent).div_ceil(100).checked_sub(1)?;
    sorted.get(place).map(|micros| Duration::from_micros(u64::from(*micros)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn sample(second: i64, millis: u64, failed: bool) -> Sample {
        let at = Timestamp::from_micros(second * 1_000_000);
        Sample { at, took: Duration::from_millis(millis), failed }
    }

    fn at(second: i64) -> Timestamp {
        Timestamp::from_micros(second * 1_000_000)
    }

    /// A4: rates and percentiles; failures count in the rate and not in the latency.
    #[test]
    fn counts_and_ranks() {
        let mut window = Window::new(Duration::from_secs(1000), 1000);
        for n in 1..=100_u32 {
            window.push(sample(i64::from(n), u64::from(n), false));
        }
        for n in 101..=125 {
            window.push(sample(n, 10_000, true));
        }
        let summary = window.summary(at(125));
        assert_eq!((summary.count, summary.failed, summary.error_rate), (125, 25, Some(0.2)));
        let millis = [summary.p50, summary.p95, summary.p99].map(|p| p.unwrap().as_millis());
        assert_eq!(millis, [50, 95, 99]);
        assert_eq!(summary.since, Some(at(1)));
    }

    /// A4: nothing is said without a sample, and no latency without one that did not fail.
    #[test]
    fn an_empty_window_says_nothing() {
        let mut window = Window::default();
        let summary = window.summary(at(5));
        assert_eq!((summary.count, summary.error_rate, summary.p99), (0, None, None));
        window.push(sample(5, 3, true));
        let summary = window.summary(at(5));
        assert_eq!((summary.error_rate, summary.p50), (Some(1.0), None));
    }

    /// A4: the window slides: by time also when no sample comes, and by number when many do.
    #[test]
    fn slides() {
        let mut window = Window::new(Duration::from_secs(10), 3);
        window.push(sample(1, 1, true));
        window.push(sample(8, 1, false));
        assert_eq!(window.summary(at(11)).error_rate, Some(0.5));
        assert_eq!(window.summary(at(12)).error_rate, Some(0.0));
        assert_eq!(window.summary(at(19)).count, 0);
        for second in 9..20 {
            window.push(sample(second, 1, false));
        }
        let summary = window.summary(at(19));
        assert_eq!((summary.count, summary.since), (3, Some(at(17))));
        window.forget(at(40));
        assert!(window.samples.is_empty());
    }

    /// A4: the newest come last, no more than asked for, and none that has left the window.
    #[test]
    fn tells_the_newest() {
        let mut window = Window::new(Duration::from_secs(10), 8);
        for second in 1..=5_u32 {
            window.push(sample(i64::from(second), u64::from(second), second == 4));
        }
        let told = |now, most| window.recent(at(now), most).collect::<Vec<_>>();
        assert_eq!(told(5, 2), [sample(4, 4, true), sample(5, 5, false)]);
        assert_eq!(told(5, 99).len(), 5);
        assert_eq!(told(14, 99), [sample(4, 4, true), sample(5, 5, false)]);
        assert_eq!(told(5, 0), []);
    }

    #[test]
    fn a_sample_stays_small() {
        assert_eq!(size_of::<Packed>(), 16);
    }

    proptest! {
        /// A4: bounded whatever comes in whatever order, and never a figure out of its range.
        #[test]
        fn is_bounded(samples in proptest::collection::vec((0_i64..100, 0_u64..50, any::<bool>()), 0..200)) {
            let mut window = Window::new(Duration::from_secs(30), 16);
            for (second, millis, failed) in &samples {
                window.push(sample(*second, *millis, *failed));
                prop_assert!(window.samples.len() <= 16);
                prop_assert!(window.samples.iter().is_sorted_by_key(|sample| sample.at));
            }
            let newest = samples.iter().map(|(second, ..)| *second).max().unwrap_or(0);
            let summary = window.summary(at(newest));
            prop_assert_eq!(summary.count as usize, window.samples.len());
            prop_assert!(summary.error_rate.is_none_or(|rate| (0.0..=1.0).contains(&rate)));
            prop_assert!(summary.p50 <= summary.p95 && summary.p95 <= summary.p99);
        }
    }
}
