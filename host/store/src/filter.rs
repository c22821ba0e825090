//! What to list: of the history, newest first; of the targets, by id.

use probehost_model::{Action, Status, Timestamp};

use crate::conn::Value;
use crate::dialect::Dialect;

/// The most rows that one listing gives.
pub const MAX_PAGE: u32 = 1000;

/// Which transitions to list. The default lists the newest of all.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TransitionFilter {
    /// Only of this target.
    pub target: Option<String>,
    /// Only of checks of this name.
    pub check: Option<String>,
    /// Only rows with a smaller id: the last id of the page before.
    pub before: Option<i64>,
    /// How many, at most [`MAX_PAGE`]. Default 100.
    pub limit: u32,
}

impl Default for TransitionFilter {
    fn default() -> Self {
        Self { target: None, check: None, before: None, limit: 100 }
    }
}

/// Which audit rows to list. The default lists the newest of all.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditFilter {
    /// Only of this target.
    pub target: Option<String>,
    /// Only of checks of this name.
    pub check: Option<String>,
    /// Only of this action.
    pub action: Option<Action>,
    /// Only by this principal.
    pub principal: Option<String>,
    /// Only rows with a smaller id: the last id of the page before.
    pub before: Option<i64>,
    /// How many, at most [`MAX_PAGE`]. Default 100.
    pub limit: u32,
}

impl Default for AuditFilter {
    fn default() -> Self {
        Self { target: None, check: None, action: None, principal: None, before: None, limit: 100 }
    }
}

/// Which targets to list. The default lists the first of all; every part narrows it down.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TargetFilter {
    /// Labels with their values; all of them.
    pub labels: Vec<(String, String)>,
    /// The worst status of its checks; that of a target without checks is `unknown`.
    pub status: Option<Status>,
    /// A probe kind that one of its checks has.
    pub kind: Option<String>,
    /// Whether it is enabled.
    pub enabled: Option<bool>,
    /// Whether it has a runtime.
    pub managed: Option<bool>,
    /// A part of its id or name; the case of ASCII letters does not matter.
    pub text: Option<String>,
    /// Changed, or a check of it probed, at this time or later.
    pub changed_since: Option<Timestamp>,
    /// Only ids that come later: the last id of the page before.
    pub after: Option<String>,
    /// How many, at most one more than [`MAX_PAGE`]: whether there is a next page shows that way.
    /// Default 100.
    pub limit: u32,
}

impl Default for TargetFilter {
    fn default() -> Self {
        Self {
            labels: Vec::new(),
            status: None,
            kind: None,
            enabled: None,
            managed: None,
            text: None,
            changed_since: None,
            after: None,
            limit: 100,
        }
    }
}

impl TargetFilter {
    /// The ids that it lists.
    pub(crate) fn ids(&self, dialect: Dialect) -> Listing<'_> {
        let (each, position) = dialect.listing_words();
        let mut query = Listing::new("SELECT t.id FROM targets AS t WHERE t.deleted_at IS NULL");
        if let Some(after) = &self.after {
            query.push(" AND t.id >", Value::Text(after));
        }
        if let Some(enabled) = self.enabled {
            query.push(" AND t.enabled =", Value::Flag(enabled));
        }
        match self.managed {
            Some(true) => query.text.push_str(" AND t.managed IS NOT NULL"),
            Some(false) => query.text.push_str(" AND t.managed IS NULL"),
            None => {}
        }
        for (label, value) in &self.labels {
            query.text.push_str(&format!(" AND EXISTS (SELECT 1 FROM {each} AS each WHERE true"));
            query.push(" AND each.key =", Value::Text(label));
            query.push(" AND each.value =", Value::Text(value));
            query.text.push(')');
        }
        if let Some(kind) = &self.kind {
            query.text.push_str(" AND EXISTS (SELECT 1 FROM checks WHERE target_id = t.id");
            query.push(" AND kind =", Value::Text(kind));
            query.text.push(')');
        }
        if let Some(text) = &self.text {
            query.text.push_str(&format!(" AND {position}(lower(t.id || ' ' || t.name), lower("));
            query.push("", Value::Text(text));
            query.text.push_str(")) > 0");
        }
        if let Some(since) = self.changed_since {
            let since = Value::Whole(since.as_micros());
            query.push(" AND (t.updated_at >=", since);
            // Once for all targets: a look at the records of each costs several times as much.
            query.text.push_str(" OR t.id IN (SELECT target_id FROM records WHERE true");
            query.push(" AND last_attempt_at >=", since);
            query.text.push_str("))");
        }
        if let Some(status) = self.status {
            query.text.push_str(of_status(status));
        }
        query.push(" ORDER BY t.id LIMIT", Value::Whole(self.limit.min(MAX_PAGE + 1).into()));
        query
    }
}

/// The worst of the checks, as conditions.
const fn of_status(status: Status) -> &'static str {
    match status {
        Status::Unhealthy => {
            " AND EXISTS (SELECT 1 FROM records AS r WHERE r.target_id = t.id \
             AND r.status = 'unhealthy')"
        }
        Status::Healthy => {
            " AND EXISTS (SELECT 1 FROM checks AS c WHERE c.target_id = t.id) \
             AND NOT EXISTS (SELECT 1 FROM checks AS c LEFT JOIN records AS r \
             ON r.target_id = c.target_id AND r.check_name = c.name \
             WHERE c.target_id = t.id AND COALESCE(r.status, 'unknown') <> 'healthy')"
        }
        Status::Unknown => {
            " AND NOT EXISTS (SELECT 1 FROM records AS r WHERE r.target_id = t.id \
             AND r.status = 'unhealthy') \
             AND (NOT EXISTS (SELECT 1 FROM checks AS c WHERE c.target_id = t.id) \
             OR EXISTS (SELECT 1 FROM checks AS c LEFT JOIN records AS r \
             ON r.target_id = c.target_id AND r.check_name = c.name \
             WHERE c.target_id = t.id AND COALESCE(r.status, 'unknown') = 'unknown'))"
        }
    }
}

/// A query that is being put together.
pub(crate) struct Listing<'a> {
    pub(crate) text: String,
    pub(crate) values: Vec<Value<'a>>,
}

impl<'a> Listing<'a> {
    pub(crate) fn new(text: &str) -> Self {
        Self { text: text.to_owned(), values: Vec::new() }
    }

    /// Adds a text that ends where a value goes.
    fn push(&mut self, text: &str, value: Value<'a>) {
        self.values.push(value);
        self.text.push_str(&format!("{text} ${}", self.values.len()));
    }

    /// Narrows it down to one value of a column.
    pub(crate) fn equal(&mut self, column: &'static str, value: Option<&'a str>) {
        if let Some(value) = value {
            self.push(&format!(" AND {column} ="), Value::Text(value));
        }
    }

    /// One page, newest first, that ends before a row.
    pub(crate) fn page(&mut self, before: Option<i64>, limit: u32) {
        if let Some(before) = before {
            self.push(" AND id <", Value::Whole(before));
        }
        self.push(" ORDER BY id DESC LIMIT", Value::Whole(limit.min(MAX_PAGE).into()));
    }
}
