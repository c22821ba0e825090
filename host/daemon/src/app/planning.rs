//! What each check will reach: its plan, held against its config and the operator's grants.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use probehost_model::grant::{Grants, grant_line, named_in, texts_in};
use probehost_model::{Endpoint, Outcome, Plan, Reason};
use probehost_sandbox::{PlanError, Plugin};
use serde_json::Value;

use super::Kinds;

/// What a check comes to before any network.
#[derive(Debug)]
pub enum Planned {
    /// It can be probed.
    Ready {
        /// What is probed, for people.
        subject: String,
        /// What the probe may reach.
        grants: Arc<Grants>,
        /// The plan itself.
        plan: Plan,
    },
    /// It can't be, and that is its outcome.
    Refused {
        /// What would be probed, for people; empty when not even that is known.
        subject: String,
        /// A `config` failure (contract P2), or inconclusive by a fault of the plugin (P5).
        outcome: Outcome,
        /// What is wrong with the config, and where in it; none when it is not the config.
        wrong: Option<(String, String)>,
        /// What it asked for and was not granted, each with the line that would grant it.
        denied: Vec<String>,
    },
}

impl Planned {
    /// What is probed, for people; empty when that is not known.
    #[must_use]
    pub fn subject(&self) -> &str {
        match self {
            Self::Ready { subject, .. } | Self::Refused { subject, .. } => subject,
        }
    }
}

/// The plans that were made, by plugin and config. A plan is pure, so it holds for as long as
/// both stay.
#[derive(Debug, Default)]
pub(crate) struct Plans(Mutex<HashMap<String, OfPlugin>>);

#[derive(Debug)]
struct OfPlugin {
    plugin: Plugin,
    plans: HashMap<Arc<str>, Arc<Planned>>,
}

/// Configs that are kept per plugin. There is one for each check; what is over was of checks
/// that have changed since.
const MOST: usize = 100_000;

impl Plans {
    /// The plan of a config (JSON text), made now unless it is known.
    pub(crate) async fn get(
        &self,
        kinds: &Kinds,
        plugin: &Plugin,
        config: &Arc<str>,
    ) -> Arc<Planned> {
        let name = &plugin.manifest().name;
        if let Some(known) = self.known(name, plugin, config) {
            return known;
        }
        let answer = plugin.plan(config).await;
        // What a fault of the plugin was may be gone the next time: that is not kept.
        let keep = !matches!(answer, Err(PlanError::Fault { .. }));
        let planned = Arc::new(judge(kinds, name, config, answer));
        if keep {
            self.keep(name, plugin, config, &planned);
        }
        planned
    }

    /// Forgets all plans: what the operator allows has changed.
    pub(crate) fn clear(&self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }

    fn known(&self, name: &str, plugin: &Plugin, config: &str) -> Option<Arc<Planned>> {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let of_plugin = all.get(name).filter(|of_plugin| same(&of_plugin.plugin, plugin))?;
        of_plugin.plans.get(config).map(Arc::clone)
    }

    fn keep(&self, name: &str, plugin: &Plugin, config: &Arc<str>, planned: &Arc<Planned>) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let fresh = || OfPlugin { plugin: plugin.clone(), plans: HashMap::new() };
        let of_plugin = all.entry(name.to_owned()).or_insert_with(fresh);
        if !same(&of_plugin.plugin, plugin) || of_plugin.plans.len() >= MOST {
            *of_plugin = fresh();
        }
        of_plugin.plans.insert(Arc::clone(config), Arc::clone(planned));
    }
}

/// Whether two handles are of one loaded plugin. Another load of the same version is another.
fn same(one: &Plugin, other: &Plugin) -> bool {
    std::ptr::eq(one.manifest(), other.manifest())
}

/// Holds a plan against what the config names and what the operator allows (contract G2).
fn judge(kinds: &Kinds, kind: &str, config: &str, answer: Result<Plan, PlanError>) -> Planned {
    let plan = match answer {
        Ok(plan) => plan,
        Err(error) => return refused(error),
    };
    let config: Value = serde_json::from_str(config).unwrap_or(Value::Null);
    let allowed = kinds.allowed(kind);
    let (named, others): (Vec<_>, Vec<_>) =
        plan.endpoints.iter().cloned().partition(|endpoint| named_in(&config, endpoint));
    let denied: Vec<String> = others
        .iter()
        .filter(|endpoint| !allowed.iter().any(|pattern| pattern.matches(endpoint)))
        .map(|endpoint| {
            let line = grant_line(kind, endpoint);
            format!("{kind} wants {endpoint}, which the check's config does not name; to grant it, add {line}")
        })
        .collect();
    match denied.first() {
        Some(first) => Planned::Refused {
            subject: plan.subject,
            outcome: Outcome::fail(Reason::Config, first),
            wrong: Some((String::new(), first.clone())),
            denied,
        },
        None => {
            let mut grants = Grants::new(named, allowed);
            // SSH has use of what is on this machine: keys, an agent, secrets. Headers of HTTP can
            // be secrets; most checks name none, so nothing is kept for them.
            if plan.endpoints.iter().any(|endpoint| matches!(endpoint, Endpoint::Ssh { .. })) {
                grants = grants.with_texts(texts_in(&config));
            } else if plan.endpoints.iter().any(|e| matches!(e, Endpoint::Http(_))) {
                let mut secrets = Vec::new();
                secrets_in(&config, &mut secrets);
                grants = grants.with_texts(secrets);
            }
            Planned::Ready { subject: plan.subject.clone(), grants: Arc::new(grants), plan }
        }
    }
}

/// The names that stand as `secret` in a config (contract M6).
fn secrets_in(config: &Value, names: &mut Vec<Box<str>>) {
    match config {
        Value::Array(items) => items.iter().for_each(|item| secrets_in(item, names)),
        Value::Object(entries) => {
            for (key, value) in entries {
                match value.as_str() {
                    Some(name) if key == "secret" => names.push(name.into()),
                    _ => secrets_in(value, names),
                }
            }
        }
        _ => {}
    }
}

fn refused(error: PlanError) -> Planned {
    let text = error.to_string();
    match error {
        PlanError::Config { path, message } => Planned::Refused {
            subject: String::new(),
            outcome: Outcome::fail(Reason::Config, &text),
            wrong: Some((path, message)),
            denied: Vec::new(),
        },
        _ => Planned::Refused {
            subject: String::new(),
            outcome: Outcome::inconclusive(&text),
            wrong: None,
            denied: Vec::new(),
        },
    }
}
