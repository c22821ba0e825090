//! `GET /api/v1/targets` and `/api/v1/targets/{id}`.

use axum::Json;
use axum::extract::rejection::{PathRejection, QueryRejection};
use axum::extract::{Path, Query, State};
use probehost_model::CheckId;
use probehost_store::StoredTarget;
use serde::{Deserialize, Serialize};

use super::Api;
use super::error::ApiError;
use super::recent::{ListAsk, OneAsk};
use super::view::TargetView;

/// All targets, in ascending order of id.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Targets {
    pub(crate) targets: Vec<TargetView>,
}

pub(crate) async fn list(
    State(api): State<Api>,
    ask: Result<Query<ListAsk>, QueryRejection>,
) -> Result<Json<Targets>, ApiError> {
    let wanted = ListAsk::read(ask)?;
    let now = api.monitor.clock().now();
    let stored = api.store.targets().await?.into_iter();
    let wanted_targets = stored.filter(|stored| wanted.takes(stored, now));
    let targets = wanted_targets.map(|stored| wanted.fill(&api, view(&api, stored))).collect();
    Ok(Json(Targets { targets }))
}

pub(crate) async fn one(
    State(api): State<Api>,
    id: Result<Path<String>, PathRejection>,
    ask: Result<Query<OneAsk>, QueryRejection>,
) -> Result<Json<TargetView>, ApiError> {
    let Path(id) = id?;
    let wanted = OneAsk::read(ask)?;
    Ok(Json(wanted.fill(&api, view_of(&api, id).await?)))
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
