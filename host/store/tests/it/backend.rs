//! Both databases, so that every test that speaks of the store's behaviour runs on each
//! (contract R6): an SQLite file, and a database on a real PostgreSQL server.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError};

use probehost_store::Location;
use probehost_test_support::postgres::Postgres;
use sqlx::postgres::PgConnection;
use sqlx::{AssertSqlSafe, ConnectOptions, Connection, Executor as _};

/// Which database a test runs on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Backend {
    Sqlite,
    Postgres,
}

/// Runs each of these functions as a test on SQLite and as one on PostgreSQL. What stands in
/// brackets goes to `tokio::test`.
macro_rules! on_both {
    ($($([$($runtime:tt)*])? $test:ident),+ $(,)?) => {
        mod sqlite {
            $(#[tokio::test $(($($runtime)*))?]
            async fn $test() {
                super::$test($crate::backend::Backend::Sqlite).await;
            })+
        }
        mod postgres {
            $(#[tokio::test $(($($runtime)*))?]
            async fn $test() {
                if !probehost_test_support::postgres::skip_unless_installed() {
                    super::$test($crate::backend::Backend::Postgres).await;
                }
            })+
        }
    };
}
pub(crate) use on_both;

/// The server of this test process; it ends with the process.
static SERVER: Mutex<Option<Postgres>> = Mutex::new(None);

/// Where a test's database is. The folder of a file goes with this.
#[derive(Debug)]
pub(crate) struct Home {
    pub(crate) location: Location,
    _folder: Option<tempfile::TempDir>,
}

impl Home {
    /// A database that is there already.
    pub(crate) const fn at(location: Location) -> Self {
        Self { location, _folder: None }
    }

    /// A place for a database that nobody has used.
    pub(crate) async fn new(on: Backend) -> Self {
        match on {
            Backend::Sqlite => {
                let folder = tempfile::tempdir().unwrap();
                let location = Location::file(folder.path().join("store.db"));
                Self { location, _folder: Some(folder) }
            }
            Backend::Postgres => {
                let url = {
                    let mut server = SERVER.lock().unwrap_or_else(PoisonError::into_inner);
                    let server = server.get_or_insert_with(|| Postgres::start().unwrap());
                    server.url("postgres")
                };
                Self { location: database(&url).await.parse().unwrap(), _folder: None }
            }
        }
    }
}

/// Makes a database on the server of that URL, and gives its URL.
pub(crate) async fn database(url: &str) -> String {
    static MADE: AtomicU32 = AtomicU32::new(0);
    let name = format!("test{}", MADE.fetch_add(1, Ordering::Relaxed));
    let mut conn = PgConnection::connect(url).await.unwrap();
    conn.execute(AssertSqlSafe(format!("CREATE DATABASE {name}"))).await.unwrap();
    conn.close().await.unwrap();
    let (server, _) = url.rsplit_once('/').unwrap();
    format!("{server}/{name}")
}

/// Runs statements around the store.
pub(crate) async fn execute(location: &Location, statements: &str) -> Result<(), sqlx::Error> {
    let statements = AssertSqlSafe(statements.to_owned());
    match location.path() {
        Some(path) => {
            let options = sqlx::sqlite::SqliteConnectOptions::new().filename(path);
            let mut conn = options.connect().await?;
            sqlx::raw_sql(statements).execute(&mut conn).await?;
            conn.close().await
        }
        None => {
            let mut conn = PgConnection::connect(&location.to_string()).await?;
            sqlx::raw_sql(statements).execute(&mut conn).await?;
            conn.close().await
        }
    }
}
