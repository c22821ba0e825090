//! Two hosts on one database: contract R1, R2, R6, T7, R9 when both write at the same time.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::time::Duration;

use probehost_model::{CheckId, Outcome, Reason, Record, Refusal, Target, reset};
use probehost_store::{Options, Recorded, Store};
use probehost_test_support::wait::eventually;
use serde_json::json;

use crate::backend::{Backend, on_both};
use crate::common::{Fixture, at, fail, landed, seen, subjects, target, web};

/// A second host on the database of a first.
async fn another(fixture: &Fixture) -> Store {
    Store::open(Options::at(fixture.home.location.clone())).await.unwrap()
}

/// Records until it is told to stop, each attempt later than every one before it, whoever made
/// that; several at once, so that they are batched. Gives what landed.
async fn keep_failing(
    store: Store,
    clock: Arc<AtomicI64>,
    seen_at: i64,
    stop: Arc<AtomicBool>,
) -> Vec<Record> {
    let mut applied = Vec::new();
    while !stop.load(Ordering::Relaxed) {
        let waiting: Vec<_> = (0..4)
            .map(|_| {
                let now = clock.fetch_add(1, Ordering::Relaxed);
                let mut write = seen(now, fail(Reason::Network));
                write.seen_updated_at = at(seen_at);
                store.record(write)
            })
            .collect();
        for answer in waiting {
            if let Recorded::Applied { record, .. } = answer.await.unwrap() {
                applied.push(*record);
            }
        }
    }
    applied
}

/// R1: failures that two hosts count at the same time add up; none is lost, none counts twice,
/// and each change of status is told once.
async fn counts_add_up(on: Backend) {
    let fixture = Fixture::with_web(on).await;
    let other = another(&fixture).await;
    let (clock, stop) = (Arc::new(AtomicI64::new(1)), Arc::new(AtomicBool::new(false)));
    let writers: Vec<_> = [&fixture.store, &other, &fixture.store, &other]
        .map(|store| {
            tokio::spawn(keep_failing(store.clone(), Arc::clone(&clock), 0, Arc::clone(&stop)))
        })
        .into();
    let enough = |record: &Option<Record>| record.as_ref().is_some_and(|now| now.streak >= 300);
    eventually("300 failures", Duration::from_secs(60), || fixture.web(), enough).await;
    stop.store(true, Ordering::Relaxed);
    let mut applied = Vec::new();
    for writer in writers {
        let own = writer.await.unwrap();
        // SQLite gives its one lock to whoever asks at the right moment, and is not fair.
        assert!(matches!(on, Backend::Sqlite) || !own.is_empty());
        applied.extend(own);
    }
    applied.sort_by_key(|record| record.streak);
    let counted: Vec<u32> = applied.iter().map(|record| record.streak).collect();
    let all: Vec<u32> = (1..=u32::try_from(applied.len()).unwrap()).collect();
    assert_eq!(counted, all);
    assert!(applied.is_sorted_by_key(|record| record.last_attempt_at));
    assert_eq!(fixture.web().await.as_ref(), applied.last());
    assert_eq!(fixture.transitions().await.len(), 1);
    other.close().await;
    fixture.finish().await;
}

/// What the target is saved as in a round.
fn configured(round: i64) -> Target {
    let mut target = target("web", &["head"]);
    target.checks[0].config = json!({ "url": format!("https://web/{round}") });
    target
}

/// T7, R2: a save that resets wins over every probe from before it, also over those that the
/// other host records at that moment; again and again, whatever meets.
async fn a_reset_in_between_wins(on: Backend) {
    let fixture = Fixture::with_web(on).await;
    let other = another(&fixture).await;
    let clock = Arc::new(AtomicI64::new(1));
    let mut seen_at = 0;
    for round in 1..=25 {
        let stop = Arc::new(AtomicBool::new(false));
        let writers = [&other, &fixture.store, &other].map(|store| {
            let (clock, stop) = (Arc::clone(&clock), Arc::clone(&stop));
            tokio::spawn(keep_failing(store.clone(), clock, seen_at, stop))
        });
        let counting = |record: &Option<Record>| record.as_ref().is_some_and(|now| now.streak > 3);
        eventually("failures", Duration::from_secs(60), || fixture.web(), counting).await;
        let saver = if round % 2 == 0 { &fixture.store } else { &other };
        let report =
            saver.sync_file_targets(vec![configured(round)], subjects(), at(round), "file").await;
        assert_eq!(report.unwrap().reset, [web()]);
        // From here on nothing of before may land.
        let blank = Some(reset("new:443"));
        assert_eq!(fixture.web().await, blank, "round {round}");
        tokio::time::sleep(Duration::from_millis(5)).await;
        stop.store(true, Ordering::Relaxed);
        for writer in writers {
            writer.await.unwrap();
        }
        assert_eq!(fixture.web().await, blank, "round {round}");
        seen_at = round;
    }
    other.close().await;
    fixture.finish().await;
}

/// R9, R2: a target that is deleted takes its record with it, and a probe in flight on the other
/// host brings none back.
async fn a_deletion_in_between_wins(on: Backend) {
    let fixture = Fixture::with_web(on).await;
    let other = another(&fixture).await;
    let clock = Arc::new(AtomicI64::new(1));
    for round in 1..=15 {
        let stop = Arc::new(AtomicBool::new(false));
        let stored = fixture.store.target("web").await.unwrap().unwrap().target;
        let writers = [&other, &fixture.store].map(|store| {
            let (clock, stop) = (Arc::clone(&clock), Arc::clone(&stop));
            let seen_at = stored.updated_at.as_micros();
            tokio::spawn(keep_failing(store.clone(), clock, seen_at, stop))
        });
        let known = |record: &Option<Record>| record.is_some();
        eventually("a record", Duration::from_secs(60), || fixture.web(), known).await;
        fixture.store.delete_target("web", at(round), "ada").await.unwrap();
        assert_eq!(fixture.web().await, None);
        fixture.sync(vec![target("web", &["head"])], round).await;
        stop.store(true, Ordering::Relaxed);
        for writer in writers {
            writer.await.unwrap();
        }
        assert_eq!(fixture.web().await, None, "round {round}");
    }
    other.close().await;
    fixture.finish().await;
}

/// R1: two hosts that record the same checks in opposite orders never wait for each other in a
/// circle; and saves of both, meanwhile, come one after the other.
async fn opposite_orders(on: Backend) {
    let fixture = Fixture::new(on).await;
    let other = another(&fixture).await;
    let ids: Vec<String> = (0..40).map(|number| format!("t{number:02}")).collect();
    let all = || ids.iter().map(|id| target(id, &["head"])).collect::<Vec<_>>();
    fixture.sync(all(), 0).await;
    for round in 0..20 {
        let write = |id: &String, now: i64| {
            let failing = (now / 2) % 2 == 0;
            let mut write = seen(now, if failing { fail(Reason::Config) } else { Outcome::Pass });
            write.check = CheckId::new(id, "head");
            write
        };
        let now = 2 * round + 1;
        let mut waiting: Vec<Pin<Box<dyn Future<Output = _> + Send>>> = Vec::new();
        for (here, there) in ids.iter().zip(ids.iter().rev()) {
            waiting.push(Box::pin(fixture.store.record(write(here, now))));
            waiting.push(Box::pin(other.record(write(there, now + 1))));
        }
        let same = other.sync_file_targets(all(), subjects(), at(5), "file");
        for answer in waiting {
            match answer.await.unwrap() {
                Recorded::Applied { .. } | Recorded::Refused(Refusal::Overtaken) => {}
                refused @ Recorded::Refused(_) => panic!("{refused:?}"),
            }
        }
        assert_eq!(same.await, Ok(probehost_store::SaveReport::default()));
    }
    for id in &ids {
        let stored = fixture.store.record_of(&CheckId::new(id, "head")).await.unwrap().unwrap();
        assert_eq!(stored.last_attempt_at, Some(at(40)));
    }
    other.close().await;
    fixture.finish().await;
}

/// A save on one host makes void what a probe on the other has seen.
async fn a_change_is_seen_by_the_other(on: Backend) {
    let fixture = Fixture::with_web(on).await;
    let other = another(&fixture).await;
    landed(other.record(seen(1, Outcome::Pass)).await.unwrap());
    fixture.store.set_enabled("web", false, at(5), "ada").await.unwrap();
    let recorded = other.record(seen(6, Outcome::Pass)).await.unwrap();
    assert_eq!(recorded, Recorded::Refused(Refusal::Changed));
    assert!(!other.target("web").await.unwrap().unwrap().target.enabled);
    other.close().await;
    fixture.finish().await;
}

on_both!(
    [flavor = "multi_thread", worker_threads = 4] counts_add_up,
    [flavor = "multi_thread", worker_threads = 4] a_reset_in_between_wins,
    [flavor = "multi_thread", worker_threads = 4] a_deletion_in_between_wins,
    [flavor = "multi_thread", worker_threads = 4] opposite_orders,
    a_change_is_seen_by_the_other,
);
