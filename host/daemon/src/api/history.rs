//! `GET /api/v1/transitions` and `/api/v1/audit`: newest first, paged by id.

use axum::Json;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, State};
use probehost_model::Action;
use probehost_store::{AuditFilter, MAX_PAGE, TransitionFilter};
use serde::{Deserialize, Serialize};
use utoipa::IntoParams;

use super::Api;
use super::error::{ApiError, ErrorBody};
use super::view::{AuditView, TransitionView};

const PAGE: u32 = 100;

/// What can be asked of the transitions.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub(crate) struct TransitionsAsk {
    /// Only of this target.
    target: Option<String>,
    /// Only of checks of this name.
    check: Option<String>,
    /// The `next_before` of the page before.
    before: Option<i64>,
    /// How many, 100 without it.
    #[param(minimum = 1, maximum = 1000)]
    limit: Option<u32>,
}

/// A page of transitions.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(crate) struct Transitions {
    transitions: Vec<TransitionView>,
    /// What to give as `before` for the next page; none: this is the last.
    next_before: Option<i64>,
}

/// Changes of status, newest first.
#[utoipa::path(get, path = "/transitions", tag = "history", params(TransitionsAsk),
    responses((status = 200, body = Transitions), (status = "default", body = ErrorBody)))]
pub(crate) async fn transitions(
    State(api): State<Api>,
    ask: Result<Query<TransitionsAsk>, QueryRejection>,
) -> Result<Json<Transitions>, ApiError> {
    let Query(ask) = ask.map_err(bad_query)?;
    let limit = page_size(ask.limit)?;
    let filter =
        TransitionFilter { target: ask.target, check: ask.check, before: ask.before, limit };
    let rows = api.store.transitions(&filter).await?;
    let next_before = next(limit, rows.len(), rows.last().map(|row| row.id));
    Ok(Json(Transitions { transitions: rows.into_iter().map(Into::into).collect(), next_before }))
}

/// What can be asked of the audit.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub(crate) struct AuditAsk {
    /// Only of this target.
    target: Option<String>,
    /// Only of checks of this name.
    check: Option<String>,
    /// Only of this action.
    action: Option<Action>,
    /// Only by this principal.
    principal: Option<String>,
    /// The `next_before` of the page before.
    before: Option<i64>,
    /// How many, 100 without it.
    #[param(minimum = 1, maximum = 1000)]
    limit: Option<u32>,
}

/// A page of the audit.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(crate) struct Audit {
    audit: Vec<AuditView>,
    /// What to give as `before` for the next page; none: this is the last.
    next_before: Option<i64>,
}

/// What was done, newest first.
#[utoipa::path(get, path = "/audit", tag = "history", params(AuditAsk),
    responses((status = 200, body = Audit), (status = "default", body = ErrorBody)))]
pub(crate) async fn audit(
    State(api): State<Api>,
    ask: Result<Query<AuditAsk>, QueryRejection>,
) -> Result<Json<Audit>, ApiError> {
    let Query(ask) = ask.map_err(bad_query)?;
    let limit = page_size(ask.limit)?;
    let filter = AuditFilter {
        target: ask.target,
        check: ask.check,
        action: ask.action,
        principal: ask.principal,
        before: ask.before,
        limit,
    };
    let rows = api.store.audit(&filter).await?;
    let next_before = next(limit, rows.len(), rows.last().map(|row| row.id));
    Ok(Json(Audit { audit: rows.into_iter().map(Into::into).collect(), next_before }))
}

pub(super) fn bad_query(rejection: QueryRejection) -> ApiError {
    ApiError::Bad(rejection.body_text())
}

fn page_size(asked: Option<u32>) -> Result<u32, ApiError> {
    match asked {
        None => Ok(PAGE),
        Some(limit) if (1..=MAX_PAGE).contains(&limit) => Ok(limit),
        Some(limit) => Err(ApiError::Bad(format!("limit: {limit} is not from 1 to {MAX_PAGE}"))),
    }
}

fn next(limit: u32, rows: usize, last: Option<i64>) -> Option<i64> {
    last.filter(|_| u32::try_from(rows).is_ok_and(|rows| rows == limit))
}
