//! `GET /metrics`: what the monitor counts, and the state of each check, as OpenMetrics text.

use std::sync::atomic::AtomicU64;

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
use super::instance_metrics::of_instances;

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

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OfQuantile {
    target: String,
    check: String,
    kind: String,
    quantile: &'static str,
}

pub(crate) async fn metrics(State(api): State<Api>) -> Result<Response, ApiError> {
    let failed = |error: std::fmt::Error| {
        ApiError::Internal(format!("the metrics could not be written: {error}"))
    };
    let mut text = String::new();
    encode_registry(&mut text, &api.registry).map_err(failed)?;
    let instances = api.healer.instances();
    encode_registry(&mut text, &of_instances(&instances)).map_err(failed)?;
    match api.store.targets().await {
        Ok(targets) => {
            encode_registry(&mut text, &of_checks(&api, &targets)).map_err(failed)?;
        }
        // Absent is right: a gap in the graph, not a status that nobody knows.
        Err(error) => tracing::warn!(%error, "the state of the checks is not among the metrics"),
    }
    encode_eof(&mut text).map_err(failed)?;
    Ok(([(header::CONTENT_TYPE, CONTENT_TYPE)], text).into_response())
}

fn of_checks(api: &Api, targets: &[StoredTarget]) -> Registry {
    let now = api.monitor.clock().now();
    let status = Family::<OfStatus, Gauge>::default();
    let streak = Family::<Of, Gauge>::default();
    let checked = Family::<Of, Gauge>::default();
    let error_rate = Family::<Of, Gauge<f64, AtomicU64>>::default();
    let latency = Family::<OfQuantile, Gauge<f64, AtomicU64>>::default();
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
            let window = api.monitor.windows().summary(&stored.target.check_id(check), now);
            if let Some(rate) = window.error_rate {
                error_rate.get_or_create(&of()).set(rate);
            }
            for (quantile, time) in
                [("0.5", window.p50), ("0.95", window.p95), ("0.99", window.p99)]
            {
                let Some(time) = time else { continue };
                let Of { target, check, kind } = of();
                let labels = OfQuantile { target, check, kind, quantile };
                latency.get_or_create(&labels).set(time.as_secs_f64());
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
    registry.register(
        "error_rate",
        "Failed probes of those in the last hour that were conclusive, 0 to 1",
        error_rate,
    );
    registry.register_with_unit(
        "latency",
        "Time that the passed probes of the last hour took, by quantile",
        Unit::Seconds,
        latency,
    );
    registry
}
