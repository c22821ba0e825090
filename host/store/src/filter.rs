//! What to list of the history, newest first.

use probehost_model::Action;

use crate::conn::Value;

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
