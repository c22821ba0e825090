//! Where the time of day comes from.

use std::sync::LazyLock;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, SystemTime};

use probehost_model::Timestamp;
use tokio::time::Instant;

/// The time of day: the system's, or one that follows tokio's clock, which a test can drive.
#[derive(Debug, Clone, Copy)]
pub enum Clock {
    /// The system's clock, which never goes back while the process runs. A system's clock can be
    /// set back; then every result would be older than the one before, and what is due would wait
    /// as long again. This one goes on from where it was.
    System,
    /// `base` at `start`, and from there with tokio's clock.
    Driven {
        /// The time of day at `start`.
        base: Timestamp,
        /// The moment to count from.
        start: Instant,
    },
}

/// Of the process, so that all of it has one time.
static SYSTEM: LazyLock<(std::time::Instant, Steady)> =
    LazyLock::new(|| (std::time::Instant::now(), Steady::default()));

impl Clock {
    /// A clock that shows `base` now and follows tokio's clock from here.
    #[must_use]
    pub fn driven(base: Timestamp) -> Self {
        Self::Driven { base, start: Instant::now() }
    }

    /// The time of day.
    #[must_use]
    pub fn now(self) -> Timestamp {
        match self {
            Self::System => {
                let (start, steady) = &*SYSTEM;
                steady.at(SystemTime::now().into(), start.elapsed())
            }
            Self::Driven { base, start } => base.plus(start.elapsed()),
        }
    }

    /// How far the system's clock has been set back since the process began: so far this one is
    /// ahead of it.
    #[must_use]
    pub fn set_back(self) -> Duration {
        match self {
            Self::System => self.now().since(SystemTime::now().into()),
            Self::Driven { .. } => Duration::ZERO,
        }
    }
}

/// A time of day that only goes forward: with a clock that does by its nature, and with the
/// system's where that is ahead.
#[derive(Debug)]
struct Steady {
    /// What makes the time of day of the other clock, in microseconds: the most there ever was.
    lead: AtomicI64,
}

impl Default for Steady {
    fn default() -> Self {
        Self { lead: AtomicI64::new(i64::MIN) }
    }
}

impl Steady {
    /// The time when the system's clock shows `system`, and so much has `passed` since some moment
    /// by the other.
    fn at(&self, system: Timestamp, passed: Duration) -> Timestamp {
        let lead = system.minus(passed).as_micros();
        let most = self.lead.fetch_max(lead, Ordering::Relaxed).max(lead);
        Timestamp::from_micros(most).plus(passed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: Duration = Duration::from_hours(1);
    const SECOND: Duration = Duration::from_secs(1);

    /// R2: a clock that is set back makes no result look older than the one before, and what is due
    /// in a second is due in a second; one that is set forward is followed.
    #[test]
    fn the_time_never_goes_back() {
        let steady = Steady::default();
        let noon = Timestamp::from_micros(1_764_504_000_000_000);
        assert_eq!(steady.at(noon, Duration::ZERO), noon);
        assert_eq!(steady.at(noon.plus(SECOND), SECOND), noon.plus(SECOND));
        // An hour back, and a second later.
        let back = noon.plus(2 * SECOND).minus(HOUR);
        assert_eq!(steady.at(back, 2 * SECOND), noon.plus(2 * SECOND));
        assert_eq!(steady.at(back.plus(SECOND), 3 * SECOND), noon.plus(3 * SECOND));
        // Two hours forward: the machine was asleep, say.
        let forward = noon.plus(2 * HOUR);
        assert_eq!(steady.at(forward, 4 * SECOND), forward);
        assert_eq!(steady.at(forward.minus(HOUR), 5 * SECOND), forward.plus(SECOND));
    }

    /// R5: it shows what the system's clock does while that is not set back.
    #[test]
    fn it_goes_by_the_systems_clock() {
        let before = Timestamp::from(SystemTime::now());
        let first = Clock::System.now();
        assert!(first >= before && first.since(before) < HOUR, "{before} {first}");
        assert!(Clock::System.now() >= first);
        assert!(Clock::System.set_back() < HOUR);
    }
}
