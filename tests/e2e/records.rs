//! What is recorded, judged and audited: T, R and A through the whole host.

use std::path::Path;

use probehost_test_support::upstream::{Script, StatusSwitch, Upstream};
use probehost_test_support::wait::eventually;
use serde_json::Value;
use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection};
use sqlx::{ConnectOptions, Connection as _};

use crate::host::{BY_HAND, Config, Host, LIMIT, PluginDir, text};

/// Status, reason and streak of a target's check.
async fn state(host: &Host, target: &str) -> (String, String, u64) {
    let check = host.check(target).await;
    let streak = check["streak"].as_u64().unwrap();
    (text(&check["status"]).to_owned(), text(&check["reason"]).to_owned(), streak)
}

async fn open(database: &Path) -> SqliteConnection {
    SqliteConnectOptions::new().filename(database).connect().await.unwrap()
}

/// T1, T2, T4, T6, R8, A1: `unknown` holds below the threshold, the threshold flips, one pass
/// restores and resets the streak, and a probe by hand is audited also when nothing changes.
#[tokio::test]
async fn transitions_are_judged() {
    let switch = StatusSwitch::new(503);
    let upstream = Upstream::switched(&switch);
    let host = Config::new().head("web", BY_HAND, &upstream.url()).start();
    let told = |status: &str, reason: &str, streak| (status.to_owned(), reason.to_owned(), streak);
    assert_eq!(state(&host, "web").await, told("unknown", "", 0));
    let steps = [
        (503, "unknown", "answer", 1),
        (503, "unhealthy", "answer", 2),
        (503, "unhealthy", "answer", 3),
        (200, "healthy", "", 0),
        (200, "healthy", "", 0),
        (500, "healthy", "answer", 1),
        (404, "healthy", "", 0),
        (500, "healthy", "answer", 1),
        (500, "unhealthy", "answer", 2),
    ];
    let mut before = "unknown".to_owned();
    for (answer, status, reason, streak) in steps {
        switch.set(answer);
        let probe = host.probe("web").await;
        assert_eq!((text(&probe["from"]), text(&probe["to"])), (before.as_str(), status));
        assert_eq!((&probe["recorded"], &probe["trigger"]), (&true.into(), &"manual".into()));
        assert_eq!(state(&host, "web").await, told(status, reason, streak));
        before = status.to_owned();
    }
    let moves = ["unknown>unhealthy", "unhealthy>healthy", "healthy>unhealthy"];
    assert_eq!(host.transitions("web").await, moves);
    let audit = host.audit("target=web&action=probe").await;
    let rows: Vec<_> =
        audit.iter().map(|row| format!("{}>{}", text(&row["from"]), text(&row["to"]))).collect();
    assert_eq!(rows.len(), steps.len());
    assert_eq!((rows[0].as_str(), rows[4].as_str()), ("unknown>unknown", "healthy>healthy"));
    assert!(audit.iter().all(|row| row["principal"] == "local" && row["trigger"] == "manual"));
    // One row for each probe: a transition by hand has no second one.
    assert!(host.audit("target=web&action=transition").await.is_empty());
}

/// R2, R4: what lands says so, an inconclusive probe lands too, and a disabled target's does
/// not, with the reason; its record stands.
#[tokio::test]
async fn recorded_says_whether_it_landed() {
    let upstream = Upstream::status(200);
    let plugins = PluginDir::new(&["echo"]);
    let config = |enabled: bool| {
        Config::new()
            .plugins(plugins.path())
            .target("odd", "echo", BY_HAND, "outcome = \"inconclusive\", message = \"no idea\"")
            .target_with(
                "web",
                &format!("enabled = {enabled}"),
                "http-head",
                BY_HAND,
                &format!("url = \"{}\"", upstream.url()),
            )
    };
    let mut host = config(true).start();
    assert_eq!(host.probe("web").await["recorded"], true);
    let odd = host.probe("odd").await;
    assert_eq!((&odd["outcome"], &odd["recorded"]), (&"inconclusive".into(), &true.into()));
    let check = host.check("odd").await;
    // T5: noted as an attempt, and not as a result.
    assert_eq!((&check["status"], &check["checked_at"]), (&"unknown".into(), &().into()));
    assert!(text(&check["last_error"]).contains("no idea"), "{check}");
    assert!(check["last_attempt_at"].is_string(), "{check}");

    host.stop();
    host.restart(Some(&config(false)));
    let before = host.check("web").await;
    assert_eq!((&before["status"], &before["probing_enabled"]), (&"healthy".into(), &false.into()));
    let probe = host.probe("web").await;
    assert_eq!((&probe["outcome"], &probe["recorded"]), (&"pass".into(), &false.into()));
    assert!(text(&probe["not_recorded"]).contains("disabled"), "{probe}");
    let after = host.check("web").await;
    assert_eq!(after["last_attempt_at"], before["last_attempt_at"]);
    // R2: a refused write audits nothing.
    assert_eq!(host.audit("target=web&action=probe").await.len(), 1);
    assert_eq!(host.metric("probehost_write_refused_total").await, 1.0);
}

/// A2, S1: a scheduled probe is audited when it changes something, and one that repeats is not,
/// nor is it logged.
#[tokio::test]
async fn repeats_stay_silent() {
    let upstream = Upstream::status(500);
    let settings = "interval = 5\nfailure_threshold = 1";
    let mut host = Config::new().head("web", settings, &upstream.url()).start();
    host.until("a second scheduled probe has failed", "web", |check| {
        check["streak"].as_u64() >= Some(2)
    })
    .await;
    let rows = host.audit("target=web&action=transition").await;
    assert_eq!(rows.len(), 1, "{rows:?}");
    assert_eq!(
        (&rows[0]["principal"], &rows[0]["trigger"]),
        (&"system:health".into(), &"scheduled".into())
    );
    assert!(host.audit("target=web&action=probe").await.is_empty());
    let output = host.output();
    assert_eq!(output.matches("status changed").count(), 1, "{output}");
    assert!(output.contains("WARN"), "{output}");
}

/// R9: records survive a restart as they are, nothing flips, and their age is shown.
#[tokio::test]
async fn a_restart_keeps_records() {
    let upstream = Upstream::status(200);
    let down = Upstream::status(503);
    let settings = format!("{BY_HAND}\nfailure_threshold = 1");
    let mut host = Config::new()
        .head("up", &settings, &upstream.url())
        .head("down", &settings, &down.url())
        .start();
    host.probe("up").await;
    host.probe("down").await;
    let keys = [
        "status",
        "reason",
        "message",
        "subject",
        "streak",
        "checked_at",
        "last_success_at",
        "last_attempt_at",
    ];
    let mut before = Vec::new();
    for target in ["up", "down"] {
        before.push(host.check(target).await);
    }
    host.stop();
    host.restart(None);
    for (target, before) in ["up", "down"].iter().zip(before) {
        let after = host.check(target).await;
        for key in keys {
            assert_eq!(after[key], before[key], "{key} of {target}");
        }
        let age = |check: &Value| check["age_seconds"].as_f64().unwrap();
        assert!(age(&after) > age(&before), "{after}");
        assert_eq!(host.transitions(target).await.len(), 1);
    }
}

/// S6, R9: a record that is past three intervals is shown as stale until a probe replaces it.
#[tokio::test]
async fn an_old_record_is_stale() {
    // The second connection hangs: after the restart no probe comes to an end for a minute.
    let upstream = Upstream::scripts([
        Script::answer("HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n"),
        Script::hang(),
    ]);
    let mut host =
        Config::new().head("web", "interval = 5\ntimeout = 600", &upstream.url()).start();
    host.until("it is healthy", "web", |check| check["status"] == "healthy").await;
    let stale = host.until("it is stale", "web", |check| check["stale"] == true).await;
    assert_eq!(stale["status"], "healthy", "{stale}");
    assert!(stale["age_seconds"].as_f64() > Some(15.0), "{stale}");
    // S3: the probe that hangs was not joined by others.
    assert_eq!(upstream.connections(), 2);
    assert!(host.metric("probehost_probe_skipped_total").await >= 1.0);
    host.stop();
    host.restart(None);
    let still = host.check("web").await;
    assert_eq!((&still["status"], &still["stale"]), (&"healthy".into(), &true.into()));
}

/// T7, R9: a changed config resets that check alone, and probing starts with it; a target that
/// is gone from the file takes its records along, and comes back without them.
#[tokio::test]
async fn a_save_resets_what_it_changed() {
    let one = Upstream::status(200);
    let two = Upstream::status(200);
    let config =
        |url: &str| Config::new().head("same", BY_HAND, &one.url()).head("moved", BY_HAND, url);
    let mut host = config(&one.url()).head("gone", BY_HAND, &one.url()).start();
    for target in ["same", "moved", "gone"] {
        assert_eq!(host.probe(target).await["to"], "healthy");
    }
    let same = host.check("same").await;
    host.stop();
    host.restart(Some(&config(&two.url())));
    assert_eq!(host.check("same").await["checked_at"], same["checked_at"]);
    let moved = host.check("moved").await;
    assert_eq!((&moved["status"], &moved["streak"]), (&"unknown".into(), &0.into()));
    assert_eq!((&moved["checked_at"], &moved["last_attempt_at"]), (&().into(), &().into()));
    assert_eq!(text(&moved["subject"]), two.address().to_string());
    let gone = host.get("/api/v1/targets/gone").await;
    assert_eq!(gone.status, 404, "{gone:?}");
    let changed = host.audit("action=target-changed").await;
    let after_start = changed.iter().skip(3).map(|row| text(&row["target"])).collect::<Vec<_>>();
    assert_eq!(after_start.len(), 2, "{changed:?}");
    assert!(after_start.contains(&"moved") && after_start.contains(&"gone"), "{changed:?}");

    host.stop();
    host.restart(Some(&config(&two.url()).head("gone", BY_HAND, &one.url())));
    let back = host.check("gone").await;
    assert_eq!((&back["status"], &back["checked_at"]), (&"unknown".into(), &().into()));
    // A save that changes nothing resets nothing, and is no change.
    let rows = host.audit("action=target-changed").await.len();
    host.stop();
    host.restart(None);
    assert_eq!(host.audit("action=target-changed").await.len(), rows);
}

/// R7, P4: while another holds the database's lock, a probe tells what it found and that it is
/// not recorded; the status is held, reads go on, and the next probe after is judged as ever.
#[tokio::test]
async fn a_locked_store_flips_nothing() {
    let switch = StatusSwitch::new(200);
    let upstream = Upstream::switched(&switch);
    let settings = format!("{BY_HAND}\nfailure_threshold = 1");
    let mut host = Config::new().head("web", &settings, &upstream.url()).start();
    assert_eq!(host.probe("web").await["to"], "healthy");
    let mut other = open(&host.database()).await;
    let lock = other.begin_with("BEGIN IMMEDIATE").await.unwrap();
    switch.set(500);
    let probe = host.probe("web").await;
    assert_eq!((&probe["reason"], &probe["recorded"]), (&"answer".into(), &false.into()));
    let why = text(&probe["not_recorded"]);
    assert!(why.contains("held") && why.contains("locked"), "{why}");
    assert_eq!(state(&host, "web").await.0, "healthy");
    let output = host.output();
    assert!(output.contains("WARN") && output.contains("not recorded"), "{output}");
    lock.rollback().await.unwrap();
    let probe = host.probe("web").await;
    assert_eq!((&probe["recorded"], &probe["to"]), (&true.into(), &"unhealthy".into()));
    assert_eq!(host.transitions("web").await, ["unknown>healthy", "healthy>unhealthy"]);
}

/// R7: when the database can't even be read, reads answer 503 and say why, `healthz` is
/// degraded, and a probe by hand still tells what it finds.
#[tokio::test]
async fn an_unreadable_store_is_503() {
    let upstream = Upstream::status(200);
    let settings = "interval = 3600";
    let mut host = Config::new().head("web", settings, &upstream.url()).start();
    host.until("the first probe is recorded", "web", |check| check["status"] == "healthy").await;
    let mut other = open(&host.database()).await;
    let look = || async { host.get("/healthz").await.status };
    assert_eq!(look().await, 200);
    // All content is in the file, and the next reader has to look there.
    sqlx::query("PRAGMA wal_checkpoint(TRUNCATE)").execute(&mut other).await.unwrap();
    let size = std::fs::metadata(host.database()).unwrap().len();
    std::fs::write(host.database(), vec![0x5a; usize::try_from(size).unwrap()]).unwrap();
    eventually("the store is found unreadable", LIMIT, look, |status| *status == 503).await;
    for path in ["/api/v1/targets", "/api/v1/targets/web", "/api/v1/transitions", "/api/v1/audit"] {
        let answer = host.get(path).await;
        assert_eq!(answer.status, 503, "{answer:?}");
        let error = &answer.json().unwrap()["error"];
        assert_eq!(error["code"], "store-unavailable");
        assert!(text(&error["message"]).contains("probehost.db"), "{error}");
        assert!(!answer.text.contains("unhealthy"));
    }
    let path = "/api/v1/targets/web/checks/http-head/probe";
    let probe = host.api.post(path, &serde_json::json!({})).await.unwrap().json().unwrap();
    assert_eq!((&probe["outcome"], &probe["recorded"]), (&"pass".into(), &false.into()));
    drop(other);
    assert!(!host.output().contains("panicked"));
}

/// R2, R5: records that a clock from the future left behind take results again once the host is
/// started anew, keep what they say, and the log tells of it.
#[tokio::test]
async fn a_clock_that_was_set_back_holds_up_nothing() {
    let switch = StatusSwitch::new(200);
    let upstream = Upstream::switched(&switch);
    let settings = format!("{BY_HAND}\nfailure_threshold = 1");
    let mut host = Config::new().head("web", &settings, &upstream.url()).start();
    assert_eq!(host.probe("web").await["to"], "healthy");
    host.stop();
    let mut other = open(&host.database()).await;
    let times = ["checked_at", "last_success_at", "last_attempt_at"];
    let ahead = times.map(|time| format!("{time} = {time} + 86400000000")).join(", ");
    let ahead = sqlx::AssertSqlSafe(format!("UPDATE records SET {ahead}"));
    sqlx::query(ahead).execute(&mut other).await.unwrap();
    other.close().await.unwrap();
    host.restart(None);
    let check = host.check("web").await;
    assert_eq!((&check["status"], &check["stale"]), (&"healthy".into(), &false.into()), "{check}");
    let warned = "a time that has not come yet: the clock was set back";
    assert!(host.output().contains(warned), "{}", host.output());
    switch.set(503);
    let probe = host.probe("web").await;
    assert_eq!((&probe["recorded"], &probe["to"]), (&true.into(), &"unhealthy".into()), "{probe}");
}

/// A4: the last hour's latency and error rate stand in the API and among the metrics; they are
/// in memory, and begin anew when the check watches something else.
#[tokio::test]
async fn windows_tell_of_the_last_hour() {
    let switch = StatusSwitch::new(200);
    let upstream = Upstream::switched(&switch);
    let host = Config::new().head("web", BY_HAND, &upstream.url()).start();
    assert_eq!(host.check("web").await["window"]["error_rate"], Value::Null);
    for status in [200, 200, 200, 503] {
        switch.set(status);
        host.probe("web").await;
    }
    let window = host.check("web").await["window"].clone();
    assert_eq!((&window["count"], &window["failed"]), (&4.into(), &1.into()), "{window}");
    assert_eq!(window["error_rate"], 0.25, "{window}");
    let [p50, p99] = ["p50_seconds", "p99_seconds"].map(|key| window[key].as_f64().unwrap());
    assert!(p50 > 0.0 && p50 <= p99 && p99 < LIMIT.as_secs_f64(), "{window}");
    let labels = "target=\"web\",check=\"http-head\",kind=\"http-head\"";
    assert_eq!(host.metric(&format!("probehost_check_error_rate{{{labels}}}")).await, 0.25);
    let quantile = format!("probehost_check_latency_seconds{{{labels},quantile=\"0.5\"}}");
    assert!((host.metric(&quantile).await - p50).abs() < 1e-6);

    let other = Config::new().head("web", BY_HAND, &Upstream::status(200).url());
    std::fs::write(host.host.config_path(), other.text()).unwrap();
    let anew = |check: &Value| {
        let window = &check["window"];
        (&window["count"], &window["failed"]) != (&4.into(), &1.into())
    };
    let check = host.until("it watches something else", "web", anew).await;
    assert!(check["window"]["count"].as_u64() <= Some(1), "{check}");
}
