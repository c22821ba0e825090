//! Adds rows to the append-only history: transitions and audit.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::{Arc, LazyLock};

use probehost_model::{Action, Timestamp, Trigger};
use serde::Serialize;
use sqlx::AssertSqlSafe;
use sqlx::sqlite::SqliteConnection;

use crate::observe::{Recorded, Write, outcome_text};
use crate::{StoreError, dialect, rows};

const TRANSITION_COLUMNS: [&str; 9] = [
    "at",
    "target_id",
    "check_name",
    "\"from\"",
    "\"to\"",
    "reason",
    "message",
    "streak",
    "\"trigger\"",
];

static INSERT_TRANSITIONS: LazyLock<Arc<str>> = LazyLock::new(|| {
    format!(
        "{} RETURNING id, target_id, check_name, at",
        insert("transitions", &TRANSITION_COLUMNS)
    )
    .into()
});

const AUDIT_COLUMNS: [&str; 10] = [
    "at",
    "principal",
    "action",
    "\"trigger\"",
    "target_id",
    "check_name",
    "\"from\"",
    "\"to\"",
    "outcome",
    "transition_id",
];

static INSERT_AUDIT: LazyLock<Arc<str>> = LazyLock::new(|| insert("audit", &AUDIT_COLUMNS).into());

/// Inserts the rows of the first parameter in their order.
fn insert(table: &str, columns: &[&str]) -> String {
    let list = columns.join(", ");
    // `WHERE true` keeps SQLite from reading an upsert clause into what may follow.
    format!(
        "{} INSERT INTO {table} ({list}) SELECT {list} FROM new WHERE true",
        dialect::rows_as("new", columns)
    )
}

/// An audit row that is yet to be written; the fields as in [`AUDIT_COLUMNS`].
#[derive(Debug, Serialize)]
pub(crate) struct NewAudit<'a>(
    i64,
    &'a str,
    &'static str,
    Option<&'static str>,
    Cow<'a, str>,
    Option<&'a str>,
    Option<&'static str>,
    Option<&'static str>,
    String,
    Option<i64>,
);

impl<'a> NewAudit<'a> {
    /// A target was created, changed, enabled, disabled or deleted.
    pub(crate) fn target_changed(
        at: Timestamp,
        principal: &'a str,
        target: impl Into<Cow<'a, str>>,
        outcome: &str,
    ) -> Self {
        let action = Action::TargetChanged.as_str();
        let outcome = outcome.to_owned();
        let target = target.into();
        Self(at.as_micros(), principal, action, None, target, None, None, None, outcome, None)
    }
}

/// Writes audit rows in their order.
pub(crate) async fn audit(
    conn: &mut SqliteConnection,
    new: &[NewAudit<'_>],
) -> Result<(), Failure> {
    if new.is_empty() {
        return Ok(());
    }
    sqlx::query(AssertSqlSafe(INSERT_AUDIT.clone()))
        .bind(serde_json::to_string(new)?)
        .execute(conn)
        .await?;
    Ok(())
}

/// Adds the transition and audit rows of a batch, and tells each its transition's id.
pub(crate) async fn of_batch(
    conn: &mut SqliteConnection,
    writes: &[&Write],
    results: &mut [Recorded],
) -> Result<(), Failure> {
    transitions(conn, writes, results).await?;
    let mut new = Vec::new();
    for (write, result) in writes.iter().zip(results.iter()) {
        let Recorded::Applied { from, record, transition_id, .. } = result else {
            continue;
        };
        let row = |action: Action, outcome, transition| {
            NewAudit(
                write.observation.at.as_micros(),
                &write.principal,
                action.as_str(),
                Some(write.trigger.as_str()),
                Cow::Borrowed(write.check.target.as_str()),
                Some(&write.check.check),
                Some(from.as_str()),
                Some(record.status.as_str()),
                outcome,
                transition,
            )
        };
        for call in &write.denied {
            new.push(row(Action::CapabilityDenied, call.clone(), None));
        }
        // One row for a probe by hand: its `from` and `to` tell the transition too.
        let action = match (write.trigger, transition_id) {
            (Trigger::Manual, _) => Action::Probe,
            (Trigger::Scheduled | Trigger::Saved, Some(_)) => Action::Transition,
            (Trigger::Scheduled | Trigger::Saved, None) => continue,
        };
        new.push(row(action, outcome_text(&write.observation.outcome), *transition_id));
    }
    audit(conn, &new).await
}

async fn transitions(
    conn: &mut SqliteConnection,
    writes: &[&Write],
    results: &mut [Recorded],
) -> Result<(), Failure> {
    let mut new = Vec::new();
    // Attempts of one check get ever later, so check and time name a transition.
    let mut ids = HashMap::new();
    for (write, result) in writes.iter().zip(results) {
        let Recorded::Applied { from, record, transition_id, .. } = result else {
            continue;
        };
        if *from == record.status {
            continue;
        }
        let at = write.observation.at.as_micros();
        new.push((
            at,
            &write.check.target,
            &write.check.check,
            from.as_str(),
            record.status.as_str(),
            record.reason.map_or("", |reason| reason.as_str()),
            record.message.clone(),
            record.streak,
            write.trigger.as_str(),
        ));
        ids.insert((write.check.target.as_str(), write.check.check.as_str(), at), transition_id);
    }
    if new.is_empty() {
        return Ok(());
    }
    let inserted = sqlx::query(AssertSqlSafe(INSERT_TRANSITIONS.clone()))
        .bind(serde_json::to_string(&new)?)
        .fetch_all(conn)
        .await?;
    for row in &inserted {
        let key = (rows::get(row, 1)?, rows::get(row, 2)?, rows::get(row, 3)?);
        if let Some(id) = ids.get_mut(&key) {
            **id = Some(rows::get(row, 0)?);
        }
    }
    Ok(())
}

/// Why a step of a transaction failed; the writer, which knows the path, makes a
/// [`StoreError`] of it.
#[derive(Debug)]
pub(crate) enum Failure {
    Sql(sqlx::Error),
    Store(StoreError),
}

impl From<sqlx::Error> for Failure {
    fn from(error: sqlx::Error) -> Self {
        Self::Sql(error)
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

impl From<serde_json::Error> for Failure {
    fn from(error: serde_json::Error) -> Self {
        Self::Sql(sqlx::Error::Encode(Box::new(error)))
    }
}
