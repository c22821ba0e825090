//! What can be asked of targets besides what they are: their checks' last runs, only those that
//! have news, and a list without configs, which is what a page of thousands wants.

use std::time::Duration;

use axum::extract::Query;
use axum::extract::rejection::QueryRejection;
use probehost_model::{CheckId, Timestamp, Window};
use probehost_store::StoredTarget;
use serde::Deserialize;

use super::Api;
use super::error::ApiError;
use super::view::TargetView;

/// What can be asked of the list.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ListAsk {
    /// Runs of each check, at most [`Window::CAPACITY`].
    recent: Option<usize>,
    /// Seconds: only targets that were changed, or probed, within them.
    changed_within: Option<f64>,
    /// `false`: without the config of each check.
    config: Option<bool>,
}

/// What can be asked of one target.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct OneAsk {
    recent: Option<usize>,
}

impl ListAsk {
    pub(super) fn read(ask: Result<Query<Self>, QueryRejection>) -> Result<Self, ApiError> {
        let Query(ask) = ask.map_err(bad_query)?;
        in_range(ask.recent)?;
        match ask.changed_within.map(Duration::try_from_secs_f64) {
            Some(Err(_)) => Err(ApiError::Bad(
                "changed_within: give a number of seconds, such as 20".to_owned(),
            )),
            _ => Ok(ask),
        }
    }

    /// Whether the target is asked for.
    pub(super) fn takes(&self, stored: &StoredTarget, now: Timestamp) -> bool {
        let span = self.changed_within.and_then(|span| Duration::try_from_secs_f64(span).ok());
        let Some(span) = span else { return true };
        let is_new = |at: Timestamp| now.since(at) <= span;
        let mut attempts = stored.records.values().filter_map(|record| record.last_attempt_at);
        is_new(stored.target.updated_at) || attempts.any(is_new)
    }

    /// The view with what was asked for, and without what was not.
    pub(super) fn fill(&self, api: &Api, mut view: TargetView) -> TargetView {
        if self.config == Some(false) {
            for check in &mut view.checks {
                check.config = serde_json::Value::Null;
            }
        }
        with_runs(api, self.recent, view)
    }
}

impl OneAsk {
    pub(super) fn read(ask: Result<Query<Self>, QueryRejection>) -> Result<Self, ApiError> {
        let Query(ask) = ask.map_err(bad_query)?;
        in_range(ask.recent)?;
        Ok(ask)
    }

    /// The view with the runs that were asked for.
    pub(super) fn fill(&self, api: &Api, view: TargetView) -> TargetView {
        with_runs(api, self.recent, view)
    }
}

fn with_runs(api: &Api, recent: Option<usize>, mut view: TargetView) -> TargetView {
    let Some(most) = recent else { return view };
    let (now, windows) = (api.monitor.clock().now(), api.monitor.windows());
    for check in &mut view.checks {
        let runs = windows.recent(&CheckId::new(&view.id, &check.name), now, most);
        check.recent = Some(runs.into_iter().map(Into::into).collect());
    }
    view
}

fn in_range(recent: Option<usize>) -> Result<(), ApiError> {
    match recent {
        Some(most) if most > Window::CAPACITY => Err(ApiError::Bad(format!(
            "recent: {most} is not from 0 to {}, the runs that are kept",
            Window::CAPACITY
        ))),
        _ => Ok(()),
    }
}

fn bad_query(rejection: QueryRejection) -> ApiError {
    ApiError::Bad(rejection.body_text())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(query: &str) -> Result<ListAsk, ApiError> {
        let uri = format!("/?{query}").parse().unwrap();
        ListAsk::read(Query::try_from_uri(&uri))
    }

    /// What can't be given is refused by name, and never taken for something else.
    #[test]
    fn the_query_is_read() {
        assert_eq!(read("").unwrap().recent, None);
        assert_eq!(read("recent=256&changed_within=2.5&config=false").unwrap().recent, Some(256));
        for bad in ["recent=257", "recent=-1", "changed_within=-1", "changed_within=x", "colour=1"]
        {
            assert!(matches!(read(bad), Err(ApiError::Bad(_))), "{bad}");
        }
    }
}
