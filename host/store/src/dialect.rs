//! What SQLite and PostgreSQL spell each in its own way. Everything else is one text for both.
//!
//! A batch of any size goes to the database as one parameter: a JSON array of rows, each an
//! array of values. So one text serves one row and 256, is prepared once, and costs one trip
//! to the database.
//!
//! # Why concurrent hosts can't harm each other on PostgreSQL
//!
//! SQLite has one writer at a time. PostgreSQL has not, and every transaction here runs under
//! READ COMMITTED: each statement sees what was committed when it began. So what a statement
//! read may have changed by the time it writes, unless a lock forbids it. Three do:
//!
//! 1. *The record.* `ON CONFLICT DO UPDATE` locks the row and computes on its newest committed
//!    version, not on that of the statement's snapshot; a row that somebody inserts meanwhile
//!    is waited for and then counts as the conflict. Two hosts that count a failure each come
//!    to two, the later observation wins, and each is told what it really replaced.
//! 2. *The target.* The guard reads the target, and a save could commit between that look and
//!    the write: its reset would then be overwritten by a probe from before it. So the guard
//!    reads [`Dialect::hold`] (`FOR SHARE`). A target that is being changed is waited for and
//!    its newest version judged again, where `updated_at` has moved and the guard fails; one
//!    that is held can't be changed until the observation is committed. Every save that touches
//!    checks or records of a target also moves its `updated_at`, in the same transaction, so the
//!    guard's other looks (at the check, and in quiet mode at the record) stay true as well.
//!    This also carries quiet mode, which is one statement without a transaction around it: to
//!    PostgreSQL it is a transaction, and its locks stand until it is committed.
//! 3. *Saves.* A save reads, compares and writes. It first takes [`Dialect::save_lock`], which
//!    neither another save nor an observation (whose `FOR SHARE` is a weaker lock of the same
//!    table) can hold at the same time; it reads only then.
//!
//! No two of these wait for each other in a circle: a save takes its lock before any other;
//! observations share the targets, and lock records in one order ([`Dialect::in_order`]). The
//! rest, a second observation of a check in one batch that lands where the first did not, the
//! database finds by itself, and the writer tries again.

use std::sync::{Arc, OnceLock};

use sqlx::{AssertSqlSafe, SqlSafeStr, SqlStr};

pub(crate) const COMMIT: &str = "COMMIT";
pub(crate) const ROLLBACK: &str = "ROLLBACK";

/// The language of a database.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Dialect {
    Sqlite,
    Postgres,
}

/// A column of the rows of a batch.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Column {
    Text(&'static str),
    Whole(&'static str),
    /// Bytes, which the rows have as hexadecimal digits.
    Bytes(&'static str),
}

impl Column {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Text(name) | Self::Whole(name) | Self::Bytes(name) => name,
        }
    }
}

impl Dialect {
    /// On SQLite with the write lock: a transaction that reads first and locks later can find
    /// that somebody wrote in between.
    pub(crate) const fn begin(self) -> &'static str {
        match self {
            Self::Sqlite => "BEGIN IMMEDIATE",
            Self::Postgres => "BEGIN ISOLATION LEVEL READ COMMITTED",
        }
    }

    /// The labels of a target `t` as rows of `key` and `value`, and the function that gives the
    /// place of a text within another, 0 when it is not there.
    pub(crate) const fn listing_words(self) -> (&'static str, &'static str) {
        match self {
            Self::Sqlite => ("json_each(t.labels)", "instr"),
            Self::Postgres => ("jsonb_each_text(t.labels::jsonb)", "strpos"),
        }
    }

    /// What a save does before it reads; none where the begin has done it.
    pub(crate) const fn save_lock(self) -> Option<&'static str> {
        match self {
            Self::Sqlite => None,
            Self::Postgres => Some("LOCK TABLE targets IN EXCLUSIVE MODE"),
        }
    }

    /// What a transaction does before it adds to the history, as its last lock: ids then grow
    /// in the order of commits, and who reads on from an id misses nothing. Not a lock of the
    /// tables, for which the database's own cleaning would have to stop.
    pub(crate) const fn history_lock(self) -> Option<&'static str> {
        match self {
            Self::Sqlite => None,
            Self::Postgres => Some("SELECT pg_advisory_xact_lock(8241990170431)"),
        }
    }

    /// At the end of a look at a target: it stays as it is until the transaction ends.
    pub(crate) const fn hold(self) -> &'static str {
        match self {
            Self::Sqlite => "",
            Self::Postgres => " FOR SHARE OF targets",
        }
    }

    /// At the end of the look at incoming observations: their records are locked in this order.
    pub(crate) const fn in_order(self) -> &'static str {
        match self {
            Self::Sqlite => "",
            Self::Postgres => " ORDER BY excluded.target_id, excluded.check_name",
        }
    }

    /// A common table expression `name (columns…)` over the rows of the first parameter, in
    /// their order. Materialized, so that each value is read out of the JSON once, however
    /// often the statement speaks of it. SQLite's `jsonb_each` (3.51) hands each row on in its
    /// binary form, where `json_each` would write it as text, to be parsed again for every
    /// column.
    pub(crate) fn rows_as(self, name: &str, columns: &[Column]) -> String {
        let value = |(place, column): (usize, &Column)| match (self, column) {
            (Self::Postgres, Column::Whole(_)) => format!("(value ->> {place})::bigint"),
            (Self::Sqlite, Column::Bytes(_)) => format!("unhex(value ->> {place})"),
            (Self::Postgres, Column::Bytes(_)) => format!("decode(value ->> {place}, 'hex')"),
            _ => format!("value ->> {place}"),
        };
        let values: Vec<String> = columns.iter().enumerate().map(value).collect();
        let from = match self {
            Self::Sqlite => "jsonb_each($1)",
            Self::Postgres => {
                "jsonb_array_elements($1::jsonb) WITH ORDINALITY AS rows (value, place) \
                 ORDER BY place"
            }
        };
        format!(
            "WITH {name} ({}) AS MATERIALIZED (SELECT {} FROM {from})",
            names(columns),
            values.join(", ")
        )
    }

    /// Inserts the rows of the first parameter in their order.
    pub(crate) fn insert(self, table: &str, columns: &[Column]) -> String {
        let list = names(columns);
        // `WHERE true` keeps SQLite from reading an upsert clause into what may follow.
        format!(
            "{} INSERT INTO {table} ({list}) SELECT {list} FROM new WHERE true",
            self.rows_as("new", columns)
        )
    }
}

/// The columns' names as a list.
pub(crate) fn names(columns: &[Column]) -> String {
    columns.iter().map(|column| column.name()).collect::<Vec<_>>().join(", ")
}

/// A statement whose text is made once for each dialect.
pub(crate) struct Statement {
    make: fn(Dialect) -> String,
    sqlite: OnceLock<Arc<str>>,
    postgres: OnceLock<Arc<str>>,
}

impl Statement {
    pub(crate) const fn new(make: fn(Dialect) -> String) -> Self {
        Self { make, sqlite: OnceLock::new(), postgres: OnceLock::new() }
    }

    pub(crate) fn of(&self, dialect: Dialect) -> SqlStr {
        let text = match dialect {
            Dialect::Sqlite => &self.sqlite,
            Dialect::Postgres => &self.postgres,
        };
        let text = text.get_or_init(|| (self.make)(dialect).into());
        AssertSqlSafe(Arc::clone(text)).into_sql_str()
    }
}
