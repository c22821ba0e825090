//! Where the database is: a file of SQLite, or a PostgreSQL server.

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use sqlx::ConnectOptions;
use sqlx::postgres::{PgConnectOptions, PgSslMode};

use crate::StoreError;

/// Parameters of a PostgreSQL URL that are known. Any other is refused: the driver would leave
/// it aside, and say its value, which may be a password with a slip in its name, in the log.
const PARAMETERS: [&str; 9] = [
    "sslmode",
    "sslrootcert",
    "sslcert",
    "sslkey",
    "host",
    "port",
    "dbname",
    "user",
    "application_name",
];

/// Where the database is. What it shows of itself never has the password in it.
#[derive(Clone)]
pub struct Location(pub(crate) Place);

#[derive(Clone)]
pub(crate) enum Place {
    File(PathBuf),
    Server(Box<PgConnectOptions>),
}

impl Location {
    /// An SQLite database file.
    #[must_use]
    pub fn file(path: impl Into<PathBuf>) -> Self {
        Self(Place::File(path.into()))
    }

    /// The file; none on a server.
    #[must_use]
    pub fn path(&self) -> Option<&Path> {
        match &self.0 {
            Place::File(path) => Some(path),
            Place::Server(_) => None,
        }
    }
}

/// From `postgres://user@host:port/database`, `sqlite:path` or a plain path. The address of a
/// server may end with the parameters `sslmode`, `sslrootcert`, `sslcert`, `sslkey`, `host`
/// (also the folder of a socket), `port`, `dbname`, `user` and `application_name`. What it
/// leaves out comes from the usual variables (`PGPASSWORD`, `PGPASSFILE`, `PGSSLMODE` …) and
/// from `~/.pgpass`.
impl FromStr for Location {
    type Err = StoreError;

    fn from_str(text: &str) -> Result<Self, StoreError> {
        if text.starts_with("postgres://") || text.starts_with("postgresql://") {
            return server(text).map(|options| Self(Place::Server(Box::new(options))));
        }
        let path = match text.strip_prefix("sqlite:") {
            Some(path) => path.strip_prefix("//").unwrap_or(path),
            None if text.contains("://") => {
                return Err(StoreError::Url { detail: "it is of no kind that is known".into() });
            }
            None => text,
        };
        if path.is_empty() {
            return Err(StoreError::Url { detail: "it names no file".into() });
        }
        Ok(Self::file(path))
    }
}

/// None of these texts repeats a value of the URL.
fn server(text: &str) -> Result<PgConnectOptions, StoreError> {
    let refuse = |detail: String| StoreError::Url { detail };
    let query = text.split_once('?').map_or("", |(_, query)| query);
    for pair in query.split('&').filter(|pair| !pair.is_empty()) {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        if name == "password" {
            let instead = "put the password before the @, into PGPASSWORD or into ~/.pgpass";
            return Err(refuse(format!("`password` is no parameter here; {instead}")));
        }
        if !PARAMETERS.contains(&name) {
            let known = PARAMETERS.join(", ");
            return Err(refuse(format!("it has a parameter that is none of {known}")));
        }
        if name == "sslmode" && value.parse::<PgSslMode>().is_err() {
            return Err(refuse(
                "its sslmode is not one of disable, prefer, require, verify-ca, verify-full".into(),
            ));
        }
    }
    let options: PgConnectOptions = text.parse().map_err(|error: sqlx::Error| match error {
        sqlx::Error::Configuration(source) => refuse(source.to_string()),
        _ => refuse("it can't be read".into()),
    })?;
    // The driver knows the word and never tries TLS with it.
    if matches!(options.get_ssl_mode(), PgSslMode::Allow) {
        return Err(refuse("sslmode=allow is not supported; take prefer or require".into()));
    }
    let options = match options.get_application_name() {
        Some(_) => options,
        None => options.application_name("probehost"),
    };
    Ok(options.disable_statement_logging())
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Place::File(path) => path.display().fmt(f),
            Place::Server(options) => {
                let host = match options.get_socket() {
                    Some(socket) => socket.display().to_string(),
                    None => options.get_host().to_owned(),
                };
                let database = options.get_database().unwrap_or(options.get_username());
                let (user, port) = (options.get_username(), options.get_port());
                write!(f, "postgres://{user}@{host}:{port}/{database}")
            }
        }
    }
}

impl fmt::Debug for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a text is shown as once it is read.
    fn shown(text: &str) -> String {
        match text.parse::<Location>() {
            Ok(location) => format!("{location}"),
            Err(error) => format!("{error}"),
        }
    }

    /// R6: both databases are named by one text.
    #[test]
    fn files_and_servers() {
        for (text, expected) in [
            ("probe.db", "probe.db"),
            ("/var/lib/probe.db", "/var/lib/probe.db"),
            ("sqlite:probe.db", "probe.db"),
            ("sqlite:/var/probe.db", "/var/probe.db"),
            ("sqlite:///var/probe.db", "/var/probe.db"),
            ("postgres://ada@db:5433/probes", "postgres://ada@db:5433/probes"),
            ("postgresql://ada@db:5433/probes", "postgres://ada@db:5433/probes"),
            ("postgres://ada@[::1]:5433/p?sslmode=require", "postgres://ada@[::1]:5433/p"),
            ("postgres://ada@x:1/p?host=/run/pg", "postgres://ada@/run/pg:1/p"),
        ] {
            assert_eq!(shown(text), expected);
        }
    }

    /// No text that is shown has a password in it, whatever is wrong with the URL.
    #[test]
    fn a_password_is_never_shown() {
        for text in [
            "postgres://ada:hunter2@db:5433/p",
            "postgres://ada:hunter2@db:port/p",
            "postgres://ada:hunter2@:99999/p",
            "postgres://ada:hunter2@db/p?sslmode=hunter2",
            "postgres://ada:hunter2@db/p?sslmode=allow",
            "postgres://ada@db/p?password=hunter2",
            "postgres://ada@db/p?pasword=hunter2",
            "postgres://ada@db/p?port=hunter2",
            "postgres://ada:hunter2@[db/p",
            "mysql://ada:hunter2@db/p",
            "hunter3://ada:hunter2@db/p",
        ] {
            let location = text.parse::<Location>();
            let told = format!("{} {location:?}", shown(text));
            assert!(!told.contains("hunter2"), "{text}: {told}");
        }
        let location: Location = "postgres://ada:hunter2@db/p".parse().unwrap();
        let options = crate::Options { ..crate::Options::at(location) };
        assert!(!format!("{options:?}").contains("hunter2"));
    }

    #[test]
    fn what_is_wrong_is_told() {
        for (text, part) in [
            ("mysql://db/p", "no kind that is known"),
            ("sqlite:", "names no file"),
            ("postgres://db/p?sslmode=allow", "take prefer or require"),
            ("postgres://db/p?sslmode=maybe", "verify-full"),
            ("postgres://db/p?timeout=3", "none of sslmode"),
            ("postgres://db/p?password=x", "PGPASSWORD"),
            ("postgres://db:99999/p", "port"),
        ] {
            assert!(shown(text).contains(part), "{text}: {}", shown(text));
        }
    }
}
