//! When a PostgreSQL server can't be used: contract R7. Every error says what to do, a connection
//! that was lost comes back by itself, and nothing that was acknowledged is gone.

use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use probehost_model::{Outcome, Reason, Refusal};
use probehost_store::{Options, Recorded, Store, StoreError};
use probehost_test_support::certs::Ca;
use probehost_test_support::postgres::{Postgres, skip_unless_installed};
use probehost_test_support::wait::eventually;
use sqlx::postgres::PgConnection;
use sqlx::{Connection, Executor};

use crate::backend::{self, Backend, Home};
use crate::common::{Fixture, fail, landed, seen, target};

const LIMIT: Duration = Duration::from_secs(30);

/// A store on a server of its own.
async fn own_server(server: &Postgres, busy_timeout: Duration) -> Fixture {
    let location = backend::database(&server.url("postgres")).await.parse().unwrap();
    let home = Home::at(location);
    let fixture = Fixture::with(home, |options| options.busy_timeout = busy_timeout).await;
    fixture.sync(vec![target("web", &["head"])], 0).await;
    fixture
}

async fn open_error(url: &str) -> StoreError {
    let location = url.parse().unwrap();
    let options = Options { busy_timeout: Duration::from_secs(2), ..Options::at(location) };
    Store::open(options).await.map(drop).unwrap_err()
}

/// Records failures as fast as they are answered until one is not, and gives the last time that
/// was acknowledged.
async fn until_it_fails(store: &Store, mut now: i64) -> (i64, StoreError) {
    loop {
        let outcome = if now % 3 == 0 { Outcome::Pass } else { fail(Reason::Config) };
        match store.record(seen(now + 1, outcome)).await {
            Ok(recorded) => drop(landed(recorded)),
            Err(error) => return (now, error),
        }
        now += 1;
    }
}

/// Waits until an observation lands again, each attempt later than the one before it, and gives
/// the time of the one that did.
async fn writing_again(fixture: &Fixture, after: i64) -> i64 {
    let clock = AtomicI64::new(after);
    let write = async || {
        let now = clock.fetch_add(1, Ordering::Relaxed) + 1;
        (now, fixture.store.record(seen(now, Outcome::Pass)).await)
    };
    let (now, answer) = eventually("writing", LIMIT, write, |(_, answer)| answer.is_ok()).await;
    landed(answer.unwrap());
    now
}

/// R7, R3: the server is killed in the middle of writing, again and again. Writes and reads say
/// that it is away, the status is held, nothing acknowledged is lost, and the store goes on by
/// itself when the server is back.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_killed_server() {
    if skip_unless_installed() {
        return;
    }
    let mut server = Postgres::start().unwrap();
    let fixture = own_server(&server, Duration::from_secs(1)).await;
    let mut now = 0;
    for round in 1..=3 {
        let writing = {
            let store = fixture.store.clone();
            tokio::spawn(async move { until_it_fails(&store, now).await })
        };
        let enough = |last: &i64| *last > now + 10 * round;
        let look = async || {
            let record = fixture.web().await;
            record.and_then(|record| record.last_attempt_at).map_or(0, |at| at.as_micros())
        };
        eventually("records", LIMIT, look, enough).await;
        server.kill().unwrap();
        let (acknowledged, error) = writing.await.unwrap();
        assert!(matches!(error, StoreError::Unreachable { .. }) && error.is_outage(), "{error:?}");
        assert!(error.to_string().contains("see that the server runs"), "{error}");
        // Still away: each is told so.
        for later in 1..=5 {
            let error = fixture.store.record(seen(acknowledged + later, Outcome::Pass)).await;
            assert!(error.as_ref().is_err_and(StoreError::is_outage), "{error:?}");
        }
        let error = fixture.store.targets().await.unwrap_err();
        assert!(matches!(error, StoreError::Unreachable { .. }), "{error:?}");
        let error = fixture.store.set_enabled("web", false, crate::common::at(1), "ada").await;
        assert!(error.is_err_and(|error| error.is_outage()));

        server.restart().unwrap();
        let read = async || fixture.store.record_of(&crate::common::web()).await;
        let stored = eventually("reading", LIMIT, read, Result::is_ok).await.unwrap().unwrap();
        let last = stored.last_attempt_at.unwrap().as_micros();
        // One that was on its way when the server died may be there without having been told.
        assert!(last == acknowledged || last == acknowledged + 1, "{last} of {acknowledged}");
        assert_eq!(fixture.store.check_integrity().await.unwrap(), Vec::<String>::new());
        now = writing_again(&fixture, last).await;
    }
    fixture.finish().await;
}

/// R7: a server that was restarted while nobody wrote costs no write.
#[tokio::test]
async fn a_server_that_was_restarted_meanwhile() {
    if skip_unless_installed() {
        return;
    }
    let mut server = Postgres::start().unwrap();
    let fixture = own_server(&server, Duration::from_secs(5)).await;
    let before = fixture.run(&[Outcome::Pass]).await;
    server.kill().unwrap();
    server.restart().unwrap();
    // The look at an idle connection is taken after a second.
    tokio::time::sleep(Duration::from_millis(1100)).await;
    assert_eq!(fixture.web().await, Some(before));
    landed(fixture.record(seen(2, Outcome::Pass)).await);
    fixture.finish().await;
}

/// R7: a server that stands still is given up on in bounded time; when it goes on, so does the
/// store.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_silent_server() {
    if skip_unless_installed() {
        return;
    }
    let server = Postgres::start().unwrap();
    let fixture = own_server(&server, Duration::from_millis(300)).await;
    fixture.run(&[Outcome::Pass]).await;
    server.freeze().unwrap();
    let write = fixture.store.record(seen(2, fail(Reason::Config)));
    let error = tokio::time::timeout(LIMIT, write).await.unwrap().unwrap_err();
    assert!(matches!(error, StoreError::Unreachable { .. }), "{error:?}");
    let error = tokio::time::timeout(LIMIT, fixture.store.targets()).await.unwrap().unwrap_err();
    assert!(error.is_outage(), "{error:?}");
    server.thaw().unwrap();
    writing_again(&fixture, 2).await;
    let read = async || fixture.store.targets().await;
    eventually("reading", LIMIT, read, Result::is_ok).await.unwrap();
    fixture.finish().await;
}

/// R7: while a session of somebody else holds the target, writes fail with what to do and change
/// nothing, reads go on; when it lets go, writes land again.
#[tokio::test]
async fn locked_by_another_session() {
    if skip_unless_installed() {
        return;
    }
    let home = Home::new(Backend::Postgres).await;
    let fixture =
        Fixture::with(home, |options| options.busy_timeout = Duration::from_millis(200)).await;
    fixture.sync(vec![target("web", &["head"])], 0).await;
    let before = fixture.run(&[Outcome::Pass]).await;
    let mut holder = PgConnection::connect(&fixture.home.location.to_string()).await.unwrap();
    holder.execute("BEGIN; UPDATE targets SET name = 'held'").await.unwrap();
    for now in 2..=3 {
        let error = fixture.store.record(seen(now, fail(Reason::Config))).await.unwrap_err();
        assert!(matches!(error, StoreError::Locked { .. }) && error.is_outage(), "{error:?}");
    }
    assert_eq!(fixture.web().await, Some(before));
    holder.execute("ROLLBACK").await.unwrap();
    let (_, record) = landed(fixture.record(seen(4, fail(Reason::Network))).await);
    assert_eq!(record.streak, 1);
    holder.close().await.unwrap();
    fixture.finish().await;
}

/// T7, R2: a save that is not committed yet is waited for, and then the observation finds that
/// its target has changed; whether it would have been a change of status or one more of the same.
#[tokio::test]
async fn a_save_that_commits_meanwhile() {
    if skip_unless_installed() {
        return;
    }
    for outcome in [Outcome::Pass, fail(Reason::Config)] {
        let fixture = Fixture::with_web(Backend::Postgres).await;
        fixture.run(&[Outcome::Pass]).await;
        let mut saver = PgConnection::connect(&fixture.home.location.to_string()).await.unwrap();
        saver.execute("BEGIN; UPDATE targets SET updated_at = 5").await.unwrap();
        let waiting = tokio::spawn(fixture.store.record(seen(9, outcome)));
        let blocked = "SELECT count(*) FROM pg_locks JOIN pg_stat_activity USING (pid) \
                       WHERE NOT granted AND datname = current_database()";
        let mut watcher = PgConnection::connect(&fixture.home.location.to_string()).await.unwrap();
        while !waiting.is_finished()
            && sqlx::query_scalar::<_, i64>(blocked).fetch_one(&mut watcher).await.unwrap() == 0
        {
            tokio::task::yield_now().await;
        }
        let reset = "UPDATE records SET status = 'unknown', last_attempt_at = NULL, streak = 0; \
                     COMMIT";
        saver.execute(reset).await.unwrap();
        assert_eq!(waiting.await.unwrap(), Ok(Recorded::Refused(Refusal::Changed)));
        assert_eq!(fixture.web().await.unwrap().last_attempt_at, None);
        fixture.finish().await;
    }
}

/// R7: each way in which a server turns a host away has its own text, without the password.
#[tokio::test]
async fn a_server_that_is_not_there_or_says_no() {
    if skip_unless_installed() {
        return;
    }
    let home = Home::new(Backend::Postgres).await;
    let url = home.location.to_string().replace("probe@", "probe:hunter2@");
    let (server, _) = url.rsplit_once('/').unwrap();
    let nobody = url.replace("probe:", "nobody:");
    for (url, part) in [
        (format!("{server}/nowhere"), "see that the database exists"),
        (nobody, "see that the database exists"),
        (format!("{url}?sslmode=require"), "does not support TLS"),
        ("postgres://probe:hunter2@127.0.0.1:1/x".to_owned(), "see that the server runs"),
    ] {
        let error = open_error(&url).await;
        assert!(error.is_outage() && error.to_string().contains(part), "{url}: {error}");
        assert!(!format!("{error} {error:?}").contains("hunter2"), "{error}");
    }
}

/// R6: a password and TLS, as servers elsewhere want them; what is wrong with either is told,
/// and the password is not.
#[tokio::test]
async fn passwords_and_tls() {
    if skip_unless_installed() {
        return;
    }
    let ca = Ca::new().unwrap();
    let server = Postgres::start_with_tls(&ca.good().unwrap()).unwrap();
    let open = backend::database(&server.url("postgres")).await;
    let roles = "CREATE ROLE guarded LOGIN PASSWORD 'hunter2'; CREATE ROLE stranger LOGIN";
    backend::execute(&open.parse().unwrap(), roles).await.unwrap();
    let folder = tempfile::tempdir().unwrap();
    let pem = |name: &str, ca: &Ca| {
        let path = folder.path().join(name);
        std::fs::write(&path, ca.pem()).unwrap();
        path.display().to_string()
    };
    let trusted = pem("ca.pem", &ca);
    let verify = format!("?sslmode=verify-full&sslrootcert={trusted}");
    let other =
        format!("?sslmode=verify-full&sslrootcert={}", pem("other.pem", &Ca::new().unwrap()));
    let with = |user: &str, rest: &str| open.replace("probe@", user) + rest;

    for (url, part) in [
        (with("guarded:hunter3@", ""), "that the password is right"),
        (with("guarded@", ""), "see that"),
        (with("guarded:hunter2@", &other), "invalid peer certificate"),
        // Anyone may connect, but not make tables.
        (with("stranger@", ""), "may create and write tables"),
    ] {
        let error = open_error(&url).await;
        assert!(error.is_outage() && error.to_string().contains(part), "{url}: {error}");
        assert!(!format!("{error} {error:?}").contains("hunter"), "{error}");
    }

    let owner = "GRANT CREATE ON SCHEMA public TO guarded";
    backend::execute(&open.parse().unwrap(), owner).await.unwrap();
    let location = with("guarded:hunter2@", &verify).parse().unwrap();
    let store = Store::open(Options::at(location)).await.unwrap();
    assert_eq!(store.targets().await, Ok(Vec::new()));
    let mut watcher = PgConnection::connect(&open).await.unwrap();
    let encrypted = "SELECT bool_and(ssl) FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) \
                     WHERE usename = 'guarded'";
    assert!(sqlx::query_scalar::<_, bool>(encrypted).fetch_one(&mut watcher).await.unwrap());
    store.close().await;
}

/// A database that a newer version has changed is refused, not written to.
#[tokio::test]
async fn a_newer_schema() {
    if skip_unless_installed() {
        return;
    }
    let fixture = Fixture::with_web(Backend::Postgres).await;
    let newer = "INSERT INTO _sqlx_migrations (version, description, success, checksum, \
                 execution_time) VALUES (9999, 'later', true, '', 0)";
    fixture.execute(newer).await;
    fixture.store.close().await;
    let error = open_error(&fixture.home.location.to_string()).await;
    assert!(matches!(error, StoreError::Schema { .. }), "{error:?}");
    assert!(error.to_string().contains("newer"), "{error}");
}
