//! What the API shows of managed targets.

use std::collections::BTreeMap;

use probehost_healer::Instance;
use probehost_model::lifecycle::{
    AttemptPhase, LifecycleState, UpdateVerdict, is_poolable, update_verdict,
};
use probehost_model::{Layer, Reason, Runtime, Timestamp, WindowSummary};
use probehost_store::StoredTransition;
use serde::Serialize;

use super::policy_view::LifecycleView;
use super::view::{CheckView, WindowView};

/// A managed target with its lifecycle.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(crate) struct InstanceView {
    /// The target's.
    id: String,
    name: String,
    enabled: bool,
    state: LifecycleState,
    /// When it came into this state, and why.
    since: String,
    reason: Option<Reason>,
    message: String,
    /// Whether routers may send it work.
    poolable: bool,
    /// Restarts in a row that did not hold, and how many lead to quarantine.
    failures: u32,
    max_restarts: u32,
    /// Restarts that were issued, ever.
    restarts: u64,
    /// `offline`: when the next restart is due; `quarantined`: the next probe that may end it.
    next_attempt_at: Option<String>,
    next_attempt_in_seconds: Option<f64>,
    /// The last restart, while it matters.
    attempt: Option<AttemptView>,
    /// The update under way.
    update: Option<UpdateView>,
}

#[derive(Debug, Serialize, utoipa::ToSchema)]
struct AttemptView {
    number: u64,
    phase: AttemptPhase,
    decided_at: String,
    issued_at: Option<String>,
    started_at: Option<String>,
}

#[derive(Debug, Serialize, utoipa::ToSchema)]
struct UpdateView {
    began_at: String,
    /// What the host advises the update manager, who decides.
    verdict: Option<UpdateVerdict>,
}

impl InstanceView {
    pub(crate) fn new(instance: &Instance, now: Timestamp) -> Self {
        let text = |at: Option<Timestamp>| at.map(|at| at.to_string());
        let record = &instance.record;
        let policy = &instance.managed.policy;
        Self {
            id: instance.target.clone(),
            name: instance.name.clone(),
            enabled: instance.enabled,
            state: record.state,
            since: record.since.to_string(),
            reason: record.reason,
            message: record.message.clone(),
            poolable: instance.enabled && is_poolable(record),
            failures: record.failures,
            max_restarts: policy.max_restarts,
            restarts: record.restarts,
            next_attempt_at: text(record.next_attempt_at),
            next_attempt_in_seconds: record.next_attempt_at.map(|at| at.since(now).as_secs_f64()),
            attempt: record.attempt.as_ref().map(|attempt| AttemptView {
                number: attempt.number,
                phase: attempt.phase,
                decided_at: attempt.decided_at.to_string(),
                issued_at: text(attempt.issued_at),
                started_at: text(attempt.started_at),
            }),
            update: record.update.as_ref().map(|update| UpdateView {
                began_at: update.began_at.to_string(),
                verdict: update_verdict(record, policy, now),
            }),
        }
    }
}

/// All that is known of a managed target.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(crate) struct InstanceReport {
    #[serde(flatten)]
    instance: InstanceView,
    runtime: Runtime,
    /// When it is restarted, and when no more; every layer applied.
    lifecycle: LifecycleView,
    checks: Vec<CheckReport>,
    /// Changes of the lifecycle state, newest first; the last hundred.
    history: Vec<LifecycleTransitionView>,
}

/// A check, with what it says of each layer.
#[derive(Debug, Serialize, utoipa::ToSchema)]
struct CheckReport {
    #[serde(flatten)]
    check: CheckView,
    /// Windows of the last hour, from the lowest layer up.
    layers: Vec<LayerView>,
}

#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(crate) struct LayerView {
    layer: Layer,
    #[serde(flatten)]
    window: WindowView,
}

impl From<(Layer, WindowSummary)> for LayerView {
    fn from((layer, window): (Layer, WindowSummary)) -> Self {
        Self { layer, window: window.into() }
    }
}

impl InstanceReport {
    pub(crate) fn new(
        instance: &Instance,
        now: Timestamp,
        checks: Vec<CheckView>,
        mut layers: BTreeMap<String, Vec<LayerView>>,
        history: Vec<LifecycleTransitionView>,
    ) -> Self {
        let checks = checks.into_iter().map(|check| {
            let layers = layers.remove(&check.name).unwrap_or_default();
            CheckReport { check, layers }
        });
        Self {
            instance: InstanceView::new(instance, now),
            runtime: instance.managed.runtime.clone(),
            lifecycle: instance.managed.policy.into(),
            checks: checks.collect(),
            history,
        }
    }
}

/// One change of the lifecycle state.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(crate) struct LifecycleTransitionView {
    id: i64,
    at: String,
    from: LifecycleState,
    to: LifecycleState,
    reason: Option<Reason>,
    message: String,
    /// Restarts in a row that did not hold, up to here.
    failures: u32,
    /// The restart it is about.
    attempt: Option<u64>,
    principal: String,
}

impl From<StoredTransition> for LifecycleTransitionView {
    fn from(row: StoredTransition) -> Self {
        let made = row.transition;
        Self {
            id: row.id,
            at: made.at.to_string(),
            from: made.from,
            to: made.to,
            reason: made.reason,
            message: made.message,
            failures: made.failures,
            attempt: made.attempt,
            principal: row.principal,
        }
    }
}
