//! Events become deliveries, once: contract E5.

use std::time::Duration;

use probehost_model::notify::{DeliveryState, Settings};
use probehost_model::{Status, Timestamp};
use probehost_monitor::Clock;
use probehost_notify::{Metrics, Notifier, Options};

use crate::fakes::{FakeSink, Memory, notifier, settings, until};

const NOON: Timestamp = Timestamp::from_micros(1_764_500_000_000_000);

/// E5: a host that is killed at any moment, again and again: each alert once in the plan, in order.
#[tokio::test(start_paused = true)]
async fn killed_again_and_again() {
    let clock = Clock::driven(NOON);
    let (store, sink) = (Memory::new(), FakeSink::new(clock));
    let mut expected = Vec::new();
    for round in 0..50_u64 {
        let options = Options { clock, metrics: Metrics::default(), host: "one".into() };
        let host = Notifier::new(store.clone(), sink.clone(), settings(), options);
        let tasks = host.start();
        let to = if round % 2 == 0 { Status::Unhealthy } else { Status::Healthy };
        store.status("web", to, clock.now());
        expected.push(if round % 2 == 0 { "web problem" } else { "web recovery" });
        // Each round a little later: before the plan, before, in and after the delivery.
        for _ in 0..round % 13 {
            tokio::task::yield_now().await;
        }
        tasks.into_iter().for_each(|task| task.abort());
        host.stop().await;
    }
    let last = notifier(&store, &sink, clock, "one");
    until("all are delivered", || store.in_state(DeliveryState::Delivered) == expected.len()).await;
    last.stop().await;
    let deliveries = store.lock().deliveries.len();
    assert_eq!(deliveries, expected.len(), "none is planned twice");
    // At least once, and in order: what comes again bears the same id.
    let mut taken = sink.taken.lock().unwrap().clone();
    taken.dedup_by(|one, other| one.1 == other.1);
    let taken: Vec<_> = taken.into_iter().map(|(.., what)| what).collect();
    assert_eq!(taken, expected);
}

/// E5: two hosts with one outbox: planned once, delivered once.
#[tokio::test(start_paused = true)]
async fn two_hosts() {
    let clock = Clock::driven(NOON);
    let (store, sink) = (Memory::new(), FakeSink::new(clock));
    store.lock().shared = true;
    let (one, two) = (notifier(&store, &sink, clock, "one"), notifier(&store, &sink, clock, "two"));
    for round in 0..20 {
        let to = if round % 2 == 0 { Status::Unhealthy } else { Status::Healthy };
        store.status("web", to, clock.now());
        tokio::time::sleep(Duration::from_secs(3)).await;
    }
    until("all are delivered", || store.in_state(DeliveryState::Delivered) == 20).await;
    assert_eq!(sink.taken().len(), 20);
    let pairs: Vec<_> = sink.taken();
    assert!(pairs.chunks(2).all(|pair| pair == ["web problem", "web recovery"]), "{pairs:?}");
    one.stop().await;
    two.stop().await;
}

/// E5: with nobody to tell, the cursor follows; rules that come then tell of what happens from
/// then on.
#[tokio::test(start_paused = true)]
async fn nobody_to_tell() {
    let clock = Clock::driven(NOON);
    let (store, sink) = (Memory::new(), FakeSink::new(clock));
    let host = notifier(&store, &sink, clock, "one");
    host.set(Settings::default());
    store.status("web", Status::Unhealthy, clock.now());
    until("the cursor follows", || store.cursor() == 1).await;
    store.status("web", Status::Healthy, clock.now());
    host.set(settings());
    until("it has followed", || store.cursor() == 2).await;
    store.status("db", Status::Unhealthy, clock.now());
    until("the next is told", || !sink.taken().is_empty()).await;
    assert_eq!(sink.taken(), ["db problem"]);
    host.stop().await;
}

/// E5, R7: a store that is away loses nothing.
#[tokio::test(start_paused = true)]
async fn a_store_that_is_away() {
    let clock = Clock::driven(NOON);
    let (store, sink) = (Memory::new(), FakeSink::new(clock));
    let host = notifier(&store, &sink, clock, "one");
    store.lock().away = true;
    store.status("web", Status::Unhealthy, clock.now());
    tokio::time::sleep(Duration::from_secs(300)).await;
    assert_eq!(sink.taken(), [""; 0]);
    store.lock().away = false;
    until("it is told", || !sink.taken().is_empty()).await;
    assert_eq!(sink.taken(), ["web problem"]);
    host.stop().await;
}
