//! `GET /api/v1/targets` and `/api/v1/targets/{id}`.

use axum::Json;
use axum::extract::rejection::PathRejection;
use axum::extract::{Path, State};
use probehost_model::CheckId;
use probehost_store::StoredTarget;
use serde::{Deserialize, Serialize};

use super::Api;
use super::error::ApiError;
use super::view::TargetView;

/// All targets, in ascending order of id.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Targets {
    pub(crate) targets: Vec<TargetView>,
}

pub(crate) async fn list(State(api): State<Api>) -> Result<Json<Targets>, ApiError> {
    let stored = api.store.targets().await?;
    Ok(Json(Targets { targets: stored.into_iter().map(|target| view(&api, target)).collect() }))
}

pub(crate) async fn one(
    State(api): State<Api>,
    id: Result<Path<String>, PathRejection>,
) -> Result<Json<TargetView>, ApiError> {
    let Path(id) = id?;
    Ok(Json(view_of(&api, id).await?))
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
