//! Backups as docs/upgrade.md has them: made while the host runs, put back, found whole.

use std::fs;
use std::process::Command;

use probehost_test_support::postgres::{Postgres, programs, skip_unless_installed};
use probehost_test_support::upstream::{StatusSwitch, Upstream};
use sqlx::ConnectOptions as _;
use sqlx::sqlite::SqliteConnectOptions;

use crate::host::{BY_HAND, Config, Host, run};
use crate::plugin_road::ran;

/// What has to come back: the record, what led to it, and an audit that is whole.
async fn told(host: &Host) -> (serde_json::Value, Vec<String>) {
    let mut check = host.check("web").await;
    // The window is what this run of the host has seen.
    for passing in ["age_seconds", "stale", "window"] {
        check.as_object_mut().unwrap().remove(passing);
    }
    let config = host.host.config_path();
    let verified = run(&["audit", "verify", "--config", config.to_str().unwrap()]);
    assert_eq!(verified.code, 0, "{verified:?}");
    (check, host.transitions("web").await)
}

/// SQLite's own copy of a database that is in use can take its place.
#[tokio::test]
async fn a_copy_of_a_file_comes_back() {
    let switch = StatusSwitch::new(200);
    let upstream = Upstream::switched(&switch);
    let mut host = Config::new().head("web", BY_HAND, &upstream.url()).start();
    host.probe("web").await;
    let before = told(&host).await;

    let backup = host.host.dir().join("backup.db");
    let mut conn = SqliteConnectOptions::new().filename(host.database()).connect().await.unwrap();
    sqlx::query("VACUUM INTO ?").bind(backup.to_str()).execute(&mut conn).await.unwrap();
    drop(conn);
    assert_eq!(host.probe("web").await["recorded"], true);
    switch.set(503);
    for _ in 0..2 {
        host.probe("web").await;
    }
    assert_ne!(told(&host).await, before);

    host.stop();
    for end in ["-wal", "-shm"] {
        let _ = fs::remove_file(format!("{}{end}", host.database().display()));
    }
    fs::copy(&backup, host.database()).unwrap();
    host.restart(None);
    assert_eq!(told(&host).await, before);
    assert_eq!(host.probe("web").await["recorded"], true);
    told(&host).await;
}

/// R6: so can a dump of a database on a server.
#[tokio::test]
async fn a_dump_of_a_server_comes_back() {
    if skip_unless_installed() {
        return;
    }
    let server = Postgres::start().unwrap();
    let upstream = Upstream::status(200);
    let config = |database: &str| {
        let store = format!("[store]\nurl = \"{}\"", server.url(database));
        Config::new().section(&store).head("web", BY_HAND, &upstream.url())
    };
    let mut host = config("postgres").start();
    host.probe("web").await;
    let before = told(&host).await;

    let dir = tempfile::tempdir().unwrap();
    let dump = dir.path().join("probehost.dump");
    let tool = |name: &str, args: &[&str]| {
        let made = ran(Command::new(programs().unwrap().join(name)).args(args));
        assert_eq!(made.code, 0, "{name}: {made:?}");
    };
    let (from, to, file) = (server.url("postgres"), server.url("restored"), dump.to_str().unwrap());
    tool("pg_dump", &["--format", "custom", "--file", file, "--dbname", &from]);
    host.stop();
    tool("createdb", &["--maintenance-db", &from, "--encoding", "UTF8", "restored"]);
    tool("pg_restore", &["--dbname", &to, "--exit-on-error", file]);
    host.restart(Some(&config("restored")));
    assert_eq!(told(&host).await, before);
    assert_eq!(host.probe("web").await["recorded"], true);
    told(&host).await;
}
