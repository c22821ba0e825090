//! Where the time of day comes from.

use std::time::SystemTime;

use probehost_model::Timestamp;
use tokio::time::Instant;

/// The time of day: the system's, or one that follows tokio's clock, which a test can drive.
#[derive(Debug, Clone, Copy)]
pub enum Clock {
    /// The system's clock.
    System,
    /// `base` at `start`, and from there with tokio's clock.
    Driven {
        /// The time of day at `start`.
        base: Timestamp,
        /// The moment to count from.
        start: Instant,
    },
}

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
            Self::System => SystemTime::now().into(),
            Self::Driven { base, start } => base.plus(start.elapsed()),
        }
    }
}
