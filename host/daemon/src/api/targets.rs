//! `GET /api/v1/targets` and `/api/v1/targets/{id}`.

use axum::Json;
use axum::extract::rejection::{PathRejection, QueryRejection};
use axum::extract::{Path, Query, RawQuery, State};
use probehost_model::CheckId;
use probehost_store::StoredTarget;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::Api;
use super::error::{ApiError, ErrorBody};
use super::list_query::{ListQuery, TargetsAsk};
use super::recent::{OneAsk, with_runs, without_configs};
use super::view::TargetView;

/// A page of targets, in ascending order of id.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub(crate) struct Targets {
    pub(crate) targets: Vec<TargetView>,
    /// What to give as `after` for the next page; none: this is the last.
    pub(crate) next_after: Option<String>,
}

/// Targets with the record of each of their checks.
#[utoipa::path(get, path = "/targets", tag = "targets", params(TargetsAsk),
    responses((status = 200, body = Targets), (status = "default", body = ErrorBody)))]
pub(crate) async fn list(
    State(api): State<Api>,
    RawQuery(query): RawQuery,
) -> Result<Json<Targets>, ApiError> {
    let now = api.monitor.clock().now();
    let ListQuery { mut filter, recent, configs } =
        ListQuery::read(query.as_deref().unwrap_or_default(), now)?;
    let limit = filter.limit;
    // One more than asked for tells whether there is a next page.
    filter.limit = limit.saturating_add(1);
    let mut stored = api.store.targets_page(&filter).await?;
    let wanted = usize::try_from(limit).unwrap_or(usize::MAX);
    let more = stored.len() > wanted;
    stored.truncate(wanted);
    let next_after = stored.last().filter(|_| more).map(|last| last.target.id.clone());
    let mut targets: Vec<_> = stored.into_iter().map(|target| view(&api, target)).collect();
    for target in &mut targets {
        if !configs {
            without_configs(target);
        }
        with_runs(&api, recent, target);
    }
    Ok(Json(Targets { targets, next_after }))
}

/// One target.
#[utoipa::path(get, path = "/targets/{id}", tag = "targets", params(("id" = String, Path), OneAsk),
    responses((status = 200, body = TargetView), (status = "default", body = ErrorBody)))]
pub(crate) async fn one(
    State(api): State<Api>,
    id: Result<Path<String>, PathRejection>,
    ask: Result<Query<OneAsk>, QueryRejection>,
) -> Result<Json<TargetView>, ApiError> {
    let Path(id) = id?;
    let recent = OneAsk::read(ask)?;
    let mut view = view_of(&api, id).await?;
    with_runs(&api, recent, &mut view);
    Ok(Json(view))
}

/// The target of that id as it is now.
pub(super) async fn view_of(api: &Api, id: String) -> Result<TargetView, ApiError> {
    let stored = api.store.target(&id).await?.ok_or(ApiError::NoTarget(id))?;
    Ok(view(api, stored))
}

fn view(api: &Api, stored: StoredTarget) -> TargetView {
    let now = api.monitor.clock().now();
    let window = |check: &CheckId| api.monitor.windows().summary(check, now);
    let problem = |kind: &str| api.monitor.prober().problem(kind);
    TargetView::new(stored.target, stored.records, now, window, problem)
}
