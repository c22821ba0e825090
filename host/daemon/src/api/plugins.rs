//! `GET /api/v1/plugins`: what serves, and what did not load and why.

use axum::Json;
use axum::extract::State;
use probehost_sandbox::{PluginInfo, PluginState, Source};
use serde::Serialize;
use serde_json::Value;

use super::Api;
use super::error::ErrorBody;
use crate::app::FaultRecord;

/// All plugins: those that serve, then those that did not load.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(crate) struct Plugins {
    plugins: Vec<PluginView>,
}

/// One plugin.
#[derive(Debug, Serialize, utoipa::ToSchema)]
struct PluginView {
    /// The probe kind.
    name: String,
    version: Option<String>,
    description: Option<String>,
    /// `ready` or `failed`.
    state: &'static str,
    /// Why it did not load, and what to do.
    error: Option<String>,
    /// `built-in`, or the path of the file.
    source: String,
    sha256: Option<String>,
    size_bytes: Option<u64>,
    /// What the SDK that it was built with says of itself.
    sdk: Option<String>,
    /// The capabilities that it can use.
    capabilities: Vec<String>,
    compile_seconds: Option<f64>,
    interval_seconds: Option<IntervalView>,
    timeout_seconds: Option<f64>,
    failure_threshold: Option<u32>,
    concurrency: Option<u32>,
    config_schema: Option<Value>,
    /// What it did wrong since the host started: it trapped, looped, broke a limit.
    faults: FaultsView,
}

/// The faults of a plugin. Its checks become `unknown` by them, never `unhealthy`.
#[derive(Debug, Default, Serialize, utoipa::ToSchema)]
struct FaultsView {
    count: u64,
    in_a_row: u32,
    last: Option<String>,
    last_at: Option<String>,
}

impl From<FaultRecord> for FaultsView {
    fn from(record: FaultRecord) -> Self {
        Self {
            count: record.count,
            in_a_row: record.in_a_row,
            last: Some(record.last),
            last_at: record.last_at.map(|at| at.to_string()),
        }
    }
}

/// How often checks of a kind run.
#[derive(Debug, Serialize, utoipa::ToSchema)]
struct IntervalView {
    default: u32,
    minimum: u32,
    maximum: u32,
}

/// What serves, and what did not load and why.
#[utoipa::path(get, path = "/plugins", tag = "plugins",
    responses((status = 200, body = Plugins), (status = "default", body = ErrorBody)))]
pub(crate) async fn list(State(api): State<Api>) -> Json<Plugins> {
    let faults = api.monitor.prober().faults();
    let view = |info: PluginInfo| {
        let of_kind = faults.of(&info.name).map(FaultsView::from).unwrap_or_default();
        PluginView::new(info, of_kind)
    };
    Json(Plugins { plugins: api.catalog.list().into_iter().map(view).collect() })
}

impl PluginView {
    fn new(info: PluginInfo, faults: FaultsView) -> Self {
        let (state, error) = match info.state {
            PluginState::Ready => ("ready", None),
            PluginState::Failed(why) => ("failed", Some(why)),
        };
        let manifest = info.manifest.as_ref();
        Self {
            version: info.version,
            description: manifest.map(|manifest| manifest.description.clone()),
            state,
            error,
            source: match info.source {
                Source::Builtin => "built-in".to_owned(),
                Source::File(path) => path.display().to_string(),
            },
            sha256: info.sha256,
            size_bytes: info.size,
            sdk: info.sdk,
            capabilities: info.imports,
            compile_seconds: info.compile_time.map(|time| time.as_secs_f64()),
            interval_seconds: manifest.map(|manifest| IntervalView {
                default: manifest.interval.default,
                minimum: manifest.interval.minimum,
                maximum: manifest.interval.maximum,
            }),
            timeout_seconds: manifest.map(|manifest| manifest.timeout.as_secs_f64()),
            failure_threshold: manifest.map(|manifest| manifest.threshold),
            concurrency: manifest.and_then(|manifest| manifest.concurrency),
            config_schema: manifest.map(|manifest| manifest.config_schema.clone()),
            faults,
            name: info.name,
        }
    }
}
