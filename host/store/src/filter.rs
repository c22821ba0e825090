//! What to list of the history, newest first.

use probehost_model::Action;

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
