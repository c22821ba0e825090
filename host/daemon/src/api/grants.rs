//! `GET /api/v1/targets/{id}/grants`: what its checks may reach, and why (contract G2).

use axum::Json;
use axum::extract::rejection::PathRejection;
use axum::extract::{Path, State};
use serde::Serialize;

use super::Api;
use super::error::ApiError;
use crate::app::{Reach, reach};

/// What the checks of a target may reach, in the order of their names.
#[derive(Debug, Serialize)]
pub(crate) struct GrantsView {
    checks: Vec<Reach>,
}

pub(crate) async fn of_target(
    State(api): State<Api>,
    id: Result<Path<String>, PathRejection>,
) -> Result<Json<GrantsView>, ApiError> {
    let Path(id) = id?;
    let stored = api.store.target(&id).await?.ok_or(ApiError::NoTarget(id))?;
    let mut checks = Vec::with_capacity(stored.target.checks.len());
    for check in &stored.target.checks {
        let allow = api.saver.allow(&check.kind).await;
        checks.push(reach(api.monitor.prober(), &allow, check).await);
    }
    Ok(Json(GrantsView { checks }))
}
