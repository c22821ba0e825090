//! `GET /metrics`: what the monitor counts, and the state of each check, as OpenMetrics text.

use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use probehost_store::CheckStatus;
use prometheus_client::encoding::text::{encode_eof, encode_registry};
use tokio::task::spawn_blocking;

use super::Api;
use super::check_metrics::of_checks;
use super::error::ApiError;
use super::instance_metrics::of_instances;

const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

pub(crate) async fn metrics(State(api): State<Api>) -> Result<Response, ApiError> {
    let failed = |error: std::fmt::Error| {
        ApiError::Internal(format!("the metrics could not be written: {error}"))
    };
    let checks = match api.store.statuses().await {
        Ok(checks) => Some(checks),
        // Absent is right: a gap in the graph, not a status that nobody knows.
        Err(error) => {
            tracing::warn!(%error, "the state of the checks is not among the metrics");
            None
        }
    };
    // Thousands of checks take a while, in which this thread would start no probe.
    let written = spawn_blocking(move || write(&api, checks)).await;
    let text = written
        .map_err(|error| ApiError::Internal(format!("the metrics could not be written: {error}")))?
        .map_err(failed)?;
    Ok(([(header::CONTENT_TYPE, CONTENT_TYPE)], text).into_response())
}

fn write(api: &Api, checks: Option<Vec<CheckStatus>>) -> Result<String, std::fmt::Error> {
    let mut text = String::new();
    encode_registry(&mut text, &api.registry)?;
    encode_registry(&mut text, &of_instances(&api.healer.instances()))?;
    if let Some(checks) = checks {
        let now = api.monitor.clock().now();
        let windows = api.monitor.windows();
        encode_registry(&mut text, &of_checks(checks, |check| windows.summary(check, now)))?;
    }
    encode_eof(&mut text)?;
    Ok(text)
}
