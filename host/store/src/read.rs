//! What can be asked of the store. Readers never wait for the writer.

use std::collections::BTreeMap;

use probehost_model::{AuditEntry, CheckId, Record, Target, Timestamp, Transition};
use sqlx::AssertSqlSafe;

use crate::conn::{Row, Value};
use crate::filter::{AuditFilter, Listing, TargetFilter, TransitionFilter};
use crate::rows::{self, RECORD_COLUMNS};
use crate::stored::{self, Stored};
use crate::{Store, StoreError};

/// A target with what is known of its checks.
#[derive(Debug, Clone, PartialEq)]
pub struct StoredTarget {
    /// The target; its `updated_at` is what a probe hands back with its observation.
    pub target: Target,
    /// The records by name of check. A check without one has not been probed yet.
    pub records: BTreeMap<String, Record>,
}

impl From<Stored> for StoredTarget {
    fn from(stored: Stored) -> Self {
        Self { target: stored.target, records: stored.records }
    }
}

impl Store {
    /// Every target that is not deleted, by ascending id; all from one moment.
    ///
    /// # Errors
    /// The database can't be read.
    pub async fn targets(&self) -> Result<Vec<StoredTarget>, StoreError> {
        let text = format!(
            "{} WHERE targets.deleted_at IS NULL ORDER BY targets.id, checks.name",
            stored::SELECT
        );
        let found = self.read(AssertSqlSafe(text), &[]).await?;
        Ok(stored::assemble(&found)?.into_iter().map(StoredTarget::from).collect())
    }

    /// A page of the targets that are not deleted, by ascending id; all from one moment.
    ///
    /// # Errors
    /// The database can't be read.
    pub async fn targets_page(
        &self,
        filter: &TargetFilter,
    ) -> Result<Vec<StoredTarget>, StoreError> {
        let mut query = filter.ids(self.dialect());
        query.text = format!(
            "{} WHERE targets.id IN ({}) ORDER BY targets.id, checks.name",
            stored::SELECT,
            query.text
        );
        let found = self.list(query).await?;
        Ok(stored::assemble(&found)?.into_iter().map(StoredTarget::from).collect())
    }

    /// One target; none when there is none of that id or it is deleted.
    ///
    /// # Errors
    /// The database can't be read.
    pub async fn target(&self, id: &str) -> Result<Option<StoredTarget>, StoreError> {
        let text = format!(
            "{} WHERE targets.deleted_at IS NULL AND targets.id = $1 ORDER BY checks.name",
            stored::SELECT
        );
        let found = self.read(AssertSqlSafe(text), &[Value::Text(id)]).await?;
        Ok(stored::assemble(&found)?.into_iter().next().map(StoredTarget::from))
    }

    /// The record of one check; none when it has not been probed yet.
    ///
    /// # Errors
    /// The database can't be read.
    pub async fn record_of(&self, check: &CheckId) -> Result<Option<Record>, StoreError> {
        let text = format!(
            "SELECT {} FROM records WHERE target_id = $1 AND check_name = $2",
            RECORD_COLUMNS.join(", ")
        );
        let values = [Value::Text(&check.target), Value::Text(&check.check)];
        let found = self.read(AssertSqlSafe(text), &values).await?;
        found.first().map(|row| rows::record(row, 0)).transpose()
    }

    /// Changes of status, newest first.
    ///
    /// # Errors
    /// The database can't be read.
    pub async fn transitions(
        &self,
        filter: &TransitionFilter,
    ) -> Result<Vec<Transition>, StoreError> {
        let mut query = Listing::new(
            "SELECT id, at, target_id, check_name, \"from\", \"to\", reason, message, streak, \
             \"trigger\" FROM transitions WHERE true",
        );
        query.equal("target_id", filter.target.as_deref());
        query.equal("check_name", filter.check.as_deref());
        query.page(filter.before, filter.limit);
        self.list(query).await?.iter().map(transition).collect()
    }

    /// What was done, newest first.
    ///
    /// # Errors
    /// The database can't be read.
    pub async fn audit(&self, filter: &AuditFilter) -> Result<Vec<AuditEntry>, StoreError> {
        let mut query = Listing::new(
            "SELECT id, at, principal, action, \"trigger\", target_id, check_name, \"from\", \
             \"to\", outcome FROM audit WHERE true",
        );
        query.equal("target_id", filter.target.as_deref());
        query.equal("check_name", filter.check.as_deref());
        query.equal("action", filter.action.map(|action| action.as_str()));
        query.equal("principal", filter.principal.as_deref());
        query.page(filter.before, filter.limit);
        self.list(query).await?.iter().map(audit_entry).collect()
    }
}

impl Store {
    /// Asks for the rows of a listing.
    pub(crate) async fn list(&self, query: Listing<'_>) -> Result<Vec<Row>, StoreError> {
        self.read(AssertSqlSafe(query.text), &query.values).await
    }
}

fn transition(row: &Row) -> Result<Transition, StoreError> {
    Ok(Transition {
        id: rows::get(row, 0)?,
        at: Timestamp::from_micros(rows::get(row, 1)?),
        check: CheckId { target: rows::get(row, 2)?, check: rows::get(row, 3)? },
        from: rows::word(rows::get(row, 4)?, "from")?,
        to: rows::word(rows::get(row, 5)?, "to")?,
        reason: rows::reason(rows::get(row, 6)?)?,
        message: rows::get(row, 7)?,
        streak: rows::count(rows::get(row, 8)?),
        trigger: rows::word(rows::get(row, 9)?, "trigger")?,
    })
}

fn audit_entry(row: &Row) -> Result<AuditEntry, StoreError> {
    Ok(AuditEntry {
        id: rows::get(row, 0)?,
        at: Timestamp::from_micros(rows::get(row, 1)?),
        principal: rows::get(row, 2)?,
        action: rows::word(rows::get(row, 3)?, "action")?,
        trigger: rows::get::<Option<&str>>(row, 4)?
            .map(|text| rows::word(text, "trigger"))
            .transpose()?,
        target: rows::get(row, 5)?,
        check: rows::get(row, 6)?,
        from: rows::get(row, 7)?,
        to: rows::get(row, 8)?,
        outcome: rows::get(row, 9)?,
    })
}
