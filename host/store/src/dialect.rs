//! What SQLite spells in its own way.
//!
//! A batch of any size goes to the database as one parameter: a JSON array of rows, each an
//! array of values. So one text serves one row and 256, is prepared once, and costs one trip
//! to the connection's thread.

/// Takes the write lock at the begin: a transaction that reads first and locks later can find
/// that somebody wrote in between.
pub(crate) const BEGIN: &str = "BEGIN IMMEDIATE";
pub(crate) const COMMIT: &str = "COMMIT";
pub(crate) const ROLLBACK: &str = "ROLLBACK";

/// A common table expression `name (columns…)` over the rows of the first parameter, in their
/// order. Materialized, so that each value is read out of the JSON once, however often the
/// statement speaks of it. `jsonb_each` (SQLite 3.51) hands each row on in its binary form,
/// where `json_each` would write it as text, to be parsed again for every column.
pub(crate) fn rows_as(name: &str, columns: &[&str]) -> String {
    let values: Vec<String> =
        (0..columns.len()).map(|place| format!("value ->> {place}")).collect();
    format!(
        "WITH {name} ({}) AS MATERIALIZED (SELECT {} FROM jsonb_each(?1))",
        columns.join(", "),
        values.join(", ")
    )
}
