//! How the database is opened: options, and what both kinds have in common.

use std::path::PathBuf;
use std::time::Duration;

use sqlx::migrate::{Migration, MigrationType};
use sqlx::{SqlSafeStr, SqlStr};

use crate::conn::{Conn, Readers};
use crate::location::{Location, Place};
use crate::{StoreError, chain, postgres, sqlite};

/// When a commit waits for the disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Synchronous {
    /// SQLite: a commit is handed to the operating system. Whatever happens to the process,
    /// `kill -9` included, an acknowledged write is there. When the machine itself loses power
    /// or its kernel dies, the last moments may be missing; the file stays whole, and the next
    /// probes tell again what was lost. PostgreSQL: as the server is set, which is like `Full`
    /// unless somebody changed it.
    #[default]
    Normal,
    /// A commit waits until the disk says that it has it: nothing acknowledged is lost even
    /// with the power. Costs one flush of the disk per commit, that is some milliseconds.
    Full,
}

/// Where the database is and how it is used.
#[derive(Debug, Clone)]
pub struct Options {
    /// The database. A file is created when missing; its folder, or a database on a server, is
    /// not.
    pub location: Location,
    /// When a commit waits for the disk.
    pub synchronous: Synchronous,
    /// How long a write waits for another process that holds the lock, and a connection to a
    /// server for its answer. Default 5 s. A server that is silent for twice as long is lost.
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
        Self::at(Location::file(path))
    }

    /// The defaults for a database of either kind.
    #[must_use]
    pub fn at(location: Location) -> Self {
        Self {
            location,
            synchronous: Synchronous::default(),
            busy_timeout: Duration::from_secs(5),
            readers: 2,
            queue: 4096,
        }
    }

    /// How long a reader waits for a connection.
    pub(crate) fn acquire_timeout(&self) -> Duration {
        self.busy_timeout.max(Duration::from_secs(1))
    }
}

/// The one connection that writes, with the schema in place and the database found whole.
pub(crate) async fn writer(options: &Options) -> Result<Conn, StoreError> {
    let mut conn = match &options.location.0 {
        Place::File(path) => sqlite::writer(options, path).await?,
        Place::Server(server) => postgres::writer(options, server).await?,
    };
    chain::adopt(&mut conn).await.map_err(|failure| failure.into_error(&options.location))?;
    Ok(conn)
}

/// Another connection that writes, after the first was lost.
pub(crate) async fn again(options: &Options) -> Result<Conn, StoreError> {
    match &options.location.0 {
        Place::File(path) => sqlite::writer(options, path).await,
        Place::Server(server) => postgres::connect(options, server).await,
    }
}

/// Connections that only read. None is opened before it is needed.
pub(crate) fn readers(options: &Options) -> Readers {
    match &options.location.0 {
        Place::File(path) => sqlite::readers(options, path),
        Place::Server(server) => postgres::readers(options, server),
    }
}

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
