//! `kill -9` amid thousands of probes: R3, R4 and R9 for everything that was acknowledged.

use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use probehost_model::Timestamp;
use probehost_store::{Options, Store};
use probehost_test_support::http::JsonClient;
use probehost_test_support::upstream::{Response, Upstream};
use probehost_test_support::wait::eventually;
use sqlx::ConnectOptions;
use sqlx::sqlite::SqliteConnectOptions;

use crate::host::{Config, Host, LIMIT, soak, text};

/// How many callers probe by hand, each its own targets: probes of one check would be shared.
const CALLERS: usize = 8;
const TARGETS_OF_EACH: usize = 4;
/// A kill comes when this many more observations were acknowledged.
const BETWEEN_KILLS: usize = 300;

/// An acknowledged observation: its target, and when it was made.
type Acknowledged = (String, String);

fn target(caller: usize, number: usize) -> String {
    format!("by-hand-{caller}-{number}")
}

/// Probes by hand until the host is gone; gives what was acknowledged.
async fn call(api: JsonClient, caller: usize, count: Arc<AtomicUsize>) -> Vec<Acknowledged> {
    let mut acknowledged = Vec::new();
    for number in (0..TARGETS_OF_EACH).cycle() {
        let target = target(caller, number);
        let path = format!("/api/v1/targets/{target}/checks/http-head/probe");
        // No answer, or half of one: the host was killed, and nothing was promised.
        let Ok(answer) = api.post(&path, &serde_json::json!({})).await else { break };
        assert_eq!(answer.status, 200, "{answer:?}");
        let probe = answer.json().unwrap();
        assert_eq!(probe["recorded"], true, "{probe}");
        acknowledged.push((target, text(&probe["at"]).to_owned()));
        count.fetch_add(1, Ordering::SeqCst);
    }
    acknowledged
}

/// Lets callers press the host, and kills it in the middle.
async fn press_and_kill(host: &mut Host) -> Vec<Acknowledged> {
    let count = Arc::new(AtomicUsize::new(0));
    let callers: Vec<_> = (0..CALLERS)
        .map(|caller| tokio::spawn(call(host.api.clone(), caller, Arc::clone(&count))))
        .collect();
    let look = || async { count.load(Ordering::SeqCst) };
    eventually("enough is acknowledged", LIMIT, look, |count| *count >= BETWEEN_KILLS).await;
    host.host.kill().unwrap();
    let mut acknowledged = Vec::new();
    for caller in callers {
        acknowledged.extend(caller.await.unwrap());
    }
    acknowledged
}

/// When each target was last attempted, and the integrity of the whole, by a store of our own.
async fn last_attempts(database: &Path) -> HashMap<String, String> {
    let store = Store::open(Options::new(database)).await.unwrap();
    let violations = store.check_integrity().await.unwrap();
    assert!(violations.is_empty(), "{violations:#?}");
    let mut last = HashMap::new();
    for stored in store.targets().await.unwrap() {
        let attempts = stored.records.values().filter_map(|record| record.last_attempt_at);
        last.extend(attempts.max().map(|at| (stored.target.id, at.to_string())));
    }
    store.close().await;
    last
}

/// Every probe by hand that the audit holds.
async fn audited(database: &Path) -> Vec<Acknowledged> {
    let mut conn = SqliteConnectOptions::new().filename(database).connect().await.unwrap();
    let rows: Vec<(String, i64)> =
        sqlx::query_as("SELECT target_id, at FROM audit WHERE action = 'probe'")
            .fetch_all(&mut conn)
            .await
            .unwrap();
    rows.into_iter().map(|(target, at)| (target, Timestamp::from_micros(at).to_string())).collect()
}

/// R3, R4: the host is killed again and again while it records. Whatever it had acknowledged is
/// there after each kill, with its audit row, and no transition is without one.
///
/// With `PROBEHOST_SOAK=1` in the environment it is killed a hundred times, otherwise six.
#[tokio::test]
async fn nothing_acknowledged_is_lost() {
    let soak = soak();
    let kills = if soak { 100 } else { 6 };
    // Every third answer is a failure, so that statuses change all the time.
    let answers = AtomicUsize::new(0);
    let upstream = Upstream::http(move |_| {
        let failing = answers.fetch_add(1, Ordering::SeqCst).is_multiple_of(3);
        Response::new(if failing { 503 } else { 200 })
    });
    let mut config = Config::new();
    for (caller, number) in (0..CALLERS).flat_map(|c| (0..TARGETS_OF_EACH).map(move |n| (c, n))) {
        let settings = "interval = 0\nfailure_threshold = 1";
        config = config.head(&target(caller, number), settings, &upstream.url());
    }
    // Some on schedule too: each start probes those that are due.
    for number in 0..30 {
        let settings = "interval = 5\nfailure_threshold = 1";
        config = config.head(&format!("scheduled-{number}"), settings, &upstream.url());
    }
    let mut host = config.start();
    let mut all = HashSet::new();
    for kill in 1..=kills {
        let acknowledged = press_and_kill(&mut host).await;
        let last = last_attempts(&host.database()).await;
        for (target, at) in &acknowledged {
            assert!(last.get(target) >= Some(at), "kill {kill}: {target} at {at}, last {last:?}");
        }
        all.extend(acknowledged);
        let audited: HashSet<_> = audited(&host.database()).await.into_iter().collect();
        let lost: Vec<_> = all.difference(&audited).collect();
        assert!(lost.is_empty(), "kill {kill}: {lost:?}");
        // What landed without being acknowledged was in flight when a kill came.
        assert!(audited.len() <= all.len() + kill * CALLERS, "kill {kill}: {}", audited.len());
        host.restart(None);
    }
    println!("{} observations were acknowledged over {kills} kills, and all are there", all.len());
    assert!(all.len() >= kills * BETWEEN_KILLS);
    host.stop();
}
