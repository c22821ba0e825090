//! The second look: with what the plugins say about their kinds, targets become whole.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use probehost_model::{
    Check, CheckId, Clamp, EffectiveInterval, IntervalBounds, Source, Target, Thresholds, Timestamp,
};
use serde_json::Value;

use crate::error::{ConfigError, ConfigErrors};
use crate::managed::Managing;
use crate::problem::Problem;
use crate::schema::Schema;
use crate::settings::IntervalOrigin;
use crate::source::Location;
use crate::targets::{RawCheck, RawTarget, path_of};
use crate::{Config, json};

/// What a plugin's manifest says about its kind.
#[derive(Debug, Clone, PartialEq)]
pub struct KindRules {
    /// How often its checks can run.
    pub interval: IntervalBounds,
    /// Deadline of a probe when the file names none.
    pub timeout: Duration,
    /// Failures in a row until `unhealthy` when the file names none.
    pub threshold: u32,
    /// The JSON Schema of a check's config.
    pub schema: Value,
}

/// What a check comes to whose kind is not installed (contract P9).
const UNKNOWN_KIND: KindRules = KindRules {
    interval: IntervalBounds { default: 60, minimum: 1, maximum: u32::MAX },
    timeout: Duration::from_secs(10),
    threshold: 2,
    schema: Value::Bool(true),
};

/// The targets, and what was noticed on the way.
#[derive(Debug)]
pub struct Resolved {
    /// In the order of the file.
    pub targets: Vec<Target>,
    /// Intervals that were changed, to be logged once each (contract S6). One that `[probes]`
    /// or the environment asked for is named once for each kind, with its first check.
    pub clamps: Vec<IntervalClamp>,
    /// Checks whose kind is not installed. They are among the targets all the same, and
    /// answer *not implemented* (contract P9).
    pub missing_kinds: Vec<MissingKind>,
    /// What the plugins' schemas refuse, and what is wrong with managed targets.
    pub errors: ConfigErrors,
}

/// An interval that was changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IntervalClamp {
    /// The check, or the first one of its kind.
    pub check: CheckId,
    /// Its probe kind.
    pub kind: String,
    /// What was changed.
    pub clamp: Clamp,
    /// What it came to.
    pub interval: Duration,
    /// Who asked for the interval.
    pub origin: IntervalOrigin,
    /// Where; none when the environment asked.
    pub location: Option<Location>,
}

/// A check whose kind is not installed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MissingKind {
    /// The check.
    pub check: CheckId,
    /// The kind that it names.
    pub kind: String,
    /// Where it does.
    pub location: Location,
}

/// A kind as far as it is known.
struct Kind {
    rules: KindRules,
    /// None: not installed, or its schema can't be used, which has been reported.
    schema: Option<Schema>,
    installed: bool,
}

impl Config {
    /// Judges every check by the rules of its kind; `rules` answers none for a kind that is
    /// not installed, and is asked once for each.
    ///
    /// A setting of the check goes before one of `[probes]`, which goes before the kind's own.
    /// The policy of a managed target has every layer applied (contract L10).
    #[must_use]
    pub fn resolve(&self, rules: &dyn Fn(&str) -> Option<KindRules>) -> Resolved {
        let mut resolver = Resolver {
            config: self,
            kinds: BTreeMap::new(),
            clamps: Vec::new(),
            clamped_kinds: BTreeSet::new(),
            missing_kinds: Vec::new(),
            managing: Managing::new(self),
            errors: Vec::new(),
        };
        let targets = self.targets.iter().map(|target| resolver.target(target, rules)).collect();
        let Resolver { clamps, missing_kinds, managing, mut errors, .. } = resolver;
        errors.extend(managing.errors);
        Resolved { targets, clamps, missing_kinds, errors: ConfigErrors::new(errors) }
    }
}

struct Resolver<'c> {
    config: &'c Config,
    kinds: BTreeMap<&'c str, Kind>,
    clamps: Vec<IntervalClamp>,
    clamped_kinds: BTreeSet<&'c str>,
    missing_kinds: Vec<MissingKind>,
    managing: Managing<'c>,
    errors: Vec<ConfigError>,
}

impl<'c> Resolver<'c> {
    fn target(&mut self, raw: &'c RawTarget, rules: &dyn Fn(&str) -> Option<KindRules>) -> Target {
        let mut checks: Vec<_> =
            raw.checks.iter().map(|check| self.check(raw, check, rules)).collect();
        checks.sort_by(|one, other| one.name.cmp(&other.name));
        Target {
            id: raw.id.clone(),
            name: raw.name.clone(),
            labels: raw.labels.clone(),
            enabled: raw.enabled,
            source: Source::File,
            updated_at: Timestamp::from_micros(0),
            managed: self.managing.target(raw),
            checks,
        }
    }

    fn check(
        &mut self,
        target: &'c RawTarget,
        raw: &'c RawCheck,
        rules: &dyn Fn(&str) -> Option<KindRules>,
    ) -> Check {
        let config = self.config;
        if !self.kinds.contains_key(raw.kind.as_str()) {
            let kind = self.kind(target, raw, rules(&raw.kind));
            self.kinds.insert(&raw.kind, kind);
        }
        let interval = self.interval(target, raw);
        let kind = self.kinds.get(raw.kind.as_str());
        if let Some(schema) = kind.and_then(|kind| kind.schema.as_ref()) {
            for violation in schema.violations(&raw.config) {
                let key = json::join(format!("{}.config", path_of(target, raw)), &violation.steps);
                let span = raw.config_node.find(&violation.steps, violation.at_key);
                let (message, help) = (violation.message, violation.help);
                self.errors.push(config.source.error(
                    &span,
                    key,
                    Problem::Schema { message, help },
                ));
            }
        }
        if kind.is_none_or(|kind| !kind.installed) {
            let key = format!("{}.kind", path_of(target, raw));
            self.missing_kinds.push(MissingKind {
                check: CheckId::new(&target.id, &raw.name),
                kind: raw.kind.clone(),
                location: config.source.location(&raw.kind_span, key),
            });
        }
        let rules = kind.map_or(&UNKNOWN_KIND, |kind| &kind.rules);
        let failure = raw
            .failure_threshold
            .or(config.probes.failure_threshold)
            .unwrap_or(rules.threshold)
            .max(1);
        let inconclusive = raw
            .inconclusive_threshold
            .or(config.probes.inconclusive_threshold)
            .unwrap_or(if target.managed.is_some() { 1 } else { failure });
        Check {
            name: raw.name.clone(),
            kind: raw.kind.clone(),
            role: raw.role,
            config: raw.config.clone(),
            interval,
            timeout: raw.timeout.or(config.probes.timeout).unwrap_or(rules.timeout),
            thresholds: Thresholds { failure, inconclusive },
        }
    }

    fn kind(&mut self, target: &RawTarget, raw: &RawCheck, rules: Option<KindRules>) -> Kind {
        let Some(mut rules) = rules else {
            return Kind { rules: UNKNOWN_KIND, schema: None, installed: false };
        };
        if rules.timeout.is_zero() {
            rules.timeout = UNKNOWN_KIND.timeout;
        }
        let schema = Schema::compile(&rules.schema).map_err(|error| {
            let key = format!("{}.kind", path_of(target, raw));
            let problem =
                Problem::PluginSchema { kind: raw.kind.clone(), message: error.to_string() };
            self.errors.push(self.config.source.error(&raw.kind_span, key, problem));
        });
        Kind { rules, schema: schema.ok(), installed: true }
    }

    fn interval(&mut self, target: &RawTarget, raw: &'c RawCheck) -> Option<Duration> {
        let probes = &self.config.probes;
        let (setting, origin) = if raw.interval.is_set() {
            (raw.interval, IntervalOrigin::Check)
        } else {
            (probes.interval, probes.interval_origin)
        };
        let bounds = self.kinds.get(raw.kind.as_str()).map_or(&UNKNOWN_KIND, |kind| &kind.rules);
        let EffectiveInterval { interval, clamp } = setting.effective(bounds.interval);
        if let (Some(clamp), Some(interval)) = (clamp, interval) {
            let location = match origin {
                IntervalOrigin::Check => raw.interval_span.as_ref().map(|span| {
                    let key = format!("{}.interval", path_of(target, raw));
                    self.config.source.location(span, key)
                }),
                IntervalOrigin::Probes => probes.interval_location.clone(),
                IntervalOrigin::Environment => None,
            };
            if origin == IntervalOrigin::Check || self.clamped_kinds.insert(&raw.kind) {
                self.clamps.push(IntervalClamp {
                    check: CheckId::new(&target.id, &raw.name),
                    kind: raw.kind.clone(),
                    clamp,
                    interval,
                    origin,
                    location,
                });
            }
        }
        interval
    }
}
