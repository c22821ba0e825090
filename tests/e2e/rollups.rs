//! The history of a check by hour and by day, through restarts and a `kill -9` (contract A4).

use std::path::Path;
use std::time::{Duration, Instant};

use probehost_test_support::upstream::{StatusSwitch, Upstream};
use probehost_test_support::wait::eventually;
use serde_json::Value;
use sqlx::ConnectOptions as _;
use sqlx::sqlite::SqliteConnectOptions;

use crate::host::{BY_HAND, Config, Host, LIMIT, code};

/// The host writes once a minute; and this much more.
const WRITTEN: Duration = Duration::from_secs(90);

async fn history(host: &Host, target: &str, range: &str) -> Value {
    host.json(&format!("/api/v1/targets/{target}/checks/http-head/history?range={range}")).await
}

/// What all buckets have of a number together.
fn sum(history: &Value, key: &str) -> f64 {
    let buckets = history["buckets"].as_array().unwrap();
    buckets.iter().map(|bucket| bucket[key].as_f64().unwrap()).sum()
}

/// Runs, and seconds healthy and unhealthy, as they are in the database.
async fn written(database: &Path, target: &str) -> (f64, f64, f64) {
    let options = SqliteConnectOptions::new().filename(database);
    let mut conn = options.connect().await.unwrap();
    let (runs, healthy, unhealthy): (i64, i64, i64) = sqlx::query_as(
        "SELECT COALESCE(SUM(runs), 0), COALESCE(SUM(healthy_us), 0), \
         COALESCE(SUM(unhealthy_us), 0) FROM rollups WHERE target_id = ? AND step = 3600",
    )
    .bind(target)
    .fetch_one(&mut conn)
    .await
    .unwrap();
    (runs as f64, healthy as f64 / 1e6, unhealthy as f64 / 1e6)
}

/// A4: what was counted is shown at once, is there after a restart, and a kill takes no more
/// than what was not written yet; the time in between is unknown.
#[tokio::test]
async fn history_outlives_the_host() {
    let began = Instant::now();
    let switch = StatusSwitch::new(200);
    let upstream = Upstream::switched(&switch);
    let mut host = Config::new()
        .head("hand", BY_HAND, &upstream.url())
        .head("web", "interval = 5", &upstream.url())
        .start();
    for _ in 0..3 {
        host.probe("hand").await;
    }
    let hand = history(&host, "hand", "24h").await;
    assert_eq!((hand["step_seconds"].as_u64(), sum(&hand, "runs")), (Some(3600), 3.0));
    assert_eq!(hand["buckets"].as_array().unwrap().len(), 24);
    // Off schedule nothing is known between two probes.
    assert_eq!((sum(&hand, "healthy_seconds"), &hand["availability"]), (0.0, &Value::Null));
    let last = hand["buckets"].as_array().unwrap().iter().rev().find(|all| all["runs"] != 0);
    let p50 = last.unwrap()["p50_seconds"].as_f64().unwrap();
    assert!(p50 > 0.0 && p50 < 10.0, "{hand}");

    let look = || history(&host, "web", "7d");
    let up = |all: &Value| sum(all, "healthy_seconds") >= 5.0;
    let before = eventually("some healthy time", LIMIT, look, up).await;
    assert_eq!(before["availability"], 1.0);
    host.stop();
    let after_stop = written(&host.database(), "web").await;
    assert!(after_stop.0 >= sum(&before, "runs") && after_stop.1 >= 5.0, "{after_stop:?}");
    switch.set(503);
    host.restart(None);

    let look = || history(&host, "web", "30d");
    let down = |all: &Value| sum(all, "unhealthy_seconds") > 0.0;
    let failing = eventually("some unhealthy time", LIMIT, look, down).await;
    assert_eq!(failing["buckets"].as_array().unwrap().len(), 30);
    let answers: u64 = failing["buckets"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|bucket| bucket["failures"]["answer"].as_u64())
        .sum();
    assert!(answers >= 2, "{failing}");
    let availability = failing["availability"].as_f64().unwrap();
    assert!(availability > 0.0 && availability < 1.0, "{failing}");

    let database = host.database();
    let look = || written(&database, "web");
    let is_written = |(_, _, unhealthy): &(f64, f64, f64)| *unhealthy > 0.0;
    let kept = eventually("the failures are written", WRITTEN, look, is_written).await;
    host.host.kill().unwrap();
    host.restart(None);
    let now = history(&host, "web", "90d").await;
    assert!(sum(&now, "runs") >= kept.0, "{now} for {kept:?}");
    // Nothing was up meanwhile, and no more time is known than has passed.
    let (healthy, unhealthy) = (sum(&now, "healthy_seconds"), sum(&now, "unhealthy_seconds"));
    assert!((healthy - kept.1).abs() < 0.001, "{now} for {kept:?}");
    assert!(unhealthy >= kept.2 - 0.001, "{now} for {kept:?}");
    assert!(healthy + unhealthy <= began.elapsed().as_secs_f64(), "{now}");
}

/// What is not there, and what can't be asked.
#[tokio::test]
async fn history_of_nothing() {
    let upstream = Upstream::status(200);
    let host = Config::new().head("web", BY_HAND, &upstream.url()).start();
    let nothing = history(&host, "web", "90d").await;
    assert_eq!((nothing["buckets"].as_array().unwrap().len(), sum(&nothing, "runs")), (90, 0.0));
    assert!(sum(&nothing, "unknown_seconds") > 89.0 * 86_400.0 - 1.0);
    let at = |path: &str| format!("/api/v1/targets/{path}/history");
    assert_eq!(code(&host.get(&at("web/checks/nope")).await, 404), "no-such-check");
    assert_eq!(code(&host.get(&at("nope/checks/http-head")).await, 404), "no-such-target");
    let odd = format!("{}?range=1y", at("web/checks/http-head"));
    assert_eq!(host.get(&odd).await.status, 400);
}
