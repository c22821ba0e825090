//! Who is told what, when (contract E5): the words and rules of notifications.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::lifecycle::LifecycleState;
use crate::words::words;
use crate::{Reason, Status, Timestamp};

/// What a sink speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SinkKind {
    /// The webhooks of Discord.
    Discord,
    /// The incoming webhooks of Slack.
    Slack,
    /// Documented JSON, signed.
    Webhook,
    /// Mail by SMTP.
    Email,
}

words!(SinkKind, "kind of sink", {
    Discord => "discord",
    Slack => "slack",
    Webhook => "webhook",
    Email => "email",
});

/// A state of a check or of a managed target that a rule can tell of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ProblemState {
    /// The status of a check.
    Unhealthy,
    /// The status of a check of which nothing can be said.
    Unknown,
    /// The lifecycle state of a managed target.
    Offline,
    /// The lifecycle state of a managed target.
    Restarting,
    /// The lifecycle state of a managed target.
    Updating,
    /// The lifecycle state of a managed target.
    Quarantined,
}

words!(ProblemState, "state to tell of", {
    Unhealthy => "unhealthy",
    Unknown => "unknown",
    Offline => "offline",
    Restarting => "restarting",
    Updating => "updating",
    Quarantined => "quarantined",
});

impl ProblemState {
    /// What a rule tells of that names no states.
    pub const DEFAULT: [Self; 3] = [Self::Unhealthy, Self::Offline, Self::Quarantined];

    /// What a check's status is to a rule; none for one that is well.
    #[must_use]
    pub const fn of_status(status: Status) -> Option<Self> {
        match status {
            Status::Healthy => None,
            Status::Unhealthy => Some(Self::Unhealthy),
            Status::Unknown => Some(Self::Unknown),
        }
    }

    /// What a lifecycle state is to a rule; none for one that is well, or of which nothing is
    /// known.
    #[must_use]
    pub const fn of_lifecycle(state: LifecycleState) -> Option<Self> {
        match state {
            LifecycleState::Unknown | LifecycleState::Running => None,
            LifecycleState::Offline => Some(Self::Offline),
            LifecycleState::Restarting => Some(Self::Restarting),
            LifecycleState::Updating => Some(Self::Updating),
            LifecycleState::Quarantined => Some(Self::Quarantined),
        }
    }
}

/// What a notification is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum NotificationKind {
    /// Something is unwell.
    Problem,
    /// A problem that was told is over.
    Recovery,
    /// A problem that was told still stands.
    Reminder,
    /// Many targets fail the same way at once.
    Group,
    /// Somebody tries the sink.
    Test,
}

words!(NotificationKind, "kind of notification", {
    Problem => "problem",
    Recovery => "recovery",
    Reminder => "reminder",
    Group => "group",
    Test => "test",
});

/// What has become of a notification.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum DeliveryState {
    /// It is yet to be delivered.
    Pending,
    /// The sink has it.
    Delivered,
    /// Given up: the sink refused it for good, or could not be reached for too long.
    Dead,
}

words!(DeliveryState, "state of a notification", {
    Pending => "pending",
    Delivered => "delivered",
    Dead => "dead",
});

/// What a notification says, whatever the sink makes of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Notification {
    /// What it is.
    pub kind: NotificationKind,
    /// When what it tells of happened.
    pub at: Timestamp,
    /// Id of the target; none where it tells of many.
    pub target: Option<String>,
    /// The target's name, or what the many are.
    pub name: String,
    /// The target's labels.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
    /// Name of the check; none where it tells of the target as a whole.
    pub check: Option<String>,
    /// The state before.
    pub from: String,
    /// The state now.
    pub to: String,
    /// Why, where a probe said so.
    pub reason: Option<Reason>,
    /// For people; sanitised.
    pub message: String,
    /// Since when the problem stands, or stood.
    pub since: Timestamp,
}

/// Which sinks are told of what.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rule {
    /// Names of the sinks. Never empty.
    pub sinks: Vec<String>,
    /// Of which targets.
    pub of: Selection,
    /// Of checks of these probe kinds, and of managed targets with such a check; empty: of all.
    pub kinds: Vec<String>,
    /// Of which states. Never empty.
    pub states: Vec<ProblemState>,
    /// How long after one message about a problem that stands the next follows. None: never.
    pub repeat: Option<Duration>,
}

/// Targets by id and label; what is empty selects all.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Selection {
    /// These ids.
    pub targets: Vec<String>,
    /// With all of these labels.
    pub labels: BTreeMap<String, String>,
}

impl Selection {
    /// Whether a target with that id and those labels is meant.
    #[must_use]
    pub fn has(&self, target: &str, labels: &BTreeMap<String, String>) -> bool {
        (self.targets.is_empty() || self.targets.iter().any(|id| id == target))
            && self.labels.iter().all(|(key, value)| labels.get(key) == Some(value))
    }
}

/// A time in which problems of some targets are told to nobody.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Maintenance {
    /// What it is called.
    pub name: String,
    /// Of which targets.
    pub of: Selection,
    /// When.
    pub when: MaintenanceTime,
}

/// When a maintenance window is open.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MaintenanceTime {
    /// One time.
    Once {
        /// From when.
        from: Timestamp,
        /// Until just before.
        until: Timestamp,
    },
    /// Again and again.
    Weekly {
        /// On which days it opens, from Monday (0) to Sunday (6). Never empty.
        days: Vec<u8>,
        /// At which minute of the day, by the clock of the zone.
        minute: u16,
        /// How long it stays open.
        lasts: Duration,
        /// The time zone, such as `Europe/Berlin`.
        zone: String,
    },
}

/// A text that stands in the file, or a secret that is looked up by its name whenever it is used.
#[derive(Clone, PartialEq, Eq)]
pub enum SinkText {
    /// As it stands there. It may be secret all the same, so it does not show itself.
    Text(String),
    /// The name of a secret.
    Secret(String),
}

impl fmt::Debug for SinkText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(_) => f.write_str("Text(…)"),
            Self::Secret(name) => f.debug_tuple("Secret").field(name).finish(),
        }
    }
}

/// Where notifications go.
#[derive(Debug, Clone, PartialEq)]
pub struct Sink {
    /// What it speaks.
    pub kind: SinkKind,
    /// Where it is: `https://…`; for mail `smtp://…` or `smtps://…`.
    pub url: SinkText,
    /// With what a webhook is signed. None: it is not.
    pub signing_key: Option<SinkText>,
    /// Most messages in a second, on the average.
    pub rate: f64,
    /// Whom mail comes from.
    pub from: String,
    /// Whom mail goes to.
    pub to: Vec<String>,
}

impl SinkKind {
    /// Most messages in a second, on the average, where a sink does not say otherwise: what those
    /// services take from one sender.
    #[must_use]
    pub const fn rate(self) -> f64 {
        match self {
            Self::Discord => 0.5,
            Self::Slack | Self::Email => 1.0,
            Self::Webhook => 10.0,
        }
    }
}

/// All that is set about notifications.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// By name.
    pub sinks: BTreeMap<String, Sink>,
    /// In the order of the file; each that fits counts.
    pub rules: Vec<Rule>,
    /// When whose problems are told to nobody.
    pub maintenance: Vec<Maintenance>,
    /// How long after a check's first failure nothing is told of it, so that it can be seen
    /// whether most others fail too.
    pub group_wait: Duration,
    /// How many targets at least fail the same way before that is taken for an own fault.
    pub own_fault_min: u32,
    /// How long a notification is tried before it is given up.
    pub give_up: Duration,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            sinks: BTreeMap::new(),
            rules: Vec::new(),
            maintenance: Vec::new(),
            group_wait: Duration::from_secs(10),
            own_fault_min: 5,
            give_up: Duration::from_hours(24),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// E5: the words are fixed.
    #[test]
    fn words_are_fixed() {
        assert_eq!(SinkKind::ALL.map(SinkKind::as_str), ["discord", "slack", "webhook", "email"]);
        assert_eq!(
            ProblemState::ALL.map(ProblemState::as_str),
            ["unhealthy", "unknown", "offline", "restarting", "updating", "quarantined"]
        );
        assert_eq!(
            NotificationKind::ALL.map(NotificationKind::as_str),
            ["problem", "recovery", "reminder", "group", "test"]
        );
        assert_eq!(DeliveryState::ALL.map(DeliveryState::as_str), ["pending", "delivered", "dead"]);
    }

    /// E5: what is empty selects all; what is not has to fit.
    #[test]
    fn targets_are_selected_by_id_and_label() {
        let labels = BTreeMap::from([("team".to_owned(), "sales".to_owned())]);
        assert!(Selection::default().has("web", &labels));
        let of_sales = Selection { labels: labels.clone(), ..Selection::default() };
        assert!(of_sales.has("web", &labels) && !of_sales.has("web", &BTreeMap::new()));
        let web = Selection { targets: vec!["web".into()], ..of_sales };
        assert!(web.has("web", &labels) && !web.has("db", &labels));
    }
}
