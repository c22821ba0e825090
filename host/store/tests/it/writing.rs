//! The writer: contract R4, many callers at once, and its end.

use std::collections::BTreeMap;
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::task::Poll;

use probehost_model::{CheckId, Outcome, Reason, Refusal};
use probehost_store::{Recorded, StoreError};

use crate::backend::{Backend, Home, on_both};
use crate::common::{Fixture, at, by_hand, fail, landed, seen, subjects, target};

/// R4: a caller that goes away, before or after it began to wait, loses no write.
async fn a_write_outlives_its_caller(on: Backend) {
    let fixture = Fixture::with_web(on).await;
    drop(fixture.store.record(seen(1, Outcome::Pass)));
    {
        let mut waiting = pin!(fixture.store.record(seen(2, fail(Reason::Tls))));
        let pending = poll_fn(|cx| Poll::Ready(waiting.as_mut().poll(cx).is_pending())).await;
        assert!(pending);
    }
    let fixture = fixture.reopen().await;
    let record = fixture.web().await.unwrap();
    assert_eq!((record.last_success_at, record.checked_at), (Some(at(1)), Some(at(2))));
    assert_eq!(record.streak, 1);
    fixture.finish().await;
}

/// R4: a save too.
async fn a_save_outlives_its_caller(on: Backend) {
    let fixture = Fixture::with_web(on).await;
    drop(fixture.store.set_enabled("web", false, at(1), "ada"));
    let fixture = fixture.reopen().await;
    assert!(!fixture.store.target("web").await.unwrap().unwrap().target.enabled);
    fixture.finish().await;
}

/// What is queued is written before the store ends; what comes later is told so; closing twice
/// is closing once.
async fn closing_drains_the_queue(on: Backend) {
    let fixture = Fixture::with_web(on).await;
    let waiting: Vec<_> =
        (1..=600).map(|now| fixture.store.record(seen(now, Outcome::Pass))).collect();
    tokio::join!(fixture.store.close(), fixture.store.close());
    for answer in waiting {
        landed(answer.await.unwrap());
    }
    assert_eq!(fixture.store.record(seen(700, Outcome::Pass)).await, Err(StoreError::Closed));
    assert_eq!(fixture.store.targets().await, Err(StoreError::Closed));
    let fixture = fixture.reopen().await;
    assert_eq!(fixture.web().await.unwrap().checked_at, Some(at(600)));
    fixture.finish().await;
}

/// No task outlives the store: neither after `close` nor when the last handle is dropped.
async fn no_task_outlives_the_store(on: Backend) {
    let alive = || tokio::runtime::Handle::current().metrics().num_alive_tasks();
    let before = alive();
    let fixture = Fixture::with_web(on).await;
    assert!(alive() > before);
    fixture.store.close().await;
    assert_eq!(alive(), before);
    let Fixture { store, home } = fixture.reopen().await;
    drop(store);
    while alive() > before {
        tokio::task::yield_now().await;
    }
    drop(home);
}

/// A write that the database refuses fails alone; those it was batched with land.
async fn a_bad_write_fails_alone(on: Backend) {
    let fixture = Fixture::new(on).await;
    let ids: Vec<String> = (0..20).map(|number| format!("t{number}")).collect();
    fixture.sync(ids.iter().map(|id| target(id, &["head"])).collect(), 0).await;
    fixture.refuse("records", "NEW.target_id = 't7'").await;
    let waiting: Vec<_> = ids
        .iter()
        .map(|id| {
            let mut write = by_hand(1, Outcome::Pass);
            write.check = CheckId::new(id, "head");
            fixture.store.record(write)
        })
        .collect();
    for (id, answer) in ids.iter().zip(waiting) {
        match answer.await {
            Ok(recorded) => drop(landed(recorded)),
            Err(error) => {
                assert_eq!(id, "t7");
                assert!(error.to_string().contains("not this one"), "{error}");
            }
        }
    }
    assert_eq!(fixture.transitions().await.len(), 19);
    assert_eq!(fixture.probe_audit().await.len(), 19);
    fixture.finish().await;
}

/// R1, R2: many tasks at once on few checks: no lock errors, each learns whether its own was
/// recorded, and what is stored is what they were told. Readers and saves run among them, and
/// the queue is too short for all.
async fn many_callers_at_once(on: Backend) {
    const CALLERS: i64 = 64;
    const EACH: i64 = 50;
    let fixture = Fixture::with(Home::new(on).await, |options| options.queue = 8).await;
    let ids = ["a", "b", "c", "d", "e"];
    let targets = || ids.map(|id| target(id, &["head"])).to_vec();
    fixture.sync(targets(), 0).await;
    let mut callers = Vec::new();
    for caller in 0..CALLERS {
        let store = fixture.store.clone();
        callers.push(tokio::spawn(async move {
            let mut told = Vec::new();
            for number in 0..EACH {
                let failing = (caller + number) % 3 == 0;
                let outcome = if failing { fail(Reason::Network) } else { Outcome::Pass };
                // Some callers give the same time as others: then one of them is overtaken.
                let mut write = seen(number * 40 + caller / 2, outcome);
                let id = ids[usize::try_from((caller + number) % 5).unwrap()];
                write.check = CheckId::new(id, "head");
                told.push((id, store.record(write).await.unwrap()));
            }
            told
        }));
    }
    let reader = {
        let store = fixture.store.clone();
        tokio::spawn(async move {
            for _ in 0..50 {
                assert_eq!(store.targets().await.unwrap().len(), 5);
                let same = ids.map(|id| target(id, &["head"])).to_vec();
                let saved = store.sync_file_targets(same, subjects(), at(5), "file").await;
                assert_eq!(saved, Ok(probehost_store::SaveReport::default()));
            }
        })
    };
    let mut applied: BTreeMap<&str, u32> = BTreeMap::new();
    let (mut refused, mut transitions) = (0, Vec::new());
    let mut latest = BTreeMap::new();
    for caller in callers {
        for (id, recorded) in caller.await.unwrap() {
            match recorded {
                Recorded::Applied { record, transition_id, .. } => {
                    *applied.entry(id).or_default() += 1;
                    transitions.extend(transition_id);
                    let last = latest.entry(id).or_insert_with(|| record.clone());
                    if record.last_attempt_at > last.last_attempt_at {
                        *last = record;
                    }
                }
                Recorded::Refused(why) => {
                    assert_eq!(why, Refusal::Overtaken);
                    refused += 1;
                }
            }
        }
    }
    reader.await.unwrap();
    let landed: u32 = applied.values().sum();
    assert_eq!(i64::from(landed) + refused, CALLERS * EACH);
    assert!(refused > 0 && landed > 0);
    for id in ids {
        let stored = fixture.store.record_of(&CheckId::new(id, "head")).await.unwrap();
        assert_eq!(stored.as_ref(), latest.get(id).map(|record| &**record));
    }
    transitions.sort_unstable();
    let stored: Vec<i64> = fixture.transitions().await.iter().map(|row| row.id).collect();
    assert_eq!(stored, transitions[transitions.len() - stored.len()..]);
    assert!(stored.len() == 1000 || stored.len() == transitions.len());
    fixture.finish().await;
}

on_both!(
    a_write_outlives_its_caller,
    a_save_outlives_its_caller,
    closing_drains_the_queue,
    no_task_outlives_the_store,
    a_bad_write_fails_alone,
    [flavor = "multi_thread", worker_threads = 4] many_callers_at_once,
);
