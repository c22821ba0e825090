//! `GET /healthz`: whether the host can do its work.

use axum::Json;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use probehost_store::TransitionFilter;
use serde::Serialize;

use super::Api;

/// Whether the host can do its work.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(crate) struct Health {
    /// `ok`, or `degraded` when the store can't be reached.
    status: &'static str,
    version: &'static str,
    /// `ok`, or what is wrong with it and what to do.
    store: String,
    /// `ok`, or why the config file as it is now was not taken up; the one before still holds.
    config: String,
}

pub(crate) async fn healthz(State(api): State<Api>, headers: HeaderMap) -> Response {
    let look = TransitionFilter { limit: 1, ..TransitionFilter::default() };
    let (code, status, store) = match api.store.transitions(&look).await {
        Ok(_) => (StatusCode::OK, "ok", "ok".to_owned()),
        Err(error) => (StatusCode::SERVICE_UNAVAILABLE, "degraded", error.to_string()),
    };
    let config = api.reload.problem().unwrap_or_else(|| "ok".to_owned());
    // Everybody may know whether the host works; what is wrong names paths and hosts.
    let known = api.gate.knows(&headers).await;
    let [store, config] = [store, config].map(|text| match text.as_str() {
        "ok" => text,
        _ if known => text,
        _ => "not ok; ask with a token".to_owned(),
    });
    let health = Health { status, version: env!("CARGO_PKG_VERSION"), store, config };
    (code, Json(health)).into_response()
}
