//! The lifecycle records of managed targets (contract L8), and their history.

use std::borrow::Cow;

use probehost_model::lifecycle::{LifecycleRecord, LifecycleTransition, is_poolable};
use probehost_model::{Action, Change, Timestamp, Trigger};
use serde::Serialize;

use crate::conn::{Conn, Row, Value};
use crate::dialect::{Column, Statement};
use crate::events::{self, NewEvent};
use crate::failure::Failure;
use crate::filter::{Listing, TransitionFilter};
use crate::history::{self, NewAudit};
use crate::{Store, StoreError, chain, rows};

/// A lifecycle record to save, and what commits with it (contract R3).
#[derive(Debug, Clone)]
pub struct LifecycleWrite {
    /// Id of the target.
    pub target: String,
    /// The record. It lands only over the revision before its own.
    pub record: LifecycleRecord,
    /// The changes of state that led to it, in order.
    pub transitions: Vec<LifecycleTransition>,
    /// What was done, in order.
    pub audit: Vec<LifecycleAudit>,
    /// Whether routers may now send it work, where that has changed.
    pub poolable: Option<bool>,
    /// When.
    pub at: Timestamp,
    /// Who did it: a principal's name, or [`probehost_model::SYSTEM_PRINCIPAL`].
    pub principal: Cow<'static, str>,
    /// What asked for it, where somebody did.
    pub trigger: Option<Trigger>,
}

/// One thing that was done with a managed target, for the audit (contract A1).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LifecycleAudit {
    /// What.
    pub action: Action,
    /// What came of it, for people.
    pub outcome: String,
}

/// A change of the lifecycle state, as the append-only history keeps it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredTransition {
    /// Ascends with every such row of this store.
    pub id: i64,
    /// Id of the target.
    pub target: String,
    /// What changed.
    pub transition: LifecycleTransition,
    /// Who did it.
    pub principal: String,
}

const COLUMNS: [Column; 9] = [
    Column::Whole("at"),
    Column::Text("target_id"),
    Column::Text("\"from\""),
    Column::Text("\"to\""),
    Column::Text("reason"),
    Column::Text("message"),
    Column::Whole("failures"),
    Column::Whole("attempt"),
    Column::Text("principal"),
];

static INSERT: Statement =
    Statement::new(|dialect| dialect.insert("lifecycle_transitions", &COLUMNS));

/// The statement that decides: the target is there and managed, and what is stored is the
/// revision before. Of two hosts that step the same record only one lands.
static PUT: Statement = Statement::new(|dialect| {
    format!(
        "INSERT INTO lifecycles (target_id, revision, state, record) \
         SELECT targets.id, CAST($2 AS BIGINT), $3, $4 FROM targets \
         WHERE targets.id = $1 AND targets.deleted_at IS NULL AND targets.managed IS NOT NULL \
         AND ($2 = 1 OR EXISTS (SELECT 1 FROM lifecycles WHERE target_id = $1)){hold} \
         ON CONFLICT (target_id) DO UPDATE SET revision = excluded.revision, \
         state = excluded.state, record = excluded.record \
         WHERE lifecycles.revision = excluded.revision - 1 \
         RETURNING revision",
        hold = dialect.hold(),
    )
});

#[derive(Serialize)]
struct NewTransition<'a>(
    i64,
    &'a str,
    &'static str,
    &'static str,
    &'static str,
    &'a str,
    u32,
    Option<u64>,
    &'a str,
);

/// Does all of it but begin and commit. Gives whether it landed.
pub(crate) async fn apply(conn: &mut Conn, write: &LifecycleWrite) -> Result<bool, Failure> {
    let LifecycleWrite { target, record, at, principal, .. } = write;
    let revision = i64::try_from(record.revision).unwrap_or(i64::MAX);
    let text = serde_json::to_string(record)?;
    let values = [
        Value::Text(target),
        Value::Whole(revision),
        Value::Text(record.state.as_str()),
        Value::Text(&text),
    ];
    if conn.fetch_all(PUT.of(conn.dialect()), &values).await?.is_empty() {
        return Ok(false);
    }
    let mut transitions = Vec::new();
    let mut audit = Vec::new();
    let mut told = Vec::new();
    for made in &write.transitions {
        let reason = made.reason.map_or("", |reason| reason.as_str());
        let (from, to) = (made.from.as_str(), made.to.as_str());
        let LifecycleTransition { message, failures, attempt, .. } = made;
        let at = made.at.as_micros();
        transitions.push(NewTransition(
            at, target, from, to, reason, message, *failures, *attempt, principal,
        ));
        let outcome = match (reason, message.as_str()) {
            ("", message) => message.to_owned(),
            (reason, "") => reason.to_owned(),
            (reason, message) => format!("{reason}: {message}"),
        };
        audit.push(NewAudit::lifecycle(
            (made.at, principal, write.trigger, target),
            Action::Lifecycle,
            Some((from, to)),
            outcome,
        ));
        let change = Change::Lifecycle {
            from: made.from,
            to: made.to,
            reason: made.reason,
            message: message.clone(),
            failures: *failures,
            attempt: *attempt,
        };
        told.push(NewEvent::new(made.at, target, &change)?);
    }
    for done in &write.audit {
        audit.push(NewAudit::lifecycle(
            (*at, principal, write.trigger, target),
            done.action,
            None,
            done.outcome.clone(),
        ));
    }
    if let Some(poolable) = write.poolable {
        told.push(NewEvent::new(*at, target, &Change::Pool { poolable, state: record.state })?);
    }
    if transitions.is_empty() && audit.is_empty() && told.is_empty() {
        return Ok(true);
    }
    chain::lock(conn).await?;
    if !transitions.is_empty() {
        let new = serde_json::to_string(&transitions)?;
        conn.execute(INSERT.of(conn.dialect()), &[Value::Text(&new)]).await?;
    }
    history::insert_audit(conn, &audit).await?;
    events::insert(conn, &told).await?;
    Ok(true)
}

/// The target is not managed any more, or in another way: what was known goes, and routers are
/// told so, unless they know already because it was not `enabled`.
pub(crate) async fn forget(
    conn: &mut Conn,
    target: &str,
    enabled: bool,
    at: Timestamp,
) -> Result<Option<NewEvent<'static>>, Failure> {
    let text = "DELETE FROM lifecycles WHERE target_id = $1 RETURNING record";
    let found = conn.fetch_all(text, &[Value::Text(target)]).await?;
    let Some(row) = found.first() else { return Ok(None) };
    let was = record(row, 0)?;
    let unknown = Change::Pool { poolable: false, state: Default::default() };
    let told = enabled && is_poolable(&was);
    told.then(|| NewEvent::new(at, target.to_owned(), &unknown)).transpose()
}

/// The target was enabled or disabled, which makes it a member of the pool or none: routers are
/// told at once (contract L11).
pub(crate) async fn switched(
    conn: &mut Conn,
    target: &str,
    enabled: bool,
    at: Timestamp,
) -> Result<Option<NewEvent<'static>>, Failure> {
    let text = "SELECT record FROM lifecycles WHERE target_id = $1";
    let found = conn.fetch_all(text, &[Value::Text(target)]).await?;
    let Some(row) = found.first() else { return Ok(None) };
    let record = record(row, 0)?;
    let pool = Change::Pool { poolable: enabled, state: record.state };
    is_poolable(&record).then(|| NewEvent::new(at, target.to_owned(), &pool)).transpose()
}

impl Store {
    /// Every lifecycle record, by ascending id of the target.
    ///
    /// # Errors
    /// The database can't be read.
    pub async fn lifecycles(&self) -> Result<Vec<(String, LifecycleRecord)>, StoreError> {
        let text = "SELECT target_id, record FROM lifecycles ORDER BY target_id";
        let found = self.read(text, &[]).await?;
        found.iter().map(|row| Ok((rows::get(row, 0)?, record(row, 1)?))).collect()
    }

    /// The lifecycle record of one target; none before the first is saved, and of a target that
    /// is not managed.
    ///
    /// # Errors
    /// The database can't be read.
    pub async fn lifecycle(&self, target: &str) -> Result<Option<LifecycleRecord>, StoreError> {
        let text = "SELECT record FROM lifecycles WHERE target_id = $1";
        let found = self.read(text, &[Value::Text(target)]).await?;
        found.first().map(|row| record(row, 0)).transpose()
    }

    /// Changes of lifecycle states, newest first. The filter's `check` has no meaning here.
    ///
    /// # Errors
    /// The database can't be read.
    pub async fn lifecycle_transitions(
        &self,
        filter: &TransitionFilter,
    ) -> Result<Vec<StoredTransition>, StoreError> {
        let mut query = Listing::new(
            "SELECT id, at, target_id, \"from\", \"to\", reason, message, failures, attempt, \
             principal FROM lifecycle_transitions WHERE true",
        );
        query.equal("target_id", filter.target.as_deref());
        query.page(filter.before, filter.limit);
        self.list(query).await?.iter().map(transition).collect()
    }
}

fn record(row: &Row, column: usize) -> Result<LifecycleRecord, StoreError> {
    let text: &str = rows::get(row, column)?;
    serde_json::from_str(text).map_err(|error| StoreError::Unreadable {
        column: "record",
        value: text.to_owned(),
        detail: error.to_string(),
    })
}

fn transition(row: &Row) -> Result<StoredTransition, StoreError> {
    let attempt: Option<i64> = rows::get(row, 8)?;
    Ok(StoredTransition {
        id: rows::get(row, 0)?,
        target: rows::get(row, 2)?,
        transition: LifecycleTransition {
            at: Timestamp::from_micros(rows::get(row, 1)?),
            from: rows::word(rows::get(row, 3)?, "from")?,
            to: rows::word(rows::get(row, 4)?, "to")?,
            reason: rows::reason(rows::get(row, 5)?)?,
            message: rows::get(row, 6)?,
            failures: rows::count(rows::get(row, 7)?),
            attempt: attempt.and_then(|number| u64::try_from(number).ok()),
        },
        principal: rows::get(row, 9)?,
    })
}
