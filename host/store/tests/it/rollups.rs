//! Rollups in the store (contract A4), on both databases.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use probehost_model::{CheckId, Outcome, Reason, Rollup, Step, Timestamp};
use probehost_store::{LiveHours, Options, RollupHour, Store};

use crate::backend::{Backend, on_both};
use crate::common::{Fixture, fail, web};

const MINUTE: Duration = Duration::from_secs(60);

/// The beginning of an hour, counted from some day's midnight.
fn hour(number: i64) -> Timestamp {
    Timestamp::from_micros((24 * 20_000 + number) * 3_600_000_000)
}

/// That many passes and failures, each with its minute.
fn rollup(passes: u32, failures: u32) -> Rollup {
    let mut rollup = Rollup::default();
    for _ in 0..passes {
        rollup.count(&Outcome::Pass, Duration::from_millis(20));
        rollup.healthy += MINUTE;
    }
    for _ in 0..failures {
        rollup.count(&fail(Reason::Network), MINUTE);
        rollup.unhealthy += MINUTE;
    }
    rollup
}

fn of(check: &CheckId, number: i64, rollup: Rollup) -> RollupHour {
    RollupHour { check: check.clone(), start: hour(number), rollup }
}

async fn read(store: &Store, check: &CheckId, step: Step) -> BTreeMap<Timestamp, Rollup> {
    store.rollups(check, step, hour(-1000), &LiveHours::default()).await.unwrap()
}

/// Merges all that is finished at that hour; gives in how many steps.
async fn compact(store: &Store, number: i64) -> usize {
    let mut steps = 0;
    while store.compact_rollups(hour(number)).await.unwrap() {
        steps += 1;
    }
    steps
}

async fn rows(fixture: &Fixture, condition: &str) -> i64 {
    let text = format!("SELECT COUNT(*) FROM rollups WHERE {condition}");
    let text = sqlx::AssertSqlSafe(text);
    match fixture.home.location.path() {
        Some(path) => {
            use sqlx::ConnectOptions as _;
            let options = sqlx::sqlite::SqliteConnectOptions::new().filename(path);
            let mut conn = options.connect().await.unwrap();
            sqlx::query_scalar(text).fetch_one(&mut conn).await.unwrap()
        }
        None => {
            use sqlx::Connection as _;
            let url = fixture.home.location.to_string();
            let mut conn = sqlx::postgres::PgConnection::connect(&url).await.unwrap();
            sqlx::query_scalar(text).fetch_one(&mut conn).await.unwrap()
        }
    }
}

/// A writer replaces its own row, several add up, and what a host holds in memory goes before
/// what it has written.
async fn rows_of_writers_are_merged(on: Backend) {
    let fixture = Fixture::with_web(on).await;
    let store = &fixture.store;
    store.put_rollups("a", vec![of(&web(), 0, rollup(1, 0))]).await.unwrap();
    store
        .put_rollups("a", vec![of(&web(), 0, rollup(3, 1)), of(&web(), 1, rollup(2, 0))])
        .await
        .unwrap();
    store.put_rollups("b", vec![of(&web(), 0, rollup(10, 2))]).await.unwrap();
    store.put_rollups("b", vec![of(&CheckId::new("web", "tail"), 0, rollup(9, 9))]).await.unwrap();
    let found = read(store, &web(), Step::Hour).await;
    assert_eq!(found, BTreeMap::from([(hour(0), rollup(13, 3)), (hour(1), rollup(2, 0))]));
    let live = LiveHours {
        writer: "b".into(),
        hours: vec![(hour(0), rollup(11, 2)), (hour(1), rollup(1, 0))],
    };
    let found = store.rollups(&web(), Step::Hour, hour(0), &live).await.unwrap();
    assert_eq!(found, BTreeMap::from([(hour(0), rollup(14, 3)), (hour(1), rollup(3, 0))]));
    let found = store.rollups(&web(), Step::Day, hour(0), &live).await.unwrap();
    assert_eq!(found, BTreeMap::from([(hour(0), rollup(17, 3))]));
    let found = store.rollups(&web(), Step::Hour, hour(1), &live).await.unwrap();
    assert_eq!(found.len(), 1);
    fixture.finish().await;
}

/// Two hosts that both know of the whole hour don't make two hours of it.
async fn time_of_two_hosts_fits(on: Backend) {
    let fixture = Fixture::with_web(on).await;
    for writer in ["a", "b"] {
        fixture.store.put_rollups(writer, vec![of(&web(), 0, rollup(45, 15))]).await.unwrap();
    }
    for step in [Step::Hour, Step::Day] {
        let found = read(&fixture.store, &web(), step).await;
        let all = &found[&hour(0)];
        assert_eq!((all.runs, all.healthy, all.unhealthy), (120, 45 * MINUTE, 15 * MINUTE));
    }
    compact(&fixture.store, 100).await;
    let found = read(&fixture.store, &web(), Step::Day).await;
    assert_eq!((found[&hour(0)].runs, found[&hour(0)].healthy), (120, 45 * MINUTE));
    fixture.finish().await;
}

/// Hours that are finished become days, each hour once, and what is read is the same before,
/// between the steps and afterwards. An hour that is merged is not written any more.
async fn finished_hours_become_days(on: Backend) {
    let fixture = Fixture::with_web(on).await;
    let store = &fixture.store;
    let checks: Vec<CheckId> =
        (0..130).map(|number| CheckId::new(&format!("t{number:03}"), "head")).collect();
    for number in [20, 23, 24, 60] {
        for writer in ["a", "b"] {
            let hours = checks.iter().map(|check| of(check, number, rollup(2, 1)));
            store.put_rollups(writer, hours.collect()).await.unwrap();
        }
    }
    let days = BTreeMap::from([
        (hour(0), rollup(8, 4)),
        (hour(24), rollup(4, 2)),
        (hour(48), rollup(4, 2)),
    ]);
    let by_hour = read(store, &checks[129], Step::Hour).await;
    assert_eq!(by_hour.len(), 4);
    // 24 is over at 25, and settled at 51.
    assert_eq!(store.compact_rollups(hour(20)).await, Ok(false));
    let mut steps = 0;
    loop {
        for check in [&checks[0], &checks[70], &checks[129]] {
            assert_eq!(read(store, check, Step::Day).await, days, "after {steps} steps");
        }
        if !store.compact_rollups(hour(51)).await.unwrap() {
            break;
        }
        steps += 1;
    }
    assert!(steps >= 6, "{steps} steps for 780 rows");
    assert_eq!(rows(&fixture, "step = 86400").await, 260);
    assert_eq!(rows(&fixture, "step = 3600 AND writer = ''").await, 390);
    assert_eq!(rows(&fixture, "step = 3600").await, 390 + 260);
    assert_eq!(read(store, &checks[129], Step::Hour).await, by_hour);
    // Late: those hours are merged. The others are still open.
    for number in [20, 24, 60] {
        store.put_rollups("a", vec![of(&checks[0], number, rollup(9, 9))]).await.unwrap();
    }
    let found = read(store, &checks[0], Step::Day).await;
    assert_eq!((&found[&hour(0)], &found[&hour(24)]), (&days[&hour(0)], &days[&hour(24)]));
    assert_eq!(found[&hour(48)], rollup(11, 10));
    fixture.finish().await;
}

/// A host that is restarted again and again leaves more rows of an hour than one step takes.
async fn many_writers_of_one_hour(on: Backend) {
    let fixture = Fixture::with_web(on).await;
    for number in 0..450 {
        let hours = vec![of(&web(), 0, Rollup { runs: 1, ..Rollup::default() })];
        fixture.store.put_rollups(&format!("w{number}"), hours).await.unwrap();
    }
    compact(&fixture.store, 100).await;
    assert_eq!(rows(&fixture, "step = 3600").await, 1);
    for step in [Step::Hour, Step::Day] {
        assert_eq!(read(&fixture.store, &web(), step).await[&hour(0)].runs, 450);
    }
    fixture.finish().await;
}

/// A clock that was far ahead and is set right keeps nothing from being written.
async fn a_clock_that_was_ahead(on: Backend) {
    let fixture = Fixture::with_web(on).await;
    let store = &fixture.store;
    store.put_rollups("a", vec![of(&web(), 9000, rollup(1, 0))]).await.unwrap();
    compact(store, 9100).await;
    store.put_rollups("a", vec![of(&web(), 11, rollup(1, 0))]).await.unwrap();
    assert_eq!(read(store, &web(), Step::Hour).await.len(), 1, "not after the mark");
    compact(store, 10).await;
    store.put_rollups("a", vec![of(&web(), 11, rollup(1, 0))]).await.unwrap();
    assert_eq!(read(store, &web(), Step::Hour).await[&hour(11)], rollup(1, 0));
    fixture.finish().await;
}

/// Retention goes by when a period began, in steps, for hours and days alike, and also for
/// targets that are gone.
async fn old_rollups_go(on: Backend) {
    let fixture = Fixture::with_web(on).await;
    let store = &fixture.store;
    let gone = CheckId::new("gone", "head");
    let hours = (0..240).map(|number| of(&gone, number, rollup(1, 0))).collect();
    store.put_rollups("a", hours).await.unwrap();
    compact(store, 1000).await;
    assert_eq!(
        (rows(&fixture, "step = 86400").await, rows(&fixture, "step = 3600").await),
        (10, 240)
    );
    let mut steps = 0;
    while store.trim_rollups(hour(220)).await.unwrap() {
        steps += 1;
    }
    assert_eq!(steps, 1);
    assert_eq!(
        (rows(&fixture, "step = 86400").await, rows(&fixture, "step = 3600").await),
        (0, 20)
    );
    fixture.finish().await;
}

/// Compaction while hosts write: every probe is counted once, in hours and days alike.
async fn compaction_while_hosts_write(on: Backend) {
    let fixture = Fixture::with_web(on).await;
    let other = match on {
        Backend::Sqlite => fixture.store.clone(),
        Backend::Postgres => Store::open(Options::at(fixture.home.location.clone())).await.unwrap(),
    };
    let checks: Vec<CheckId> =
        (0..40).map(|number| CheckId::new(&format!("t{number:02}"), "head")).collect();
    let stop = Arc::new(AtomicBool::new(false));
    let compactor = {
        let (store, stop) = (other.clone(), Arc::clone(&stop));
        tokio::spawn(async move {
            while !stop.load(Ordering::Relaxed) {
                // What is written up to hour 39 is settled, what is written after it is open.
                store.compact_rollups(hour(40 + 26)).await.unwrap();
                tokio::task::yield_now().await;
            }
        })
    };
    // A writer each; hours grow, and are written again as they do.
    let writers = [("a", &fixture.store), ("b", &other)].map(|(writer, store)| {
        let (store, checks) = (store.clone(), checks.clone());
        tokio::spawn(async move {
            for grown in 1..=3 {
                for number in 40..52 {
                    let hours = checks.iter().map(|check| of(check, number, rollup(grown, 0)));
                    store.put_rollups(writer, hours.collect()).await.unwrap();
                }
            }
        })
    });
    for writer in writers {
        writer.await.unwrap();
    }
    stop.store(true, Ordering::Relaxed);
    compactor.await.unwrap();
    let (here, there) = (compact(&fixture.store, 60 + 26), compact(&other, 60 + 26));
    let (here, there) = tokio::join!(here, there);
    assert!(here + there > 12, "{here} and {there} steps");
    for check in &checks {
        let hours = read(&fixture.store, check, Step::Hour).await;
        assert_eq!(hours.len(), 12);
        assert!(hours.values().all(|hour| *hour == rollup(6, 0)));
        let days = read(&fixture.store, check, Step::Day).await;
        let runs: Vec<_> = days.values().map(|day| day.runs).collect();
        assert_eq!(runs, [8 * 6, 4 * 6]);
    }
    if on == Backend::Postgres {
        other.close().await;
    }
    fixture.finish().await;
}

on_both!(
    rows_of_writers_are_merged,
    time_of_two_hosts_fits,
    finished_hours_become_days,
    many_writers_of_one_hour,
    a_clock_that_was_ahead,
    old_rollups_go,
    [flavor = "multi_thread", worker_threads = 4] compaction_while_hosts_write,
);
