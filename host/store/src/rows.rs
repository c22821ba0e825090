//! Reads columns into the types of the model.

use std::fmt::Display;
use std::str::FromStr;

use probehost_model::{Reason, Record, Timestamp};
use sqlx::{Decode, Postgres, Row as _, Sqlite, Type};

use crate::StoreError;
use crate::conn::Row;

/// What a column of either database can be read as.
pub(crate) trait Readable<'r>:
    Decode<'r, Sqlite> + Type<Sqlite> + Decode<'r, Postgres> + Type<Postgres>
{
}

impl<'r, T> Readable<'r> for T where
    T: Decode<'r, Sqlite> + Type<Sqlite> + Decode<'r, Postgres> + Type<Postgres>
{
}

/// A column's value.
pub(crate) fn get<'r, T: Readable<'r>>(row: &'r Row, column: usize) -> Result<T, StoreError> {
    let value = match row {
        Row::Sqlite(row) => row.try_get(column),
        Row::Postgres(row) => row.try_get(column),
    };
    value.map_err(|error| StoreError::Unreadable {
        column: "a column",
        value: column.to_string(),
        detail: error.to_string(),
    })
}

/// A column that holds one word of a closed set.
pub(crate) fn word<T: FromStr<Err: Display>>(
    text: &str,
    column: &'static str,
) -> Result<T, StoreError> {
    text.parse().map_err(|error: T::Err| StoreError::Unreadable {
        column,
        value: text.to_owned(),
        detail: error.to_string(),
    })
}

/// A reason; the empty text is none.
pub(crate) fn reason(text: &str) -> Result<Option<Reason>, StoreError> {
    if text.is_empty() { Ok(None) } else { word(text, "reason").map(Some) }
}

/// A count; the model's counters stop at their largest value.
pub(crate) fn count(number: i64) -> u32 {
    u32::try_from(number.max(0)).unwrap_or(u32::MAX)
}

/// A time that may be missing.
pub(crate) fn time(micros: Option<i64>) -> Option<Timestamp> {
    micros.map(Timestamp::from_micros)
}

/// The columns of a record, in the order in which [`record`] reads them.
pub(crate) const RECORD_COLUMNS: [&str; 10] = [
    "status",
    "reason",
    "message",
    "subject",
    "streak",
    "inconclusive_streak",
    "checked_at",
    "last_success_at",
    "last_attempt_at",
    "last_error",
];

/// A record from [`RECORD_COLUMNS`], the first of which stands at `first`.
pub(crate) fn record(row: &Row, first: usize) -> Result<Record, StoreError> {
    Ok(Record {
        status: word(get(row, first)?, "status")?,
        reason: reason(get(row, first + 1)?)?,
        message: get(row, first + 2)?,
        subject: get(row, first + 3)?,
        streak: count(get(row, first + 4)?),
        inconclusive_streak: count(get(row, first + 5)?),
        checked_at: time(get(row, first + 6)?),
        last_success_at: time(get(row, first + 7)?),
        last_attempt_at: time(get(row, first + 8)?),
        last_error: get(row, first + 9)?,
    })
}
