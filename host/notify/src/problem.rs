//! A problem that stands, as one sink is told of it.

use std::time::Duration;

use probehost_model::notify::NotificationKind;
use probehost_model::{Reason, Timestamp};
use serde::{Deserialize, Serialize};

/// What is known of it; the store keeps this as JSON.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Problem {
    /// The state now, in the word of its status or lifecycle state.
    pub(crate) state: String,
    /// The state before.
    pub(crate) from: String,
    pub(crate) reason: Option<Reason>,
    pub(crate) message: String,
    /// When it began.
    pub(crate) since: Timestamp,
    /// When the state became what it is now.
    pub(crate) at: Timestamp,
    /// The event that told of that.
    pub(crate) event: Option<i64>,
    /// The state of which the sink was told last. None: it was told nothing.
    pub(crate) told: Option<String>,
    /// When it was told or reminded last.
    pub(crate) told_at: Option<Timestamp>,
    /// How long after that it is reminded, in microseconds. None: never.
    pub(crate) repeat: Option<i64>,
    /// It is one of many that fail the same way at once, and is not told alone.
    pub(crate) grouped: bool,
}

impl Problem {
    /// Whether the sink has yet to be told of the state as it is now.
    pub(crate) fn is_news(&self) -> bool {
        self.told.as_deref() != Some(&self.state)
    }

    /// The sink is told of it at that time.
    pub(crate) fn tell(&mut self, now: Timestamp) {
        self.told = Some(self.state.clone());
        self.told_at = Some(now);
        self.grouped = false;
    }

    /// Whether the sink is to be reminded of it.
    pub(crate) fn is_repeated(&self, now: Timestamp) -> bool {
        let (Some(told), Some(repeat)) = (self.told_at, self.repeat) else { return false };
        !self.is_news() && now.as_micros().saturating_sub(told.as_micros()) >= repeat
    }

    /// When it is to be reminded.
    pub(crate) fn repeats_at(&self) -> Option<Timestamp> {
        let repeat = u64::try_from(self.repeat?).ok()?;
        Some(self.told_at?.plus(Duration::from_micros(repeat)))
    }
}

/// A message about it that is to be delivered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Telling {
    pub(crate) kind: NotificationKind,
    pub(crate) at: Timestamp,
    pub(crate) event: Option<i64>,
    pub(crate) from: String,
    pub(crate) to: String,
    pub(crate) reason: Option<Reason>,
    pub(crate) message: String,
    pub(crate) since: Timestamp,
}
