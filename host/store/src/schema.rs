//! The changes of the schema, for either database.

use sqlx::migrate::{Migration, MigrationType};
use sqlx::{SqlSafeStr, SqlStr};

/// A change of the schema: its number, what it brings, and the statements.
pub(crate) type Step = (i64, &'static str, &'static str);

/// The schema's changes in their order, in the database's own words.
pub(crate) fn migrations(steps: &[Step]) -> Vec<Migration> {
    steps
        .iter()
        .map(|(number, title, text)| {
            let text: SqlStr = text.into_sql_str();
            Migration::new(*number, (*title).into(), MigrationType::Simple, text, false)
        })
        .collect()
}
