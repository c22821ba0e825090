//! When a managed target is restarted, and when it is given up: the values, and the layers
//! they come from (contract L3, L4, L5, L7, L10).

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// The restart policy of one target, with every layer applied.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Policy {
    /// Wait before the first restart. 1 ms to 1 day; 1 s by default.
    pub base: Duration,
    /// What the wait grows by with every restart that did not hold. 1 to 100; 2 by default.
    pub multiplier: f64,
    /// Longest wait. `base` to 1 day; 5 min by default.
    pub cap: Duration,
    /// How far a wait is spread, as a part of itself. 0 to 1; 0.2 by default: enough to take
    /// apart what failed together, and too little to hold up the first restart.
    pub jitter: f64,
    /// Restarts in a row that do not hold until the target is quarantined. 1 to 1000;
    /// 5 by default: half a minute of waits, so that a slow dependency can come back, and few
    /// enough that a broken target is not hammered.
    pub max_restarts: u32,
    /// How long a target must be up without a break until its failures are forgotten. 1 s to
    /// 7 days; 10 min by default, twice `cap`: a target that dies as often as the longest wait
    /// never passes for a well one.
    pub healthy_reset: Duration,
    /// How long a restarted target may take to become ready. 1 s to 1 day; 1 min by
    /// default. Servers that load a model or an index want more.
    pub start_budget: Duration,
    /// Wait before a quarantined target is probed for having come back by itself; it doubles
    /// with each such probe, up to a day. None, the default: only an operator or an update ends
    /// a quarantine. 1 min to 7 days. Such a probe restarts nothing.
    pub quarantine_retry: Option<Duration>,
}

impl Default for Policy {
    fn default() -> Self {
        Self {
            base: Duration::from_secs(1),
            multiplier: 2.0,
            cap: Duration::from_mins(5),
            jitter: 0.2,
            max_restarts: 5,
            healthy_reset: Duration::from_mins(10),
            start_budget: Duration::from_mins(1),
            quarantine_retry: None,
        }
    }
}

/// What one layer says; the rest comes from the layers under it.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct PartialPolicy {
    /// See [`Policy::base`].
    pub base: Option<Duration>,
    /// See [`Policy::multiplier`].
    pub multiplier: Option<f64>,
    /// See [`Policy::cap`].
    pub cap: Option<Duration>,
    /// See [`Policy::jitter`].
    pub jitter: Option<f64>,
    /// See [`Policy::max_restarts`].
    pub max_restarts: Option<u32>,
    /// See [`Policy::healthy_reset`].
    pub healthy_reset: Option<Duration>,
    /// See [`Policy::start_budget`].
    pub start_budget: Option<Duration>,
    /// See [`Policy::quarantine_retry`]; zero turns it off, also over a layer that sets it.
    pub quarantine_retry: Option<Duration>,
}

/// What is wrong with a policy.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PolicyError {
    /// A value out of its range.
    #[error("{key} is {value}; it must be from {low} to {high}")]
    Range {
        /// The key.
        key: &'static str,
        /// Its value.
        value: String,
        /// The least.
        low: String,
        /// The most.
        high: String,
    },
    /// The cap is under the base: perhaps each comes from another layer.
    #[error("cap is {cap}, under base, which is {base}; raise cap or lower base")]
    CapUnderBase {
        /// The cap.
        cap: String,
        /// The base.
        base: String,
    },
}

impl PolicyError {
    /// The key that is wrong, as [`Policy`] names it.
    #[must_use]
    pub const fn key(&self) -> &'static str {
        match self {
            Self::Range { key, .. } => key,
            Self::CapUnderBase { .. } => "cap",
        }
    }
}

impl PartialPolicy {
    /// The policy of a target: what the target says goes over what its kinds say, that over
    /// the global layer, and that over the defaults (contract L10). Of several kinds the
    /// first that says something counts: give those of the liveness checks first, in the
    /// order of the checks.
    ///
    /// # Errors
    /// The first value out of its range, or a cap under the base.
    pub fn resolve<'a>(
        target: &'a Self,
        kinds: impl IntoIterator<Item = &'a Self>,
        global: &'a Self,
    ) -> Result<Policy, PolicyError> {
        let layers = std::iter::once(target).chain(kinds).chain(std::iter::once(global));
        let whole = layers.fold(Self::default(), |over, under| over.or(under));
        let plain = Policy::default();
        let policy = Policy {
            base: whole.base.unwrap_or(plain.base),
            multiplier: whole.multiplier.unwrap_or(plain.multiplier),
            cap: whole.cap.unwrap_or(plain.cap),
            jitter: whole.jitter.unwrap_or(plain.jitter),
            max_restarts: whole.max_restarts.unwrap_or(plain.max_restarts),
            healthy_reset: whole.healthy_reset.unwrap_or(plain.healthy_reset),
            start_budget: whole.start_budget.unwrap_or(plain.start_budget),
            quarantine_retry: whole.quarantine_retry.filter(|wait| !wait.is_zero()),
        };
        if let Some(error) = whole.errors().into_iter().next() {
            return Err(error);
        }
        if policy.cap < policy.base {
            let [cap, base] = [policy.cap, policy.base].map(|t| format!("{} s", t.as_secs_f64()));
            return Err(PolicyError::CapUnderBase { cap, base });
        }
        Ok(policy)
    }

    fn or(self, under: &Self) -> Self {
        Self {
            base: self.base.or(under.base),
            multiplier: self.multiplier.or(under.multiplier),
            cap: self.cap.or(under.cap),
            jitter: self.jitter.or(under.jitter),
            max_restarts: self.max_restarts.or(under.max_restarts),
            healthy_reset: self.healthy_reset.or(under.healthy_reset),
            start_budget: self.start_budget.or(under.start_budget),
            quarantine_retry: self.quarantine_retry.or(under.quarantine_retry),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn secs(seconds: u64) -> Option<Duration> {
        Some(Duration::from_secs(seconds))
    }

    /// L10: target over kind over global over defaults, value by value.
    #[test]
    fn layers_go_over_one_another() {
        let global = PartialPolicy {
            base: secs(3),
            cap: secs(90),
            max_restarts: Some(9),
            quarantine_retry: secs(3600),
            ..PartialPolicy::default()
        };
        let first = PartialPolicy { cap: secs(80), ..PartialPolicy::default() };
        let second = PartialPolicy { cap: secs(70), jitter: Some(0.0), ..PartialPolicy::default() };
        let target = PartialPolicy {
            max_restarts: Some(1),
            quarantine_retry: secs(0),
            ..PartialPolicy::default()
        };
        let policy = PartialPolicy::resolve(&target, [&first, &second], &global).unwrap();
        let expected = Policy {
            base: Duration::from_secs(3),
            cap: Duration::from_secs(80),
            jitter: 0.0,
            max_restarts: 1,
            quarantine_retry: None,
            ..Policy::default()
        };
        assert_eq!(policy, expected);
    }

    /// L3: the defaults that the contract gives, and that they pass their own ranges.
    #[test]
    fn defaults_are_the_contracts() {
        let none = PartialPolicy::default();
        let policy = PartialPolicy::resolve(&none, [], &none).unwrap();
        assert_eq!(policy, Policy::default());
        assert_eq!((policy.base, policy.multiplier), (Duration::from_secs(1), 2.0));
        assert_eq!((policy.cap, policy.quarantine_retry), (Duration::from_secs(300), None));
        let whole = PartialPolicy {
            base: Some(policy.base),
            multiplier: Some(policy.multiplier),
            cap: Some(policy.cap),
            jitter: Some(policy.jitter),
            max_restarts: Some(policy.max_restarts),
            healthy_reset: Some(policy.healthy_reset),
            start_budget: Some(policy.start_budget),
            quarantine_retry: None,
        };
        assert_eq!(whole.errors(), []);
    }
}
