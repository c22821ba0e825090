//! How the database is opened: options, connections, schema, and a look at its health.

use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::time::Duration;

use sqlx::migrate::{Migration, MigrationType, Migrator};
use sqlx::sqlite::{
    SqliteConnectOptions, SqliteConnection, SqliteJournalMode, SqlitePool, SqlitePoolOptions,
    SqliteSynchronous,
};
use sqlx::{ConnectOptions, SqlSafeStr};

use crate::StoreError;

/// When a commit waits for the disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Synchronous {
    /// A commit is handed to the operating system. Whatever happens to the process, `kill -9`
    /// included, an acknowledged write is there. When the machine itself loses power or its
    /// kernel dies, the last moments may be missing; the file stays whole, and the next probes
    /// tell again what was lost.
    #[default]
    Normal,
    /// A commit waits until the disk says that it has it: nothing acknowledged is lost even
    /// with the power. Costs one flush of the disk per commit, that is some milliseconds.
    Full,
}

/// Where the database is and how it is used.
#[derive(Debug, Clone)]
pub struct Options {
    /// The database file. It is created when missing; its folder is not.
    pub path: PathBuf,
    /// When a commit waits for the disk.
    pub synchronous: Synchronous,
    /// How long a write waits for another process that holds the lock. Default 5 s.
    pub busy_timeout: Duration,
    /// Connections for reading. Default 2, at least 1.
    pub readers: u32,
    /// Writes that may wait for the writer before callers have to. Default 4096, at least 1.
    pub queue: usize,
}

impl Options {
    /// The defaults for a database file.
    #[must_use]
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self {
            path: path.into(),
            synchronous: Synchronous::default(),
            busy_timeout: Duration::from_secs(5),
            readers: 2,
            queue: 4096,
        }
    }

    fn connect_options(&self) -> SqliteConnectOptions {
        SqliteConnectOptions::new()
            .filename(&self.path)
            .busy_timeout(self.busy_timeout)
            .foreign_keys(true)
            // A batch answers with up to 256 rows: they fit, so that the connection's thread
            // never waits for the reader of its answer.
            .row_buffer_size(512)
            .thread_name(|id| format!("store-{id}"))
            .disable_statement_logging()
    }
}

/// The one connection that writes, with the schema in place and the file found whole.
pub(crate) async fn writer(options: &Options) -> Result<SqliteConnection, StoreError> {
    let fail = |error| StoreError::from_sqlx(&options.path, &error);
    let synchronous = match options.synchronous {
        Synchronous::Normal => SqliteSynchronous::Normal,
        Synchronous::Full => SqliteSynchronous::Full,
    };
    let mut conn = options
        .connect_options()
        .create_if_missing(true)
        .journal_mode(SqliteJournalMode::Wal)
        .synchronous(synchronous)
        // The write-ahead log is cut back to this after a burst.
        .pragma("journal_size_limit", "67108864")
        .connect()
        .await
        .map_err(fail)?;
    quick_check(&mut conn, &options.path).await?;
    Migrator::with_migrations(migrations())
        .run_direct(None, &mut conn, false)
        .await
        .map_err(|error| StoreError::from_migrate(&options.path, &error))?;
    Ok(conn)
}

/// Connections that only read.
pub(crate) fn readers(options: &Options) -> SqlitePool {
    SqlitePoolOptions::new()
        .max_connections(options.readers.max(1))
        .acquire_timeout(options.busy_timeout.max(Duration::from_secs(1)))
        .test_before_acquire(false)
        // Else the pool starts a task that closes old connections, and nobody awaits it.
        .idle_timeout(None)
        .max_lifetime(None)
        .connect_lazy_with(options.connect_options().read_only(true))
}

fn migrations() -> Vec<Migration> {
    let first = include_str!("../migrations/sqlite/0001_targets_records_history.sql");
    let description = Cow::Borrowed("targets records history");
    vec![Migration::new(1, description, MigrationType::Simple, first.into_sql_str(), false)]
}

/// A damaged file is told of at the start and not in the middle of the night.
async fn quick_check(conn: &mut SqliteConnection, path: &Path) -> Result<(), StoreError> {
    let found: String = sqlx::query_scalar("PRAGMA quick_check(1)")
        .fetch_one(conn)
        .await
        .map_err(|error| StoreError::from_sqlx(path, &error))?;
    if found == "ok" {
        return Ok(());
    }
    Err(StoreError::Corrupt { path: path.display().to_string(), detail: found })
}
