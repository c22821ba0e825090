//! What can go wrong with the store, and what to do about it.

use probehost_model::ChainFault;
use sqlx::migrate::MigrateError;

use crate::Location;
use crate::location::Place;

/// Why the store could not do what was asked. None of these says anything about a target:
/// a status is held as it was (contract R7).
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// Somebody else held the write lock for longer than the busy timeout.
    #[error(
        "the database {database} is locked by another process ({detail}); stop the other host or \
         the tool that has it open, then try again"
    )]
    Locked {
        /// Which database.
        database: String,
        /// In the database's own words.
        detail: String,
    },
    /// The file is not a database, or its content is damaged.
    #[error(
        "the database {database} is damaged ({detail}); stop the host, move the file with its -wal \
         and -shm files aside, and put a backup in its place or mend it with `sqlite3 {database} \
         .recover`; without a file the host starts anew"
    )]
    Corrupt {
        /// Which database.
        database: String,
        /// In the database's own words.
        detail: String,
    },
    /// The file can't be opened, created or written.
    #[error(
        "the database {database} cannot be written ({detail}); see that its folder exists and that \
         the host's user may write to the folder and to the file"
    )]
    NotWritable {
        /// Which database.
        database: String,
        /// In the database's own words.
        detail: String,
    },
    /// No room, or the disk fails.
    #[error("the disk of the database {database} fails ({detail}); free space or look at the disk")]
    Disk {
        /// Which database.
        database: String,
        /// In the database's own words.
        detail: String,
    },
    /// The server can't be reached, or the connection to it is lost. A write that was on its
    /// way may have landed all the same; the next one is judged by what is stored.
    #[error(
        "the database {database} cannot be reached ({detail}); see that the server runs and \
         accepts connections from here"
    )]
    Unreachable {
        /// Which database, without the password.
        database: String,
        /// In the words of the server or the system.
        detail: String,
    },
    /// The server refuses this user, has no such database, or lets nobody write.
    #[error(
        "the database {database} does not let the host in ({detail}); see that the database \
         exists, that the password is right, and that the user may create and write tables"
    )]
    Denied {
        /// Which database, without the password.
        database: String,
        /// In the server's own words.
        detail: String,
    },
    /// The location of the database can't be understood.
    #[error(
        "the location of the database can't be used: {detail}; write a path, `sqlite:path` or \
         `postgres://user@host:port/database`"
    )]
    Url {
        /// What is wrong, without anything that could be a password.
        detail: String,
    },
    /// The schema is not one that this version knows.
    #[error(
        "the database {database} has a schema that this version does not know ({detail}); run the \
         version that wrote it, or a newer one"
    )]
    Schema {
        /// Which database.
        database: String,
        /// Which migration is the odd one.
        detail: String,
    },
    /// [`crate::Store::close`] was called, or the writer has ended.
    #[error("the store is closed; nothing was written")]
    Closed,
    /// No target of that id, or it is deleted.
    #[error("there is no target {0:?}; list the targets to see their ids")]
    NoSuchTarget(String),
    /// A target of that id is there.
    #[error("there is a target {0:?} already; change that one, or choose another id")]
    TargetExists(String),
    /// A target of that id was there and is deleted.
    #[error(
        "a target {0:?} was deleted, and an id is never used again, so that its history stays its \
         own; choose another id"
    )]
    WasDeleted(String),
    /// The target is the configuration file's, and is changed there alone.
    #[error("the target {0:?} stands in the configuration file; change it there")]
    OfTheFile(String),
    /// The same target, or the same check of a target, is there more than once.
    #[error("{0} is there more than once; give each its own name")]
    Duplicate(String),
    /// A token of that name is in use.
    #[error("a token {0:?} is in use; choose another name, or revoke that one first")]
    TokenExists(String),
    /// No token of that name is in use.
    #[error("no token {0:?} is in use; `probehost token list` shows those that are")]
    NoSuchToken(String),
    /// Another host keeps writing the same lifecycle record.
    #[error("another host keeps changing the lifecycle of the target {0:?}; try again")]
    Overtaken(String),
    /// The audit is not what was written.
    #[error(
        "the audit is not what was written ({0}); retention removes nothing of it: look at it with \
         `probehost audit verify`"
    )]
    AuditDamaged(ChainFault),
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
    #[error("the database {database} refused a statement: {detail}")]
    Refused {
        /// Which database.
        database: String,
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
                | Self::Unreachable { .. }
                | Self::Denied { .. }
                | Self::Closed
        )
    }

    pub(crate) fn from_sqlx(location: &Location, error: &sqlx::Error) -> Self {
        let detail = error.to_string();
        let database = location.to_string();
        if matches!(error, sqlx::Error::PoolClosed | sqlx::Error::WorkerCrashed) {
            return Self::Closed;
        }
        let code = error.as_database_error().and_then(|error| error.code());
        let code = code.as_deref().unwrap_or_default();
        match &location.0 {
            Place::File(_) => Self::from_sqlite(database, detail, code),
            Place::Server(_) => Self::from_postgres(database, detail, code, error),
        }
    }

    fn from_sqlite(database: String, detail: String, code: &str) -> Self {
        // SQLite's extended result codes keep the primary one in the low byte.
        match code.parse::<u32>().map(|code| code & 0xff) {
            Ok(5 | 6) => Self::Locked { database, detail },
            Ok(11 | 26) => Self::Corrupt { database, detail },
            Ok(3 | 8 | 14 | 23) => Self::NotWritable { database, detail },
            Ok(10 | 13) => Self::Disk { database, detail },
            _ => Self::Refused { database, detail },
        }
    }

    fn from_postgres(database: String, detail: String, code: &str, error: &sqlx::Error) -> Self {
        let class = code.get(..2).unwrap_or_default();
        match (class, code, error) {
            (_, "55P03", _) | ("40", ..) => Self::Locked { database, detail },
            (_, "53100" | "58030", _) | ("XX", "XX001" | "XX002", _) => {
                Self::Disk { database, detail }
            }
            ("28" | "3D", ..) | (_, "42501" | "25006", _) => Self::Denied { database, detail },
            // The server goes down, comes up, has too many connections or too little memory.
            ("08" | "53" | "57", ..) if code != "57014" => Self::Unreachable { database, detail },
            (
                _,
                "",
                sqlx::Error::Io(_)
                | sqlx::Error::Tls(_)
                | sqlx::Error::Protocol(_)
                | sqlx::Error::PoolTimedOut,
            ) => Self::Unreachable { database, detail },
            _ => Self::Refused { database, detail },
        }
    }

    pub(crate) fn from_migrate(location: &Location, error: &MigrateError) -> Self {
        match error {
            MigrateError::Execute(source) | MigrateError::ExecuteMigration(source, _) => {
                Self::from_sqlx(location, source)
            }
            other => Self::Schema { database: location.to_string(), detail: other.to_string() },
        }
    }
}
