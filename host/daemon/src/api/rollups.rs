//! `GET /api/v1/targets/{id}/checks/{name}/history`: availability and latency by hour or by day
//! (contract A4).

use std::collections::BTreeMap;
use std::time::Duration;

use axum::Json;
use axum::extract::rejection::{PathRejection, QueryRejection};
use axum::extract::{Path, Query, State};
use probehost_model::{CheckId, Reason, Rollup, Step, Timestamp};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::Api;
use super::error::{ApiError, ErrorBody};

/// How far back.
#[derive(Debug, Clone, Copy, Default, Deserialize, Serialize, ToSchema)]
pub(crate) enum Range {
    #[default]
    #[serde(rename = "24h")]
    Day,
    #[serde(rename = "7d")]
    Week,
    #[serde(rename = "30d")]
    Month,
    #[serde(rename = "90d")]
    Quarter,
}

impl Range {
    /// The step, and how many of them.
    const fn steps(self) -> (Step, u32) {
        match self {
            Self::Day => (Step::Hour, 24),
            Self::Week => (Step::Hour, 7 * 24),
            Self::Month => (Step::Day, 30),
            Self::Quarter => (Step::Day, 90),
        }
    }
}

/// What can be asked of a check's history.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub(crate) struct HistoryAsk {
    /// How far back; a day without it.
    #[serde(default)]
    range: Range,
}

/// What a check did, period by period.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct HistoryView {
    range: Range,
    step_seconds: u32,
    /// The oldest first; the last one is not over yet. None is left out.
    buckets: Vec<BucketView>,
    /// The healthy share of the time that is known, 0 to 1; null when nothing is known.
    availability: Option<f64>,
}

/// What a check did in one period.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct BucketView {
    /// When it began.
    start: String,
    runs: u64,
    failed: u64,
    inconclusive: u64,
    #[schema(value_type = BTreeMap<String, u64>)]
    failures: BTreeMap<Reason, u64>,
    healthy_seconds: f64,
    unhealthy_seconds: f64,
    /// The rest of the period, up to now.
    unknown_seconds: f64,
    availability: Option<f64>,
    /// How long passes took; null without any.
    p50_seconds: Option<f64>,
    p95_seconds: Option<f64>,
    p99_seconds: Option<f64>,
}

impl BucketView {
    fn new(start: Timestamp, passed: Duration, rollup: &Rollup) -> Self {
        let unknown = passed.saturating_sub(rollup.healthy).saturating_sub(rollup.unhealthy);
        let quantile = |share| rollup.latency.quantile(share).map(|took| took.as_secs_f64());
        Self {
            start: start.to_string(),
            runs: rollup.runs,
            failed: rollup.failed(),
            inconclusive: rollup.inconclusive,
            failures: rollup.failures.clone(),
            healthy_seconds: rollup.healthy.as_secs_f64(),
            unhealthy_seconds: rollup.unhealthy.as_secs_f64(),
            unknown_seconds: unknown.as_secs_f64(),
            availability: rollup.availability(),
            p50_seconds: quantile(0.5),
            p95_seconds: quantile(0.95),
            p99_seconds: quantile(0.99),
        }
    }
}

/// What a check did, by hour or by day.
#[utoipa::path(get, path = "/targets/{id}/checks/{name}/history", tag = "history",
    params(("id" = String, Path), ("name" = String, Path), HistoryAsk),
    responses((status = 200, body = HistoryView), (status = "default", body = ErrorBody)))]
pub(crate) async fn history(
    State(api): State<Api>,
    path: Result<Path<(String, String)>, PathRejection>,
    ask: Result<Query<HistoryAsk>, QueryRejection>,
) -> Result<Json<HistoryView>, ApiError> {
    let Path((target, check)) = path?;
    let Query(HistoryAsk { range }) = ask.map_err(super::history::bad_query)?;
    // Also for the answer that there is no such target or check.
    api.check_seen(&target, &check).await?;
    let id = CheckId::new(&target, &check);
    let (step, count) = range.steps();
    let now = api.monitor.clock().now();
    let since = step.start_of(now).minus(step.span() * (count - 1));
    let live = api.monitor.rollups().live(&id);
    let rollups = api.store.rollups(&id, step, since, &live).await?;
    let mut all = Rollup::default();
    let mut buckets = Vec::new();
    for number in 0..count {
        let start = since.plus(step.span() * number);
        let known = rollups.get(&start);
        let passed = now.since(start).min(step.span());
        buckets.push(BucketView::new(start, passed, known.unwrap_or(&Rollup::default())));
        if let Some(rollup) = known {
            all.merge(rollup);
        }
    }
    let step_seconds = step.seconds();
    Ok(Json(HistoryView { range, step_seconds, buckets, availability: all.availability() }))
}
