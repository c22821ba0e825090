//! What the API shows of a restart policy.

use std::time::Duration;

use probehost_model::lifecycle::Policy;
use serde::{Deserialize, Serialize};

/// A policy, with the keys and units of the configuration file.
#[derive(Debug, Clone, Serialize, Deserialize, utoipa::ToSchema)]
pub(crate) struct LifecycleView {
    base: f64,
    multiplier: f64,
    cap: f64,
    jitter: f64,
    max_restarts: u32,
    healthy_reset: f64,
    start_budget: f64,
    /// 0: off.
    quarantine_retry: f64,
}

impl From<Policy> for LifecycleView {
    fn from(policy: Policy) -> Self {
        let seconds = |time: Duration| time.as_secs_f64();
        Self {
            base: seconds(policy.base),
            multiplier: policy.multiplier,
            cap: seconds(policy.cap),
            jitter: policy.jitter,
            max_restarts: policy.max_restarts,
            healthy_reset: seconds(policy.healthy_reset),
            start_budget: seconds(policy.start_budget),
            quarantine_retry: policy.quarantine_retry.map_or(0.0, seconds),
        }
    }
}
