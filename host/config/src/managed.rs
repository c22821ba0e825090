//! The second look at managed targets: every layer of the policy applied, and what can only be
//! judged when all of the file is known (contract L9, L10).

use std::collections::BTreeSet;
use std::fmt;

use probehost_model::lifecycle::{PartialPolicy, Policy, PolicyError};
use probehost_model::{Managed, Role, Runtime};

use crate::Config;
use crate::error::ConfigError;
use crate::lifecycle::RawManaged;
use crate::problem::{Problem, shown};
use crate::settings::Places;
use crate::span::Span;
use crate::targets::RawTarget;
use crate::walk::write_key;

/// Makes targets managed, and keeps what is wrong with them.
pub(crate) struct Managing<'c> {
    config: &'c Config,
    pub(crate) errors: Vec<ConfigError>,
    /// Keys outside of the targets that were told of: each is named once, with its first target.
    told: BTreeSet<String>,
}

/// One layer of a target's policy.
struct Layer<'c> {
    from: Origin<'c>,
    policy: &'c PartialPolicy,
    places: &'c Places,
}

/// Who says what is in a layer.
#[derive(Clone, Copy)]
enum Origin<'c> {
    Target(usize),
    Kind(&'c str),
    Global,
}

impl<'c> Managing<'c> {
    pub(crate) const fn new(config: &'c Config) -> Self {
        Self { config, errors: Vec::new(), told: BTreeSet::new() }
    }

    /// None: the target has no runtime, or one that was reported.
    pub(crate) fn target(&mut self, target: &'c RawTarget) -> Option<Managed> {
        let raw = target.managed.as_deref()?;
        let before = self.errors.len();
        let at = format!("targets[{}].runtime", target.index);
        if !target.checks.iter().any(|check| check.role == Role::Liveness) {
            self.report(&raw.span, at.clone(), Problem::NoLiveness);
        }
        if let Runtime::Command(name) = &raw.runtime
            && !self.config.commands.contains_key(name)
        {
            let known = self.config.commands.keys().cloned().collect();
            let problem = Problem::UnknownCommand { given: shown(name), known };
            self.report(&raw.name_span, format!("{at}.command"), problem);
        }
        let policy = self.policy(target, raw)?;
        let runtime = raw.runtime.clone();
        (self.errors.len() == before).then_some(Managed { runtime, policy })
    }

    fn policy(&mut self, target: &'c RawTarget, raw: &'c RawManaged) -> Option<Policy> {
        let config = self.config;
        let own =
            Layer { from: Origin::Target(target.index), policy: &raw.policy, places: &raw.places };
        let of = |role| target.checks.iter().filter(move |check| check.role == role);
        let kinds = of(Role::Liveness).chain(of(Role::Readiness)).filter_map(|check| {
            let (kind, plugin) = config.plugins.by_name.get_key_value(&check.kind)?;
            let places = &plugin.lifecycle_places;
            Some(Layer { from: Origin::Kind(kind), policy: &plugin.lifecycle, places })
        });
        let kinds: Vec<_> = kinds.collect();
        let (global, places) = (&config.lifecycle.policy, &config.lifecycle.places);
        match PartialPolicy::resolve(own.policy, kinds.iter().map(|kind| kind.policy), global) {
            Ok(policy) => Some(policy),
            Err(error) => {
                let last = Layer { from: Origin::Global, policy: global, places };
                let layers: Vec<_> =
                    std::iter::once(own).chain(kinds).chain(std::iter::once(last)).collect();
                self.contradiction(target, raw, &layers, error);
                None
            }
        }
    }

    /// Cap and base, each right by itself, that don't go together: told at the nearer of the
    /// two, or at the runtime when neither stands in this text.
    fn contradiction(
        &mut self,
        target: &RawTarget,
        raw: &RawManaged,
        layers: &[Layer<'_>],
        error: PolicyError,
    ) {
        let cap = layers.iter().find(|layer| layer.policy.cap.is_some());
        let base = layers.iter().find(|layer| layer.policy.base.is_some());
        let nearest = layers.iter().find_map(|layer| {
            if layer.policy.cap.is_some() {
                return Some((layer.places.cap.as_ref()?, layer.from, "cap"));
            }
            Some((layer.places.base.as_ref()?, layer.from, "base"))
        });
        let [cap, base] = [cap, base].map(|layer| match layer {
            Some(layer) => format!("is set in {}", layer.from),
            None => "is the default".to_owned(),
        });
        let problem = Problem::Contradiction {
            target: target.id.clone(),
            error: Box::new(error),
            origins: format!("`cap` {cap}, `base` {base}"),
        };
        let Some((span, from, key)) = nearest else {
            return self.report(&raw.span, format!("targets[{}].runtime", target.index), problem);
        };
        let at = from.path(key);
        if matches!(from, Origin::Target(_)) || self.told.insert(at.clone()) {
            self.report(span, at, problem);
        }
    }

    fn report(&mut self, span: &Span, key: String, problem: Problem) {
        self.errors.push(self.config.source.error(span, key, problem));
    }
}

impl Origin<'_> {
    /// Where the key of this layer stands, such as `lifecycle.cap`.
    fn path(self, key: &str) -> String {
        match self {
            Self::Target(index) => format!("targets[{index}].lifecycle.{key}"),
            Self::Kind(kind) => format!("plugins.{}.lifecycle.{key}", written(kind)),
            Self::Global => format!("lifecycle.{key}"),
        }
    }
}

impl fmt::Display for Origin<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Target(_) => f.write_str("the target's own `lifecycle`"),
            Self::Kind(kind) => write!(f, "[plugins.{}.lifecycle]", written(kind)),
            Self::Global => f.write_str("[lifecycle]"),
        }
    }
}

fn written(kind: &str) -> String {
    let mut key = String::new();
    // Writing to a String cannot fail.
    let _ = write_key(&mut key, kind);
    key
}
