//! Targets and their checks.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::words::words;
use crate::{CheckId, Managed, Thresholds, Timestamp};

/// What a check's result means for its target.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Role {
    /// Whether the target is up.
    #[default]
    Liveness,
    /// Whether it can take work.
    Readiness,
}

words!(Role, "role", {
    Liveness => "liveness",
    Readiness => "readiness",
});

/// Who owns a target's definition.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Source {
    /// The configuration file. Nothing else changes the target.
    File,
    /// A client of the API.
    Api,
}

words!(Source, "source", {
    File => "file",
    Api => "api",
});

/// One probe kind applied to one target, with every default already applied.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Check {
    /// Name within the target; see [`crate::check_id_text`].
    pub name: String,
    /// The probe kind: the name of a plugin.
    pub kind: String,
    /// What its result means for the target.
    pub role: Role,
    /// What the plugin reads. Always a JSON object.
    pub config: Value,
    /// The effective interval (contract S6). None: scheduled probing is off.
    pub interval: Option<Duration>,
    /// Deadline of one probe. Never zero.
    pub timeout: Duration,
    /// When failures count as `unhealthy`, and inconclusive probes as `unknown`.
    pub thresholds: Thresholds,
}

/// A thing being watched.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Target {
    /// Stable, never given to another target; see [`crate::check_id_text`].
    pub id: String,
    /// For people.
    pub name: String,
    /// For people and filters.
    pub labels: BTreeMap<String, String>,
    /// Whether it is probed on schedule. Its records are kept either way.
    pub enabled: bool,
    /// Who owns its definition.
    pub source: Source,
    /// Every change of the target makes this later (contract R2).
    pub updated_at: Timestamp,
    /// How it is restarted when it is down. None: it is only watched.
    pub managed: Option<Managed>,
    /// In ascending order of name.
    pub checks: Vec<Check>,
}

impl Target {
    /// The check of that name.
    #[must_use]
    pub fn check(&self, name: &str) -> Option<&Check> {
        self.checks.iter().find(|check| check.name == name)
    }

    /// The full name of one of its checks.
    #[must_use]
    pub fn check_id(&self, check: &Check) -> CheckId {
        CheckId::new(&self.id, &check.name)
    }
}
