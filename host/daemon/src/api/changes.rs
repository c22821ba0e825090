//! Changes of targets: `POST /api/v1/targets`, `PUT` and `DELETE /api/v1/targets/{id}`, and
//! `POST /api/v1/targets/{id}/enable` and `/disable`. Those of the file are read-only here.

use axum::Json;
use axum::body::Bytes;
use axum::extract::rejection::{BytesRejection, PathRejection};
use axum::extract::{Path, State};
use axum::http::{StatusCode, header};
use axum::response::IntoResponse;
use serde_json::Value;

use super::error::ApiError;
use super::targets::view_of;
use super::view::TargetView;
use super::{Api, PRINCIPAL};

type Id = Result<Path<String>, PathRejection>;
type Body = Result<Bytes, BytesRejection>;

pub(crate) async fn create(
    State(api): State<Api>,
    body: Body,
) -> Result<impl IntoResponse, ApiError> {
    let id = api.saver.create(json(&body?)?, PRINCIPAL).await?;
    let at = [(header::LOCATION, format!("/api/v1/targets/{id}"))];
    Ok((StatusCode::CREATED, at, Json(view_of(&api, id).await?)))
}

pub(crate) async fn replace(
    State(api): State<Api>,
    id: Id,
    body: Body,
) -> Result<Json<TargetView>, ApiError> {
    let Path(id) = id?;
    api.saver.replace(&id, json(&body?)?, PRINCIPAL).await?;
    Ok(Json(view_of(&api, id).await?))
}

pub(crate) async fn delete(State(api): State<Api>, id: Id) -> Result<StatusCode, ApiError> {
    let Path(id) = id?;
    api.saver.delete(&id, PRINCIPAL).await?;
    Ok(StatusCode::NO_CONTENT)
}

pub(crate) async fn enable(State(api): State<Api>, id: Id) -> Result<Json<TargetView>, ApiError> {
    switch(&api, id, true).await
}

pub(crate) async fn disable(State(api): State<Api>, id: Id) -> Result<Json<TargetView>, ApiError> {
    switch(&api, id, false).await
}

async fn switch(api: &Api, id: Id, enabled: bool) -> Result<Json<TargetView>, ApiError> {
    let Path(id) = id?;
    api.saver.set_enabled(&id, enabled, PRINCIPAL).await?;
    Ok(Json(view_of(api, id).await?))
}

fn json(body: &[u8]) -> Result<Value, ApiError> {
    serde_json::from_slice(body).map_err(|error| {
        ApiError::Bad(format!("the body is no JSON: {error}; send a target as a JSON object"))
    })
}
