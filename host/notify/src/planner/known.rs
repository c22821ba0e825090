//! What rules and messages need to know of a target.

use std::collections::BTreeMap;
use std::time::Duration;

use probehost_model::Target;
use probehost_model::notify::{ProblemState, Settings};

#[derive(Debug, Clone)]
pub(crate) struct Known {
    pub(crate) name: String,
    pub(crate) labels: BTreeMap<String, String>,
    pub(crate) enabled: bool,
    pub(crate) managed: bool,
    /// The kind of each check.
    checks: BTreeMap<String, String>,
}

impl From<Target> for Known {
    fn from(target: Target) -> Self {
        Self {
            name: target.name,
            labels: target.labels,
            enabled: target.enabled,
            managed: target.managed.is_some(),
            checks: target.checks.into_iter().map(|check| (check.name, check.kind)).collect(),
        }
    }
}

impl Known {
    /// Whether it has that check; or for no name, whether it has a lifecycle.
    pub(crate) fn has(&self, check: &str) -> bool {
        if check.is_empty() { self.managed } else { self.checks.contains_key(check) }
    }

    /// The sinks that are told of that state, and when each is reminded.
    pub(crate) fn told(
        &self,
        id: &str,
        check: &str,
        state: ProblemState,
        settings: &Settings,
    ) -> BTreeMap<String, Option<Duration>> {
        let mut sinks: BTreeMap<String, Option<Duration>> = BTreeMap::new();
        for rule in &settings.rules {
            let of_kind = |kind: &String| rule.kinds.is_empty() || rule.kinds.contains(kind);
            let kind_fits = if check.is_empty() {
                rule.kinds.is_empty() || self.checks.values().any(of_kind)
            } else {
                self.checks.get(check).is_some_and(of_kind)
            };
            if !kind_fits || !rule.states.contains(&state) || !rule.of.has(id, &self.labels) {
                continue;
            }
            for sink in rule.sinks.iter().filter(|sink| settings.sinks.contains_key(*sink)) {
                let repeat = sinks.entry(sink.clone()).or_default();
                // The more often of the two.
                *repeat = match (*repeat, rule.repeat) {
                    (Some(one), Some(other)) => Some(one.min(other)),
                    (one, other) => one.or(other),
                };
            }
        }
        sinks
    }
}
