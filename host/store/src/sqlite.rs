//! How an SQLite file is opened.

use std::path::Path;

use sqlx::ConnectOptions;
use sqlx::migrate::Migrator;
use sqlx::sqlite::{
    SqliteConnectOptions, SqliteConnection, SqliteJournalMode, SqlitePoolOptions, SqliteSynchronous,
};

use crate::conn::{Conn, Readers};
use crate::options::{Options, Synchronous};
use crate::schema::{Step, migrations};
use crate::{Location, StoreError};

const SCHEMA: [Step; 6] = [
    (
        1,
        "targets records history",
        include_str!("../migrations/sqlite/0001_targets_records_history.sql"),
    ),
    (2, "lifecycles events", include_str!("../migrations/sqlite/0002_lifecycles_events.sql")),
    (3, "tokens sessions", include_str!("../migrations/sqlite/0003_tokens_sessions.sql")),
    (4, "audit chain", include_str!("../migrations/sqlite/0004_audit_chain.sql")),
    (5, "rollups", include_str!("../migrations/sqlite/0005_rollups.sql")),
    (6, "notifications", include_str!("../migrations/sqlite/0006_notifications.sql")),
];

fn connect_options(options: &Options, path: &Path) -> SqliteConnectOptions {
    SqliteConnectOptions::new()
        .filename(path)
        .busy_timeout(options.busy_timeout)
        .foreign_keys(true)
        // A batch answers with up to 256 rows: they fit, so that the connection's thread
        // never waits for the reader of its answer.
        .row_buffer_size(512)
        .thread_name(|id| format!("store-{id}"))
        .disable_statement_logging()
}

/// The connection that writes, with the schema in place and the file found whole.
pub(crate) async fn writer(options: &Options, path: &Path) -> Result<Conn, StoreError> {
    let fail = |error| StoreError::from_sqlx(&options.location, &error);
    let synchronous = match options.synchronous {
        Synchronous::Normal => SqliteSynchronous::Normal,
        Synchronous::Full => SqliteSynchronous::Full,
    };
    let mut conn = connect_options(options, path)
        .create_if_missing(true)
        .journal_mode(SqliteJournalMode::Wal)
        .synchronous(synchronous)
        // The write-ahead log is cut back to this after a burst.
        .pragma("journal_size_limit", "67108864")
        .connect()
        .await
        .map_err(fail)?;
    quick_check(&mut conn, &options.location).await?;
    Migrator::with_migrations(migrations(&SCHEMA))
        .run_direct(None, &mut conn, false)
        .await
        .map_err(|error| StoreError::from_migrate(&options.location, &error))?;
    Ok(Conn::Sqlite(Box::new(conn)))
}

/// Connections that only read.
pub(crate) fn readers(options: &Options, path: &Path) -> Readers {
    let pool = SqlitePoolOptions::new()
        .max_connections(options.readers.max(1))
        .acquire_timeout(options.acquire_timeout())
        .test_before_acquire(false)
        // Else the pool starts a task that closes old connections, and nobody awaits it.
        .idle_timeout(None)
        .max_lifetime(None)
        .connect_lazy_with(connect_options(options, path).read_only(true));
    Readers::Sqlite(pool)
}

/// A damaged file is told of at the start and not in the middle of the night.
async fn quick_check(conn: &mut SqliteConnection, location: &Location) -> Result<(), StoreError> {
    let found: String = sqlx::query_scalar("PRAGMA quick_check(1)")
        .fetch_one(conn)
        .await
        .map_err(|error| StoreError::from_sqlx(location, &error))?;
    if found == "ok" {
        return Ok(());
    }
    Err(StoreError::Corrupt { database: location.to_string(), detail: found })
}
