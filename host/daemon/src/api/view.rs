//! What the API shows of targets, checks, transitions and audit rows.

use std::collections::BTreeMap;
use std::time::Duration;

use probehost_model::{
    Action, AuditEntry, Check, CheckId, Reason, Record, Role, Runtime, Sample, Source, Status,
    Target, Timestamp, Transition, Trigger, WindowSummary,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::policy_view::LifecycleView;
use crate::app::CLOCK_TOLERANCE;

/// A target with the state of its checks.
#[derive(Debug, Serialize, Deserialize, utoipa::ToSchema)]
pub(crate) struct TargetView {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) labels: BTreeMap<String, String>,
    pub(crate) enabled: bool,
    pub(crate) source: Source,
    /// The worst of its checks: `unhealthy`, then `unknown`, then `healthy`.
    pub(crate) status: Status,
    pub(crate) updated_at: String,
    /// How a managed target is restarted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) runtime: Option<Runtime>,
    /// When it is, and when no more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) lifecycle: Option<LifecycleView>,
    pub(crate) checks: Vec<CheckView>,
}

/// A check with its record.
#[derive(Debug, Serialize, Deserialize, utoipa::ToSchema)]
pub(crate) struct CheckView {
    pub(crate) name: String,
    pub(crate) kind: String,
    pub(crate) role: Role,
    pub(crate) status: Status,
    /// Why the last conclusive probe failed; also below the threshold.
    pub(crate) reason: Option<Reason>,
    pub(crate) message: String,
    /// What is probed: a host and port.
    pub(crate) subject: String,
    /// Failures in a row, and how many make `unhealthy`.
    pub(crate) streak: u32,
    pub(crate) failure_threshold: u32,
    pub(crate) inconclusive_streak: u32,
    pub(crate) inconclusive_threshold: u32,
    /// When the last conclusive probe ended, and how long ago that is.
    pub(crate) checked_at: Option<String>,
    pub(crate) age_seconds: Option<f64>,
    /// No conclusive result for three intervals, or one from a time that has not come yet.
    pub(crate) stale: bool,
    pub(crate) last_success_at: Option<String>,
    pub(crate) last_attempt_at: Option<String>,
    /// Why the last probe was inconclusive.
    pub(crate) last_error: String,
    /// The effective interval; 0: scheduled probing is off.
    pub(crate) interval_seconds: f64,
    pub(crate) timeout_seconds: f64,
    /// Whether it is probed on schedule.
    pub(crate) probing_enabled: bool,
    /// Latency and error rate of the last hour (contract A4).
    pub(crate) window: WindowView,
    /// What keeps it from being probed: its plugin is missing or did not load (contract P9).
    pub(crate) problem: Option<String>,
    /// Left out where a list without it was asked for.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub(crate) config: Value,
    /// Its last runs, oldest first, where they were asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) recent: Option<Vec<RunView>>,
}

/// One conclusive run of a check.
#[derive(Debug, Serialize, Deserialize, utoipa::ToSchema)]
pub(crate) struct RunView {
    pub(crate) at: String,
    pub(crate) took_seconds: f64,
    pub(crate) failed: bool,
}

impl From<Sample> for RunView {
    fn from(run: Sample) -> Self {
        Self { at: run.at.to_string(), took_seconds: run.took.as_secs_f64(), failed: run.failed }
    }
}

/// What the last hour's probes of a check came to; since the host's start, when that is less.
#[derive(Debug, Serialize, Deserialize, utoipa::ToSchema)]
pub(crate) struct WindowView {
    /// Conclusive probes, 256 at most, and how many of them failed.
    pub(crate) count: u32,
    pub(crate) failed: u32,
    /// `failed` of `count`, from 0 to 1; none without a probe.
    pub(crate) error_rate: Option<f64>,
    /// How long those that passed took: half of them, 95 and 99 of 100 took no longer.
    pub(crate) p50_seconds: Option<f64>,
    pub(crate) p95_seconds: Option<f64>,
    pub(crate) p99_seconds: Option<f64>,
    /// The oldest probe in it.
    pub(crate) since: Option<String>,
}

impl From<WindowSummary> for WindowView {
    fn from(window: WindowSummary) -> Self {
        let seconds = |time: Option<Duration>| time.map(|time| time.as_secs_f64());
        Self {
            count: window.count,
            failed: window.failed,
            error_rate: window.error_rate,
            p50_seconds: seconds(window.p50),
            p95_seconds: seconds(window.p95),
            p99_seconds: seconds(window.p99),
            since: window.since.map(|at| at.to_string()),
        }
    }
}

impl TargetView {
    /// The view of a target at `now`; `window` gives that of a check, and `problem` says of a
    /// kind why it can't be probed.
    pub(crate) fn new(
        target: Target,
        mut records: BTreeMap<String, Record>,
        now: Timestamp,
        window: impl Fn(&CheckId) -> WindowSummary,
        problem: impl Fn(&str) -> Option<String>,
    ) -> Self {
        let enabled = target.enabled;
        let checks: Vec<CheckView> = target
            .checks
            .into_iter()
            .map(|check| {
                let record = records.remove(&check.name).unwrap_or_default();
                let problem = problem(&check.kind);
                let window = window(&CheckId::new(&target.id, &check.name));
                CheckView::new(check, record, now, enabled, window, problem)
            })
            .collect();
        Self {
            id: target.id,
            name: target.name,
            labels: target.labels,
            enabled,
            source: target.source,
            status: worst(checks.iter().map(|check| check.status)),
            updated_at: target.updated_at.to_string(),
            runtime: target.managed.as_ref().map(|managed| managed.runtime.clone()),
            lifecycle: target.managed.map(|managed| managed.policy.into()),
            checks,
        }
    }
}

impl CheckView {
    fn new(
        check: Check,
        record: Record,
        now: Timestamp,
        enabled: bool,
        window: WindowSummary,
        problem: Option<String>,
    ) -> Self {
        let age = record.checked_at.map(|at| now.since(at));
        let text = |at: Option<Timestamp>| at.map(|at| at.to_string());
        Self {
            name: check.name,
            kind: check.kind,
            role: check.role,
            status: record.status,
            reason: record.reason,
            message: record.message,
            subject: record.subject,
            streak: record.streak,
            failure_threshold: check.thresholds.failure,
            inconclusive_streak: record.inconclusive_streak,
            inconclusive_threshold: check.thresholds.inconclusive,
            checked_at: text(record.checked_at),
            age_seconds: age.map(|age| age.as_secs_f64()),
            stale: is_stale(record.checked_at, now, check.interval),
            last_success_at: text(record.last_success_at),
            last_attempt_at: text(record.last_attempt_at),
            last_error: record.last_error,
            interval_seconds: check.interval.map_or(0.0, |interval| interval.as_secs_f64()),
            timeout_seconds: check.timeout.as_secs_f64(),
            probing_enabled: enabled && check.interval.is_some() && problem.is_none(),
            window: window.into(),
            problem,
            config: check.config,
            recent: None,
        }
    }
}

/// Whether a result is past three effective intervals (contract S6). Without an interval nothing
/// is expected, and nothing is late. A result from a time that has not come yet (the clock was
/// set back) keeps later ones from landing, so that one is no news either.
fn is_stale(checked_at: Option<Timestamp>, now: Timestamp, interval: Option<Duration>) -> bool {
    let (Some(at), Some(interval)) = (checked_at, interval) else { return false };
    now.since(at) > interval * 3 || at > now.plus(CLOCK_TOLERANCE)
}

/// The worst of several statuses; `unknown` of none.
pub(crate) fn worst(statuses: impl IntoIterator<Item = Status>) -> Status {
    let rank = |status: &Status| match status {
        Status::Unhealthy => 2,
        Status::Unknown => 1,
        Status::Healthy => 0,
    };
    statuses.into_iter().max_by_key(rank).unwrap_or_default()
}

/// One change of a check's status.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(crate) struct TransitionView {
    pub(crate) id: i64,
    pub(crate) at: String,
    pub(crate) target: String,
    pub(crate) check: String,
    pub(crate) from: Status,
    pub(crate) to: Status,
    pub(crate) reason: Option<Reason>,
    pub(crate) message: String,
    pub(crate) streak: u32,
    pub(crate) trigger: Trigger,
}

impl From<Transition> for TransitionView {
    fn from(row: Transition) -> Self {
        Self {
            id: row.id,
            at: row.at.to_string(),
            target: row.check.target,
            check: row.check.check,
            from: row.from,
            to: row.to,
            reason: row.reason,
            message: row.message,
            streak: row.streak,
            trigger: row.trigger,
        }
    }
}

/// One row of the audit.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(crate) struct AuditView {
    pub(crate) id: i64,
    pub(crate) at: String,
    pub(crate) principal: String,
    pub(crate) action: Action,
    pub(crate) trigger: Option<Trigger>,
    pub(crate) target: String,
    pub(crate) check: Option<String>,
    pub(crate) from: Option<String>,
    pub(crate) to: Option<String>,
    pub(crate) outcome: String,
}

impl From<AuditEntry> for AuditView {
    fn from(row: AuditEntry) -> Self {
        Self {
            id: row.id,
            at: row.at.to_string(),
            principal: row.principal,
            action: row.action,
            trigger: row.trigger,
            target: row.target,
            check: row.check,
            from: row.from,
            to: row.to,
            outcome: row.outcome,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// S6: stale is past three effective intervals, and never when probing is off.
    #[test]
    fn stale_is_past_three_intervals() {
        let now = Timestamp::from_micros(1_764_456_769_000_000);
        let ago =
            |seconds: i64| Some(Timestamp::from_micros(now.as_micros() - seconds * 1_000_000));
        let minute = Some(Duration::from_secs(60));
        assert!(!is_stale(ago(180), now, minute));
        assert!(is_stale(ago(181), now, minute));
        assert!(!is_stale(ago(9999), now, None));
        assert!(!is_stale(None, now, minute));
        // A clock that is set a little back is nothing; a result from tomorrow is no news.
        assert!(!is_stale(ago(-5), now, minute));
        assert!(is_stale(ago(-86_400), now, minute));
    }

    #[test]
    fn the_worst_check_speaks_for_the_target() {
        use Status::{Healthy, Unhealthy, Unknown};
        assert_eq!(worst([]), Unknown);
        assert_eq!(worst([Healthy, Healthy]), Healthy);
        assert_eq!(worst([Healthy, Unknown]), Unknown);
        assert_eq!(worst([Unhealthy, Unknown, Healthy]), Unhealthy);
    }
}
