//! The whole host on a real PostgreSQL server: records that survive, and an outage that flips
//! nothing.

use probehost_test_support::postgres::{Postgres, skip_unless_installed};
use probehost_test_support::upstream::{StatusSwitch, Upstream};
use probehost_test_support::wait::eventually;

use crate::host::{BY_HAND, Config, LIMIT, text};

fn config(server: &Postgres, url: &str) -> Config {
    let store = format!("[store]\nurl = \"{}\"", server.url("postgres"));
    Config::new().section(&store).head("web", BY_HAND, url)
}

/// R6, R9: what is recorded on a server is there after a restart, with its history.
#[tokio::test]
async fn records_on_a_server_survive_a_restart() {
    if skip_unless_installed() {
        return;
    }
    let server = Postgres::start().unwrap();
    let switch = StatusSwitch::new(200);
    let upstream = Upstream::switched(&switch);
    let mut host = config(&server, &upstream.url()).start();
    assert_eq!(host.probe("web").await["recorded"], true);
    switch.set(503);
    host.probe("web").await;
    let down = host.probe("web").await;
    assert_eq!((&down["from"], &down["to"]), (&"healthy".into(), &"unhealthy".into()));
    let before = host.check("web").await;
    host.stop();
    host.restart(None);
    let after = host.check("web").await;
    for key in ["status", "reason", "message", "streak", "checked_at", "last_success_at"] {
        assert_eq!(after[key], before[key], "{key}");
    }
    assert_eq!(host.transitions("web").await, ["unknown>healthy", "healthy>unhealthy"]);
    assert!(!host.database().exists(), "an SQLite file was made");
}

/// R7: while the server is away a probe tells what it finds and that nothing is recorded, reads
/// answer 503, and nothing flips; when it is back the host comes back to it by itself.
#[tokio::test]
async fn an_outage_of_the_server_flips_nothing() {
    if skip_unless_installed() {
        return;
    }
    let mut server = Postgres::start().unwrap();
    let switch = StatusSwitch::new(200);
    let upstream = Upstream::switched(&switch);
    let host = config(&server, &upstream.url()).start();
    assert_eq!(host.probe("web").await["recorded"], true);
    let before = host.check("web").await;

    server.kill().unwrap();
    switch.set(503);
    let path = "/api/v1/targets/web/checks/http-head/probe";
    for _ in 0..3 {
        let answer = host.api.post(path, &serde_json::json!({})).await.unwrap();
        assert_eq!(answer.status, 200, "{answer:?}");
        let probe = answer.json().unwrap();
        assert_eq!((&probe["outcome"], &probe["recorded"]), (&"fail".into(), &false.into()));
        assert!(text(&probe["not_recorded"]).contains("cannot be reached"), "{probe}");
    }
    let read = host.get("/api/v1/targets").await;
    assert_eq!(read.status, 503, "{read:?}");
    assert_eq!(host.get("/healthz").await.status, 503);

    server.restart().unwrap();
    let reads = || async { host.get("/api/v1/targets").await.status };
    eventually("the host is back at the server", LIMIT, reads, |status| *status == 200).await;
    let held = host.check("web").await;
    assert_eq!((&held["status"], &held["streak"]), (&"healthy".into(), &0.into()));
    assert_eq!(held["checked_at"], before["checked_at"]);
    let recorded = || async { host.probe("web").await["recorded"] == true };
    eventually("a probe is recorded again", LIMIT, recorded, |recorded| *recorded).await;
    assert_eq!(host.transitions("web").await, ["unknown>healthy"]);
}
