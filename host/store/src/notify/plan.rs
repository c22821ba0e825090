//! What is planned of the events: deliveries, and the problems that stand.

use probehost_model::Timestamp;
use probehost_model::notify::NotificationKind;
use serde::Serialize;

use crate::conn::{Conn, Value};
use crate::dialect::{Column, Statement};
use crate::failure::Failure;
use crate::{Store, StoreError, rows};

/// Which problem: of a check, of a target as a whole (no check), or of many (no target), as one
/// sink is told of it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct ProblemKey {
    /// Name of the sink.
    pub sink: String,
    /// Id of the target; empty for many together.
    pub target: String,
    /// Name of the check; empty for the target as a whole.
    pub check: String,
}

/// A problem that stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProblemRow {
    /// Which.
    pub key: ProblemKey,
    /// What is known of it, as JSON.
    pub data: String,
}

/// Up to where it is planned who is told, and the problems that stand.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotifyState {
    /// One more with each plan.
    pub revision: i64,
    /// The last event that is planned.
    pub cursor: i64,
    /// By ascending key.
    pub problems: Vec<ProblemRow>,
}

/// A notification that is yet to be delivered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewDelivery {
    /// To whom and of what.
    pub key: ProblemKey,
    /// What it is.
    pub kind: NotificationKind,
    /// The event that asked for it, where one did.
    pub event: Option<i64>,
    /// What it says, as JSON.
    pub message: String,
}

/// What follows from events, from time that passed, or from both.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NotifyPlan {
    /// The revision that it was made from.
    pub revision: i64,
    /// The last event that is now planned.
    pub cursor: i64,
    /// Problems that are new or known better.
    pub put: Vec<ProblemRow>,
    /// Problems that are over.
    pub gone: Vec<ProblemKey>,
    /// What is to be delivered, in order.
    pub deliveries: Vec<NewDelivery>,
    /// When it was made; may be missing where nothing is to be delivered.
    pub at: Option<Timestamp>,
}

/// The lock of all plans, and the compare-and-set: who comes second finds another revision.
const ADVANCE: &str = "UPDATE notify_cursor SET last_event = $2, revision = revision + 1 \
     WHERE id = 1 AND revision = $1 RETURNING revision";

const PROBLEM: [Column; 4] = [
    Column::Text("sink"),
    Column::Text("target_id"),
    Column::Text("check_name"),
    Column::Text("data"),
];

static PUT: Statement = Statement::new(|dialect| {
    let insert = dialect.insert("problems", &PROBLEM);
    format!("{insert} ON CONFLICT (sink, target_id, check_name) DO UPDATE SET data = excluded.data")
});

const KEY: [Column; 3] =
    [Column::Text("sink"), Column::Text("target_id"), Column::Text("check_name")];

static FORGET: Statement = Statement::new(|dialect| {
    format!(
        "{} DELETE FROM problems WHERE (sink, target_id, check_name) IN \
         (SELECT sink, target_id, check_name FROM gone)",
        dialect.rows_as("gone", &KEY)
    )
});

const DELIVERY: [Column; 13] = [
    Column::Text("sink"),
    Column::Text("target_id"),
    Column::Text("check_name"),
    Column::Text("kind"),
    Column::Whole("event_id"),
    Column::Text("message"),
    Column::Text("state"),
    Column::Whole("attempts"),
    Column::Whole("created_at"),
    Column::Whole("next_attempt_at"),
    Column::Text("claimed_by"),
    Column::Whole("claimed_until"),
    Column::Text("last_error"),
];

static DELIVER: Statement = Statement::new(|dialect| dialect.insert("deliveries", &DELIVERY));

#[derive(Serialize)]
struct NewRow<'a>(
    &'a str,
    &'a str,
    &'a str,
    &'static str,
    Option<i64>,
    &'a str,
    &'static str,
    i64,
    i64,
    i64,
    &'static str,
    i64,
    &'static str,
);

pub(super) async fn apply(conn: &mut Conn, plan: &NotifyPlan) -> Result<bool, Failure> {
    let values = [Value::Whole(plan.revision), Value::Whole(plan.cursor)];
    if conn.fetch_all(ADVANCE, &values).await?.is_empty() {
        return Ok(false);
    }
    let dialect = conn.dialect();
    if !plan.gone.is_empty() {
        let gone: Vec<_> =
            plan.gone.iter().map(|key| (&key.sink, &key.target, &key.check)).collect();
        let gone = serde_json::to_string(&gone)?;
        conn.execute(FORGET.of(dialect), &[Value::Text(&gone)]).await?;
    }
    if !plan.put.is_empty() {
        let put: Vec<_> = plan
            .put
            .iter()
            .map(|row| (&row.key.sink, &row.key.target, &row.key.check, &row.data))
            .collect();
        let put = serde_json::to_string(&put)?;
        conn.execute(PUT.of(dialect), &[Value::Text(&put)]).await?;
    }
    if !plan.deliveries.is_empty() {
        let at = plan.at.map_or(0, Timestamp::as_micros);
        let new = plan.deliveries.iter().map(|new| {
            let NewDelivery { key, kind, event, message } = new;
            NewRow(
                &key.sink,
                &key.target,
                &key.check,
                kind.as_str(),
                *event,
                message,
                "pending",
                0,
                at,
                at,
                "",
                0,
                "",
            )
        });
        let new = serde_json::to_string(&new.collect::<Vec<_>>())?;
        conn.execute(DELIVER.of(dialect), &[Value::Text(&new)]).await?;
    }
    Ok(true)
}

impl Store {
    /// Up to where it is planned who is told, and the problems that stand.
    ///
    /// # Errors
    /// The database can't be read.
    pub async fn notify_state(&self) -> Result<NotifyState, StoreError> {
        // The revision first: a plan that lands between the two makes ours fail, not err.
        let cursor = self.read("SELECT revision, last_event FROM notify_cursor", &[]).await?;
        let (revision, cursor) = match cursor.first() {
            Some(row) => (rows::get(row, 0)?, rows::get(row, 1)?),
            None => (0, 0),
        };
        let text = "SELECT sink, target_id, check_name, data FROM problems \
                    ORDER BY sink, target_id, check_name";
        let found = self.read(text, &[]).await?;
        let problems = found.iter().map(|row| {
            let key = ProblemKey {
                sink: rows::get(row, 0)?,
                target: rows::get(row, 1)?,
                check: rows::get(row, 2)?,
            };
            Ok(ProblemRow { key, data: rows::get(row, 3)? })
        });
        Ok(NotifyState { revision, cursor, problems: problems.collect::<Result<_, StoreError>>()? })
    }
}
