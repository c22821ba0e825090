//! Changes of targets: `POST /api/v1/targets`, `PUT` and `DELETE /api/v1/targets/{id}`, and
//! `POST /api/v1/targets/{id}/enable` and `/disable`. Those of the file are read-only here.

use axum::Json;
use axum::body::Bytes;
use axum::extract::rejection::{BytesRejection, PathRejection};
use axum::extract::{Path, State};
use axum::http::{StatusCode, header};
use axum::response::IntoResponse;
use serde_json::Value;

use super::bodies::TargetBody;
use super::error::ApiError;
use super::error::ErrorBody;
use super::targets::view_of;
use super::view::TargetView;
use super::{Api, Identity};

type Id = Result<Path<String>, PathRejection>;
type Body = Result<Bytes, BytesRejection>;

/// Creates a target.
#[utoipa::path(post, path = "/targets", tag = "targets", request_body = TargetBody, responses(
    (status = 201, body = TargetView, headers(("location" = String, description = "Its path."))),
    (status = "default", body = ErrorBody)))]
pub(crate) async fn create(
    State(api): State<Api>,
    who: Identity,
    body: Body,
) -> Result<impl IntoResponse, ApiError> {
    let id = api.saver.create(json(&body?)?, &who.principal).await?;
    let at = [(header::LOCATION, format!("/api/v1/targets/{id}"))];
    Ok((StatusCode::CREATED, at, Json(view_of(&api, id).await?)))
}

/// Makes a target what is sent, as a whole.
#[utoipa::path(put, path = "/targets/{id}", tag = "targets", params(("id" = String, Path)),
    request_body = TargetBody,
    responses((status = 200, body = TargetView), (status = "default", body = ErrorBody)))]
pub(crate) async fn replace(
    State(api): State<Api>,
    who: Identity,
    id: Id,
    body: Body,
) -> Result<Json<TargetView>, ApiError> {
    let Path(id) = id?;
    api.saver.replace(&id, json(&body?)?, &who.principal).await?;
    Ok(Json(view_of(&api, id).await?))
}

/// Deletes a target and its records. Its history and audit stay.
#[utoipa::path(delete, path = "/targets/{id}", tag = "targets", params(("id" = String, Path)),
    responses((status = 204), (status = "default", body = ErrorBody)))]
pub(crate) async fn delete(
    State(api): State<Api>,
    who: Identity,
    id: Id,
) -> Result<StatusCode, ApiError> {
    let Path(id) = id?;
    api.saver.delete(&id, &who.principal).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Has a target probed on schedule.
#[utoipa::path(post, path = "/targets/{id}/enable", tag = "targets", params(("id" = String, Path)),
    responses((status = 200, body = TargetView), (status = "default", body = ErrorBody)))]
pub(crate) async fn enable(
    State(api): State<Api>,
    who: Identity,
    id: Id,
) -> Result<Json<TargetView>, ApiError> {
    switch(&api, &who, id, true).await
}

/// Has a target probed no more. Its records stand.
#[utoipa::path(post, path = "/targets/{id}/disable", tag = "targets", params(("id" = String, Path)),
    responses((status = 200, body = TargetView), (status = "default", body = ErrorBody)))]
pub(crate) async fn disable(
    State(api): State<Api>,
    who: Identity,
    id: Id,
) -> Result<Json<TargetView>, ApiError> {
    switch(&api, &who, id, false).await
}

async fn switch(
    api: &Api,
    who: &Identity,
    id: Id,
    enabled: bool,
) -> Result<Json<TargetView>, ApiError> {
    let Path(id) = id?;
    api.saver.set_enabled(&id, enabled, &who.principal).await?;
    Ok(Json(view_of(api, id).await?))
}

fn json(body: &[u8]) -> Result<Value, ApiError> {
    serde_json::from_slice(body).map_err(|error| {
        ApiError::Bad(format!("the body is no JSON: {error}; send a target as a JSON object"))
    })
}
