//! A connection to either database, what is bound to a statement, and the rows that come back.

use std::future::Future;
use std::time::Duration;

use sqlx::postgres::{PgConnection, PgPool, PgRow};
use sqlx::query::Query;
use sqlx::sqlite::{SqliteConnection, SqlitePool, SqliteRow};
use sqlx::{Connection, Database, Encode, Executor, IntoArguments, SqlSafeStr, SqlStr, Type};

use crate::dialect::Dialect;

/// One value for a place in a statement.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Value<'a> {
    Text(&'a str),
    MaybeText(Option<&'a str>),
    Whole(i64),
    MaybeWhole(Option<i64>),
    Flag(bool),
}

/// A row of an answer.
pub(crate) enum Row {
    Sqlite(SqliteRow),
    Postgres(PgRow),
}

/// A connection that writes.
pub(crate) enum Conn {
    Sqlite(Box<SqliteConnection>),
    /// With the longest that a statement may take. A server that says nothing more is lost, and
    /// nothing but this finds out.
    Postgres(Box<PgConnection>, Duration),
}

impl Conn {
    pub(crate) const fn dialect(&self) -> Dialect {
        match self {
            Self::Sqlite(_) => Dialect::Sqlite,
            Self::Postgres(..) => Dialect::Postgres,
        }
    }

    pub(crate) async fn fetch_all(
        &mut self,
        text: impl SqlSafeStr,
        values: &[Value<'_>],
    ) -> Result<Vec<Row>, sqlx::Error> {
        let text = text.into_sql_str();
        match self {
            Self::Sqlite(conn) => sqlite_rows(&mut **conn, text, values).await,
            Self::Postgres(conn, limit) => {
                within(*limit, postgres_rows(&mut **conn, text, values)).await
            }
        }
    }

    pub(crate) async fn execute(
        &mut self,
        text: impl SqlSafeStr,
        values: &[Value<'_>],
    ) -> Result<(), sqlx::Error> {
        let text = text.into_sql_str();
        match self {
            Self::Sqlite(conn) => bound(text, values).execute(&mut **conn).await.map(drop),
            Self::Postgres(conn, limit) => {
                within(*limit, bound(text, values).execute(&mut **conn)).await.map(drop)
            }
        }
    }

    /// Whether the connection still leads somewhere. That of SQLite always does.
    pub(crate) async fn is_alive(&mut self) -> bool {
        match self {
            Self::Sqlite(_) => true,
            Self::Postgres(conn, limit) => within(*limit, conn.ping()).await.is_ok(),
        }
    }

    pub(crate) async fn close(self) -> Result<(), sqlx::Error> {
        match self {
            Self::Sqlite(conn) => conn.close().await,
            Self::Postgres(conn, limit) => within(limit, conn.close()).await,
        }
    }
}

/// Connections that only read. Every clone is the same pool.
#[derive(Debug, Clone)]
pub(crate) enum Readers {
    Sqlite(SqlitePool),
    Postgres(PgPool, Duration),
}

impl Readers {
    pub(crate) async fn fetch_all(
        &self,
        text: impl SqlSafeStr,
        values: &[Value<'_>],
    ) -> Result<Vec<Row>, sqlx::Error> {
        let text = text.into_sql_str();
        match self {
            Self::Sqlite(pool) => sqlite_rows(pool, text, values).await,
            Self::Postgres(pool, limit) => within(*limit, postgres_rows(pool, text, values)).await,
        }
    }

    pub(crate) async fn close(&self) {
        match self {
            Self::Sqlite(pool) => pool.close().await,
            // A connection that is lost need not be waited for.
            Self::Postgres(pool, limit) => drop(tokio::time::timeout(*limit, pool.close()).await),
        }
    }
}

async fn sqlite_rows<'c>(
    on: impl Executor<'c, Database = sqlx::Sqlite>,
    text: SqlStr,
    values: &[Value<'_>],
) -> Result<Vec<Row>, sqlx::Error> {
    let found = bound(text, values).fetch_all(on).await?;
    Ok(found.into_iter().map(Row::Sqlite).collect())
}

async fn postgres_rows<'c>(
    on: impl Executor<'c, Database = sqlx::Postgres>,
    text: SqlStr,
    values: &[Value<'_>],
) -> Result<Vec<Row>, sqlx::Error> {
    let found = bound(text, values).fetch_all(on).await?;
    Ok(found.into_iter().map(Row::Postgres).collect())
}

/// A statement with its values in their places, `$1` and on.
fn bound<'q, DB>(text: SqlStr, values: &[Value<'q>]) -> Query<'q, DB, DB::Arguments>
where
    DB: Database,
    DB::Arguments: IntoArguments<DB>,
    &'q str: Encode<'q, DB> + Type<DB>,
    Option<&'q str>: Encode<'q, DB> + Type<DB>,
    i64: Encode<'q, DB> + Type<DB>,
    Option<i64>: Encode<'q, DB> + Type<DB>,
    bool: Encode<'q, DB> + Type<DB>,
{
    values.iter().fold(sqlx::query(text), |query, value| match *value {
        Value::Text(text) => query.bind(text),
        Value::MaybeText(text) => query.bind(text),
        Value::Whole(number) => query.bind(number),
        Value::MaybeWhole(number) => query.bind(number),
        Value::Flag(flag) => query.bind(flag),
    })
}

/// Gives up on a server that does not answer in time.
pub(crate) async fn within<T>(
    limit: Duration,
    answer: impl Future<Output = Result<T, sqlx::Error>>,
) -> Result<T, sqlx::Error> {
    tokio::time::timeout(limit, answer).await.unwrap_or_else(|_| {
        let said = format!("no answer within {} s", limit.as_secs_f32());
        Err(sqlx::Error::Io(std::io::Error::new(std::io::ErrorKind::TimedOut, said)))
    })
}
