//! What can go wrong with the store, and what to do about it.

use std::path::Path;

use sqlx::migrate::MigrateError;

/// Why the store could not do what was asked. None of these says anything about a target:
/// a status is held as it was (contract R7).
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// Somebody else held the write lock for longer than the busy timeout.
    #[error(
        "the database {path} is locked by another process ({detail}); stop the other host or \
         the tool that has it open, then try again"
    )]
    Locked {
        /// The database file.
        path: String,
        /// In the database's own words.
        detail: String,
    },
    /// The file is not a database, or its content is damaged.
    #[error(
        "the database {path} is damaged ({detail}); stop the host, move the file with its -wal \
         and -shm files aside, and put a backup in its place or mend it with `sqlite3 {path} \
         .recover`; without a file the host starts anew"
    )]
    Corrupt {
        /// The database file.
        path: String,
        /// In the database's own words.
        detail: String,
    },
    /// The file can't be opened, created or written.
    #[error(
        "the database {path} cannot be written ({detail}); see that its folder exists and that \
         the host's user may write to the folder and to the file"
    )]
    NotWritable {
        /// The database file.
        path: String,
        /// In the database's own words.
        detail: String,
    },
    /// No room, or the disk fails.
    #[error("the disk of the database {path} fails ({detail}); free space or look at the disk")]
    Disk {
        /// The database file.
        path: String,
        /// In the database's own words.
        detail: String,
    },
    /// The schema is not one that this version knows.
    #[error(
        "the database {path} has a schema that this version does not know ({detail}); run the \
         version that wrote it, or a newer one"
    )]
    Schema {
        /// The database file.
        path: String,
        /// Which migration is the odd one.
        detail: String,
    },
    /// [`crate::Store::close`] was called, or the writer has ended.
    #[error("the store is closed; nothing was written")]
    Closed,
    /// No target of that id, or it is deleted.
    #[error("there is no target {0:?}; list the targets to see their ids")]
    NoSuchTarget(String),
    /// The same target, or the same check of a target, is there more than once.
    #[error("{0} is there more than once; give each its own name")]
    Duplicate(String),
    /// A stored value that this version can't read.
    #[error("the store holds {value:?} as {column}, which this version cannot read ({detail})")]
    Unreadable {
        /// Which column.
        column: &'static str,
        /// What stands there.
        value: String,
        /// Why not.
        detail: String,
    },
    /// Any other answer of the database.
    #[error("the database {path} refused a statement: {detail}")]
    Refused {
        /// The database file.
        path: String,
        /// In the database's own words.
        detail: String,
    },
}

impl StoreError {
    /// Whether it is the database as a whole, and not one statement, that fails: then there is
    /// no point in trying the next write at once.
    #[must_use]
    pub const fn is_outage(&self) -> bool {
        matches!(
            self,
            Self::Locked { .. }
                | Self::Corrupt { .. }
                | Self::NotWritable { .. }
                | Self::Disk { .. }
                | Self::Closed
        )
    }

    pub(crate) fn from_sqlx(path: &Path, error: &sqlx::Error) -> Self {
        let detail = error.to_string();
        let path = path.display().to_string();
        let code = error.as_database_error().and_then(|error| error.code());
        // SQLite's extended result codes keep the primary one in the low byte.
        let primary = code.and_then(|code| code.parse::<u32>().ok()).map(|code| code & 0xff);
        match (primary, error) {
            (Some(5 | 6), _) => Self::Locked { path, detail },
            (Some(11 | 26), _) => Self::Corrupt { path, detail },
            (Some(3 | 8 | 14 | 23), _) => Self::NotWritable { path, detail },
            (Some(10 | 13), _) => Self::Disk { path, detail },
            (_, sqlx::Error::PoolClosed | sqlx::Error::WorkerCrashed) => Self::Closed,
            _ => Self::Refused { path, detail },
        }
    }

    pub(crate) fn from_migrate(path: &Path, error: &MigrateError) -> Self {
        match error {
            MigrateError::Execute(source) | MigrateError::ExecuteMigration(source, _) => {
                Self::from_sqlx(path, source)
            }
            other => Self::Schema { path: path.display().to_string(), detail: other.to_string() },
        }
    }
}
