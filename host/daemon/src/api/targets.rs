//! `GET /api/v1/targets` and `/api/v1/targets/{id}`.

use axum::Json;
use axum::extract::rejection::PathRejection;
use axum::extract::{Path, RawQuery, State};
use probehost_model::{CheckId, Status};
use probehost_store::{MAX_PAGE, StoredTarget, TargetFilter};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::Api;
use super::error::{ApiError, ErrorBody};
use super::view::TargetView;

const PAGE: u32 = 100;

/// A page of targets, in ascending order of id.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub(crate) struct Targets {
    pub(crate) targets: Vec<TargetView>,
    /// What to give as `after` for the next page; none: this is the last.
    pub(crate) next_after: Option<String>,
}

/// What can be asked of the list. All of it narrows it down.
#[derive(Debug, Default, IntoParams)]
#[into_params(parameter_in = Query)]
#[expect(dead_code, reason = "the description of what `filter` reads")]
pub(crate) struct TargetsAsk {
    /// A label with its value, `NAME:VALUE`. Can be given again: all of them.
    label: Option<Vec<String>>,
    /// The worst status of its checks.
    status: Option<Status>,
    /// A probe kind that one of its checks has.
    kind: Option<String>,
    /// Whether it is enabled.
    enabled: Option<bool>,
    /// Whether it has a runtime.
    managed: Option<bool>,
    /// A part of its id or name.
    text: Option<String>,
    /// The `next_after` of the page before.
    after: Option<String>,
    /// How many, 100 without it.
    #[param(minimum = 1, maximum = 1000)]
    limit: Option<u32>,
}

/// Targets with the record of each of their checks.
#[utoipa::path(get, path = "/targets", tag = "targets", params(TargetsAsk),
    responses((status = 200, body = Targets), (status = "default", body = ErrorBody)))]
pub(crate) async fn list(
    State(api): State<Api>,
    RawQuery(query): RawQuery,
) -> Result<Json<Targets>, ApiError> {
    let mut filter = filter(query.as_deref().unwrap_or_default())?;
    let limit = filter.limit;
    // One more than asked for tells whether there is a next page.
    filter.limit = limit.saturating_add(1);
    let mut stored = api.store.targets_page(&filter).await?;
    let wanted = usize::try_from(limit).unwrap_or(usize::MAX);
    let more = stored.len() > wanted;
    stored.truncate(wanted);
    let next_after = stored.last().filter(|_| more).map(|last| last.target.id.clone());
    let targets = stored.into_iter().map(|target| view(&api, target)).collect();
    Ok(Json(Targets { targets, next_after }))
}

/// One target.
#[utoipa::path(get, path = "/targets/{id}", tag = "targets", params(("id" = String, Path)),
    responses((status = 200, body = TargetView), (status = "default", body = ErrorBody)))]
pub(crate) async fn one(
    State(api): State<Api>,
    id: Result<Path<String>, PathRejection>,
) -> Result<Json<TargetView>, ApiError> {
    let Path(id) = id?;
    Ok(Json(view_of(&api, id).await?))
}

/// The target of that id as it is now.
pub(super) async fn view_of(api: &Api, id: String) -> Result<TargetView, ApiError> {
    let stored = api.store.target(&id).await?.ok_or(ApiError::NoTarget(id))?;
    Ok(view(api, stored))
}

fn view(api: &Api, stored: StoredTarget) -> TargetView {
    let now = api.monitor.clock().now();
    let window = |check: &CheckId| api.monitor.windows().summary(check, now);
    let problem = |kind: &str| api.monitor.prober().problem(kind);
    TargetView::new(stored.target, stored.records, now, window, problem)
}

/// Reads the query; a key may stand in it more than once, which the usual reader does not know.
fn filter(query: &str) -> Result<TargetFilter, ApiError> {
    let mut filter = TargetFilter { limit: PAGE, ..TargetFilter::default() };
    for (key, value) in url::form_urlencoded::parse(query.as_bytes()) {
        let text = || Some(value.to_string());
        match &*key {
            "label" => filter.labels.push(label(&value)?),
            "status" => {
                let status =
                    value.parse().map_err(|error| ApiError::Bad(format!("status: {error}")));
                filter.status = Some(status?);
            }
            "kind" => filter.kind = text(),
            "enabled" => filter.enabled = Some(flag(&key, &value)?),
            "managed" => filter.managed = Some(flag(&key, &value)?),
            "text" => filter.text = text(),
            "after" => filter.after = text(),
            "limit" => filter.limit = limit(&value)?,
            other => {
                return Err(ApiError::Bad(format!(
                    "unknown parameter {other:?}; known are label, status, kind, enabled, managed, text, after and limit"
                )));
            }
        }
    }
    Ok(filter)
}

fn label(value: &str) -> Result<(String, String), ApiError> {
    let (name, value) = value.split_once(':').ok_or_else(|| {
        ApiError::Bad(format!("label: {value:?} is not NAME:VALUE, such as team:sales"))
    })?;
    Ok((name.to_owned(), value.to_owned()))
}

fn flag(key: &str, value: &str) -> Result<bool, ApiError> {
    value.parse().map_err(|_| ApiError::Bad(format!("{key}: {value:?} is neither true nor false")))
}

fn limit(value: &str) -> Result<u32, ApiError> {
    let limit = value.parse().ok().filter(|limit| (1..=MAX_PAGE).contains(limit));
    limit.ok_or_else(|| ApiError::Bad(format!("limit: {value:?} is not from 1 to {MAX_PAGE}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_query_narrows_the_list_down() {
        let read = filter("label=team:sales&label=tier:a%3Ab&status=unhealthy&kind=k&enabled=true&text=x&after=w&limit=7").unwrap();
        let label = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        assert_eq!(read.labels, [label("team", "sales"), label("tier", "a:b")]);
        assert_eq!(
            (read.status, read.enabled, read.limit),
            (Some(Status::Unhealthy), Some(true), 7)
        );
        assert_eq!(
            (read.kind.as_deref(), read.text.as_deref(), read.after.as_deref()),
            (Some("k"), Some("x"), Some("w"))
        );
        assert_eq!(filter("").unwrap().limit, 100);
        for bad in
            ["label=x", "status=up", "enabled=1", "limit=0", "limit=1001", "limit=x", "odd=1"]
        {
            assert!(matches!(filter(bad), Err(ApiError::Bad(_))), "{bad}");
        }
    }
}
