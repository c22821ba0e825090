//! Where the database is and how it is used.

use std::path::PathBuf;
use std::time::Duration;

use crate::Location;

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
