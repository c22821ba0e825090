//! The last runs of checks, and views without configs, which is what a page of thousands wants.

use axum::extract::Query;
use axum::extract::rejection::QueryRejection;
use probehost_model::{CheckId, Window};
use serde::Deserialize;
use serde_json::Value;
use utoipa::IntoParams;

use super::Api;
use super::error::ApiError;
use super::view::TargetView;

/// What can be asked of one target.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub(crate) struct OneAsk {
    /// Runs of each check that are told.
    #[param(minimum = 0, maximum = 256)]
    recent: Option<usize>,
}

impl OneAsk {
    pub(super) fn read(
        ask: Result<Query<Self>, QueryRejection>,
    ) -> Result<Option<usize>, ApiError> {
        let Query(ask) = ask.map_err(super::history::bad_query)?;
        ask.recent.map(in_range).transpose()
    }
}

/// Adds the runs that were asked for.
pub(super) fn with_runs(api: &Api, recent: Option<usize>, view: &mut TargetView) {
    let Some(most) = recent else { return };
    let (now, windows) = (api.monitor.clock().now(), api.monitor.windows());
    for check in &mut view.checks {
        let runs = windows.recent(&CheckId::new(&view.id, &check.name), now, most);
        check.recent = Some(runs.into_iter().map(Into::into).collect());
    }
}

pub(super) fn without_configs(view: &mut TargetView) {
    for check in &mut view.checks {
        check.config = Value::Null;
    }
}

/// As many runs as are kept.
pub(super) fn in_range(most: usize) -> Result<usize, ApiError> {
    if most <= Window::CAPACITY {
        return Ok(most);
    }
    Err(ApiError::Bad(format!(
        "recent: {most} is not from 0 to {}, the runs that are kept",
        Window::CAPACITY
    )))
}
