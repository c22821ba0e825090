//! What can be asked of the list of targets.

use std::time::Duration;

use probehost_model::{Status, Timestamp};
use probehost_store::{MAX_PAGE, TargetFilter};
use utoipa::IntoParams;

use super::error::ApiError;
use super::recent::in_range;

const PAGE: u32 = 100;

/// What can be asked of the list. All of it narrows it down.
#[derive(Debug, Default, IntoParams)]
#[into_params(parameter_in = Query)]
#[expect(dead_code, reason = "the description of what is read")]
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
    /// Seconds: only targets that were changed, or probed, within them.
    #[param(minimum = 0)]
    changed_within: Option<f64>,
    /// Runs of each check that are told.
    #[param(minimum = 0, maximum = 256)]
    recent: Option<usize>,
    /// `false`: without the config of each check.
    config: Option<bool>,
    /// The `next_after` of the page before.
    after: Option<String>,
    /// How many, 100 without it.
    #[param(minimum = 1, maximum = 1000)]
    limit: Option<u32>,
}

/// What is asked of the list.
#[derive(Debug)]
pub(super) struct ListQuery {
    pub(super) filter: TargetFilter,
    /// Runs of each check.
    pub(super) recent: Option<usize>,
    /// Whether the config of each check is wanted.
    pub(super) configs: bool,
}

impl ListQuery {
    /// Reads it at `now`; a key may stand in it more than once, which the usual reader does not
    /// know.
    pub(super) fn read(query: &str, now: Timestamp) -> Result<Self, ApiError> {
        let filter = TargetFilter { limit: PAGE, ..TargetFilter::default() };
        let mut read = Self { filter, recent: None, configs: true };
        for (key, value) in url::form_urlencoded::parse(query.as_bytes()) {
            read.take(&key, &value, now)?;
        }
        Ok(read)
    }

    fn take(&mut self, key: &str, value: &str, now: Timestamp) -> Result<(), ApiError> {
        let filter = &mut self.filter;
        let text = || Some(value.to_owned());
        match key {
            "label" => filter.labels.push(label(value)?),
            "status" => {
                let status =
                    value.parse().map_err(|error| ApiError::Bad(format!("status: {error}")));
                filter.status = Some(status?);
            }
            "kind" => filter.kind = text(),
            "enabled" => filter.enabled = Some(flag(key, value)?),
            "managed" => filter.managed = Some(flag(key, value)?),
            "text" => filter.text = text(),
            "changed_within" => filter.changed_since = Some(now.minus(seconds(key, value)?)),
            "recent" => self.recent = Some(runs(value)?),
            "config" => self.configs = flag(key, value)?,
            "after" => filter.after = text(),
            "limit" => filter.limit = limit(value)?,
            other => {
                return Err(ApiError::Bad(format!(
                    "unknown parameter {other:?}; known are label, status, kind, enabled, managed, text, changed_within, recent, config, after and limit"
                )));
            }
        }
        Ok(())
    }
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

fn seconds(key: &str, value: &str) -> Result<Duration, ApiError> {
    let span = value.parse().ok().and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    span.ok_or_else(|| ApiError::Bad(format!("{key}: give a number of seconds, such as 20")))
}

fn runs(value: &str) -> Result<usize, ApiError> {
    let most = value.parse().map_err(|_| ApiError::Bad(format!("recent: {value:?} is no number")));
    in_range(most?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(query: &str) -> Result<ListQuery, ApiError> {
        ListQuery::read(query, Timestamp::from_micros(60_000_000))
    }

    #[test]
    fn the_query_narrows_the_list_down() {
        let query = "label=team:sales&label=tier:a%3Ab&status=unhealthy&kind=k&enabled=true&text=x";
        let ListQuery { filter, recent, configs } =
            read(&format!("{query}&after=w&limit=7&changed_within=2.5&config=false&recent=256"))
                .unwrap();
        let label = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        assert_eq!(filter.labels, [label("team", "sales"), label("tier", "a:b")]);
        assert_eq!((filter.status, filter.enabled), (Some(Status::Unhealthy), Some(true)));
        assert_eq!((filter.limit, recent, configs), (7, Some(256), false));
        assert_eq!(filter.changed_since, Some(Timestamp::from_micros(57_500_000)));
        let texts = (filter.kind.as_deref(), filter.text.as_deref(), filter.after.as_deref());
        assert_eq!(texts, (Some("k"), Some("x"), Some("w")));
        assert_eq!(read("").unwrap().filter.limit, 100);
        for bad in [
            "label=x",
            "status=up",
            "enabled=1",
            "limit=0",
            "limit=1001",
            "limit=x",
            "odd=1",
            "recent=257",
            "recent=-1",
            "changed_within=-1",
            "changed_within=x",
            "config=no",
        ] {
            assert!(matches!(read(bad), Err(ApiError::Bad(_))), "{bad}");
        }
    }
}
