//! What a target that is sent may hold, for the API's description. It is read as if it stood in
//! the configuration file: docs/config.md says more of each key.

use std::collections::BTreeMap;

use probehost_model::{Role, Runtime};
use serde::Deserialize;
use serde_json::Value;
use utoipa::ToSchema;

/// A target.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "only its description is used")]
pub(crate) struct TargetBody {
    /// Stable, and never used again: letters, digits and `-`, `_`, `.`.
    #[schema(
        required = false,
        min_length = 1,
        max_length = 128,
        pattern = "^[A-Za-z0-9][A-Za-z0-9._-]*$"
    )]
    id: String,
    /// For people; the id without it.
    name: Option<String>,
    /// For people and filters.
    labels: Option<BTreeMap<String, String>>,
    /// Whether it is probed on schedule; true without it.
    enabled: Option<bool>,
    /// How it is restarted: makes it a managed target.
    runtime: Option<Runtime>,
    /// When it is, and when no more.
    #[schema(value_type = Option<Object>)]
    lifecycle: Option<Value>,
    checks: Vec<CheckBody>,
}

/// A check of a target.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "only its description is used")]
pub(crate) struct CheckBody {
    /// The kind's name without it.
    name: Option<String>,
    /// A probe kind: GET /api/v1/plugins lists them.
    kind: String,
    role: Option<Role>,
    /// In seconds; 0: no scheduled probing.
    interval: Option<i64>,
    /// In seconds, above 0.
    timeout: Option<f64>,
    failure_threshold: Option<u32>,
    inconclusive_threshold: Option<u32>,
    /// What the plugin reads; judged by the schema that it brings.
    #[schema(value_type = Option<Object>)]
    config: Option<Value>,
}
