//! `GET /metrics`: what the monitor counts, and the state of each check, as OpenMetrics text.

use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use probehost_model::Status;
use probehost_store::StoredTarget;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::encoding::text::{encode_eof, encode_registry};
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::{Registry, Unit};

use super::Api;
use super::error::ApiError;

const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Of {
    target: String,
    check: String,
    kind: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OfStatus {
    target: String,
    check: String,
    kind: String,
    status: &'static str,
}

pub(crate) async fn metrics(State(api): State<Api>) -> Result<Response, ApiError> {
    let failed = |error: std::fmt::Error| {
        ApiError::Internal(format!("the metrics could not be written: {error}"))
    };
    let mut text = String::new();
    encode_registry(&mut text, &api.registry).map_err(failed)?;
    match api.store.targets().await {
        Ok(targets) => encode_registry(&mut text, &of_checks(&targets)).map_err(failed)?,
        // Absent is right: a gap in the graph, not a status that nobody knows.
        Err(error) => tracing::warn!(%error, "the state of the checks is not among the metrics"),
    }
    encode_eof(&mut text).map_err(failed)?;
    Ok(([(header::CONTENT_TYPE, CONTENT_TYPE)], text).into_response())
}

fn of_checks(targets: &[StoredTarget]) -> Registry {
    let status = Family::<OfStatus, Gauge>::default();
    let streak = Family::<Of, Gauge>::default();
    let checked = Family::<Of, Gauge>::default();
    for stored in targets {
        for check in &stored.target.checks {
            let record = stored.records.get(&check.name).cloned().unwrap_or_default();
            let of = || Of {
                target: stored.target.id.clone(),
                check: check.name.clone(),
                kind: check.kind.clone(),
            };
            for each in Status::ALL {
                let Of { target, check, kind } = of();
                let labels = OfStatus { target, check, kind, status: each.as_str() };
                status.get_or_create(&labels).set(i64::from(each == record.status));
            }
            streak.get_or_create(&of()).set(i64::from(record.streak));
            if let Some(at) = record.checked_at {
                checked.get_or_create(&of()).set(at.as_micros() / 1_000_000);
            }
        }
    }
    let mut registry = Registry::with_prefix("probehost_check");
    registry.register("status", "1 for the status that the check has, 0 for the others", status);
    registry.register("failure_streak", "Failures in a row", streak);
    registry.register_with_unit(
        "last_result_timestamp",
        "When the last conclusive probe ended, since the Unix epoch",
        Unit::Seconds,
        checked,
    );
    registry
}
