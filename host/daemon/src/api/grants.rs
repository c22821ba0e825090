//! `GET /api/v1/targets/{id}/grants`: what its checks may reach, and why (contract G2).

use axum::Json;
use axum::extract::rejection::PathRejection;
use axum::extract::{Path, State};
use serde::Serialize;
use utoipa::ToSchema;

use super::Api;
use super::error::{ApiError, ErrorBody};
use crate::app::{Reach, reach};

/// What the checks of a target may reach, in the order of their names.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct GrantsView {
    checks: Vec<Reach>,
}

/// What the checks of a target may reach, and why.
#[utoipa::path(get, path = "/targets/{id}/grants", tag = "targets", params(("id" = String, Path)),
    responses((status = 200, body = GrantsView), (status = "default", body = ErrorBody)))]
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
