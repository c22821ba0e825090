//! What the event stream tells: a row for each change, in the order of commits (contract E1, E2).

use std::borrow::Cow;

use probehost_model::{Change, ChangeEvent, Timestamp};
use serde::Serialize;

use crate::conn::{Conn, Row, Value};
use crate::dialect::{Column, Statement};
use crate::failure::Failure;
use crate::{MAX_PAGE, Store, StoreError, rows};

const COLUMNS: [Column; 3] =
    [Column::Whole("at"), Column::Text("target_id"), Column::Text("change")];

static INSERT: Statement = Statement::new(|dialect| dialect.insert("events", &COLUMNS));

/// An event that is yet to be written; the fields as in [`COLUMNS`].
#[derive(Debug, Serialize)]
pub(crate) struct NewEvent<'a>(i64, Cow<'a, str>, String);

impl<'a> NewEvent<'a> {
    pub(crate) fn new(
        at: Timestamp,
        target: impl Into<Cow<'a, str>>,
        change: &Change,
    ) -> Result<Self, Failure> {
        Ok(Self(at.as_micros(), target.into(), serde_json::to_string(change)?))
    }
}

/// Writes events in their order, under the lock of the history.
pub(crate) async fn insert(conn: &mut Conn, new: &[NewEvent<'_>]) -> Result<(), Failure> {
    if !new.is_empty() {
        let new = serde_json::to_string(new)?;
        conn.execute(INSERT.of(conn.dialect()), &[Value::Text(&new)]).await?;
    }
    Ok(())
}

/// Drops what is older than `before`, but never the newest event, nor one of which it is not yet
/// planned who is told.
pub(crate) async fn trim(conn: &mut Conn, before: Timestamp) -> Result<(), Failure> {
    // By id, so that what is left has no gap, also where the clock was set back.
    conn.execute(
        "DELETE FROM events WHERE id < COALESCE((SELECT MIN(id) FROM events WHERE at >= $1), \
         (SELECT MAX(id) FROM events)) \
         AND id <= (SELECT last_event FROM notify_cursor)",
        &[Value::Whole(before.as_micros())],
    )
    .await?;
    Ok(())
}

/// The ids of the events that can be told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EventBounds {
    /// The oldest that is kept; 1 when there was none yet.
    pub first: i64,
    /// The newest; 0: none yet.
    pub last: i64,
}

impl Store {
    /// The events that come after the one of that id, oldest first: at most `limit`, and at
    /// most [`MAX_PAGE`].
    ///
    /// # Errors
    /// The database can't be read.
    pub async fn events_after(&self, id: i64, limit: u32) -> Result<Vec<ChangeEvent>, StoreError> {
        let values = [Value::Whole(id), Value::Whole(limit.min(MAX_PAGE).into())];
        let text = "SELECT id, at, target_id, change FROM events WHERE id > $1 \
                    ORDER BY id LIMIT $2";
        self.read(text, &values).await?.iter().map(event).collect()
    }

    /// Which events there are to tell.
    ///
    /// # Errors
    /// The database can't be read.
    pub async fn event_bounds(&self) -> Result<EventBounds, StoreError> {
        let found = self.read("SELECT MIN(id), MAX(id) FROM events", &[]).await?;
        let (first, last): (Option<i64>, Option<i64>) = match found.first() {
            Some(row) => (rows::get(row, 0)?, rows::get(row, 1)?),
            None => (None, None),
        };
        let last = last.unwrap_or(0);
        Ok(EventBounds { first: first.unwrap_or(1), last })
    }
}

fn event(row: &Row) -> Result<ChangeEvent, StoreError> {
    let text: &str = rows::get(row, 3)?;
    let change: Change = serde_json::from_str(text).map_err(|error| StoreError::Unreadable {
        column: "change",
        value: text.to_owned(),
        detail: error.to_string(),
    })?;
    Ok(ChangeEvent {
        id: rows::get(row, 0)?,
        at: Timestamp::from_micros(rows::get(row, 1)?),
        target: rows::get(row, 2)?,
        change,
    })
}
