//! When the database file can't be used: contract R7. Every error says what to do.

use std::io::{BufRead, BufReader, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::Duration;

use probehost_model::{Outcome, Reason};
use probehost_store::{Options, Store, StoreError};
use sqlx::ConnectOptions;
use sqlx::sqlite::SqliteConnectOptions;

use crate::backend::Backend;
use crate::common::{Fixture, fail, landed, seen};

/// Names the database for the helper process.
const DATABASE: &str = "PROBEHOST_TEST_DATABASE";

fn path(fixture: &Fixture) -> PathBuf {
    fixture.home.location.path().unwrap().to_owned()
}

async fn open_error(path: &Path) -> StoreError {
    let options = Options { busy_timeout: Duration::from_millis(50), ..Options::new(path) };
    Store::open(options).await.map(drop).unwrap_err()
}

/// R7: a file that is no database is told as such and is left as it is.
#[tokio::test]
async fn a_file_that_is_no_database() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    let content = "these are not the pages you are looking for\n".repeat(500);
    std::fs::write(&path, &content).unwrap();
    let error = open_error(&path).await;
    assert!(matches!(error, StoreError::Corrupt { .. }), "{error:?}");
    let text = error.to_string();
    assert!(text.contains("store.db") && text.contains("backup"), "{text}");
    assert_eq!(std::fs::read_to_string(&path).unwrap(), content);
}

/// R7: damage inside a database is found when it is opened.
#[tokio::test]
async fn a_damaged_database() {
    let fixture = Fixture::with_web(Backend::Sqlite).await;
    fixture.run(&[Outcome::Pass, fail(Reason::Config), Outcome::Pass]).await;
    fixture.store.close().await;
    let mut bytes = std::fs::read(path(&fixture)).unwrap();
    assert!(bytes.len() > 3 * 4096);
    // The header and the schema stay; every page of content is overwritten.
    bytes[2 * 4096..].fill(0x5a);
    std::fs::write(path(&fixture), bytes).unwrap();
    let error = open_error(&path(&fixture)).await;
    assert!(matches!(error, StoreError::Corrupt { .. }), "{error:?}");
}

/// R7: no such folder, a folder in place of the file, and a place where nothing can be written.
#[tokio::test]
async fn a_place_that_cannot_be_written() {
    let folder = tempfile::tempdir().unwrap();
    let nowhere = folder.path().join("no/such/folder/store.db");
    // Nobody can create a file there, whatever user the test runs as.
    for path in [nowhere.as_path(), folder.path(), Path::new("/proc/store.db")] {
        let error = open_error(path).await;
        assert!(matches!(error, StoreError::NotWritable { .. }), "{path:?}: {error:?}");
        assert!(error.to_string().contains("folder"), "{error}");
    }
}

/// A database that a newer version has changed is refused, not written to.
#[tokio::test]
async fn a_newer_schema() {
    let fixture = Fixture::with_web(Backend::Sqlite).await;
    fixture
        .execute(
            "INSERT INTO _sqlx_migrations (version, description, installed_on, success, checksum, \
             execution_time) VALUES (9999, 'later', '2099-01-01', true, x'00', 0)",
        )
        .await;
    fixture.store.close().await;
    let error = open_error(&path(&fixture)).await;
    assert!(matches!(error, StoreError::Schema { .. }), "{error:?}");
    assert!(error.to_string().contains("newer"), "{error}");
}

/// R7: while another process holds the write lock, writes fail with what to do and change
/// nothing, reads go on; when it lets go, writes land again.
#[tokio::test]
async fn locked_by_another_process() {
    let fixture = Fixture::with_web(Backend::Sqlite).await;
    fixture.store.close().await;
    let path = path(&fixture);
    let impatient = |options: &mut Options| options.busy_timeout = Duration::from_millis(50);
    let fixture = Fixture::with(fixture.home, impatient).await;
    let before = fixture.run(&[Outcome::Pass]).await;

    let mut holder = Holder::start(&path);
    let waiting: Vec<_> =
        (2..=20).map(|now| fixture.store.record(seen(now, fail(Reason::Config)))).collect();
    for answer in waiting {
        let error = answer.await.unwrap_err();
        assert!(matches!(error, StoreError::Locked { .. }) && error.is_outage(), "{error:?}");
        assert!(error.to_string().contains("another process"), "{error}");
    }
    assert_eq!(fixture.web().await, Some(before));

    holder.let_go();
    let (_, record) = landed(fixture.record(seen(21, fail(Reason::Network))).await);
    assert_eq!(record.streak, 1);
    fixture.finish().await;
}

/// A process that holds the write lock of a database.
struct Holder {
    child: Child,
    /// Kept open: the process still has something to say at its end.
    _out: BufReader<ChildStdout>,
}

impl Holder {
    fn start(path: &Path) -> Self {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "outage::hold_the_lock", "--ignored", "--nocapture"])
            .env(DATABASE, path)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut out = BufReader::new(child.stdout.take().unwrap());
        let held =
            out.by_ref().lines().map_while(Result::ok).any(|line| line.contains("lock is held"));
        assert!(held, "the helper process did not take the lock");
        Self { child, _out: out }
    }

    fn let_go(&mut self) {
        drop(self.child.stdin.take());
        self.child.wait().unwrap();
    }
}

impl Drop for Holder {
    fn drop(&mut self) {
        self.let_go();
    }
}

/// Not a test: the helper process of [`Holder`]. Holds the lock until its input ends.
#[tokio::test]
#[ignore = "a helper of locked_by_another_process"]
async fn hold_the_lock() {
    let Some(path) = std::env::var_os(DATABASE) else { return };
    let mut conn = SqliteConnectOptions::new().filename(path).connect().await.unwrap();
    sqlx::query("BEGIN IMMEDIATE").execute(&mut conn).await.unwrap();
    println!("the lock is held");
    std::io::stdout().flush().unwrap();
    std::io::stdin().lines().for_each(drop);
}
