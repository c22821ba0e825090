//! The outbox of notifications: contract E5.

use probehost_model::notify::{DeliveryState, NotificationKind};
use probehost_model::{Outcome, Reason, Timestamp};
use probehost_store::{
    DeliveryFilter, Due, NewDelivery, NotifyPlan, Options, ProblemKey, ProblemRow, Settled, Store,
};

use crate::backend::{Backend, on_both};
use crate::common::{Fixture, at, fail, seen};

fn key(target: &str) -> ProblemKey {
    ProblemKey { sink: "chat".into(), target: target.into(), check: "head".into() }
}

fn told(target: &str, message: &str) -> NewDelivery {
    let (key, kind) = (key(target), NotificationKind::Problem);
    NewDelivery { key, kind, event: Some(1), message: message.into() }
}

async fn plan(store: &Store, revision: i64, cursor: i64, deliveries: Vec<NewDelivery>) -> bool {
    let plan =
        NotifyPlan { revision, cursor, deliveries, at: Some(at(10)), ..NotifyPlan::default() };
    store.plan_notifications(plan).await.unwrap()
}

async fn due(store: &Store, now: Timestamp) -> Option<(i64, String)> {
    match store.due_delivery("chat", now).await.unwrap() {
        Due::Now(delivery) => Some((delivery.id, delivery.message)),
        Due::At(_) | Due::Nothing => None,
    }
}

/// The ids by message.
async fn ids(store: &Store) -> Vec<(i64, String, DeliveryState)> {
    let mut found = store.deliveries(&DeliveryFilter::default()).await.unwrap();
    found.reverse();
    found.into_iter().map(|each| (each.id, each.message, each.state)).collect()
}

/// E5: deliveries, problems and cursor land together, and only over the plan that they were made
/// from: of two hosts one does.
async fn one_plan_lands(on: Backend) {
    let fixture = Fixture::with_web(on).await;
    let other = Store::open(Options::at(fixture.home.location.clone())).await.unwrap();
    let state = fixture.store.notify_state().await.unwrap();
    assert_eq!((state.cursor, state.problems.len()), (0, 0));
    let row = |data: &str| ProblemRow { key: key("web"), data: data.into() };
    let make = |data: &str| NotifyPlan {
        revision: state.revision,
        cursor: 7,
        put: vec![row(data)],
        deliveries: vec![told("web", data)],
        at: Some(at(10)),
        gone: Vec::new(),
    };
    let both = tokio::join!(
        fixture.store.plan_notifications(make("one")),
        other.plan_notifications(make("two"))
    );
    let (one, two) = (both.0.unwrap(), both.1.unwrap());
    assert!(one != two, "exactly one lands");
    let winner = if one { "one" } else { "two" };
    let state = other.notify_state().await.unwrap();
    assert_eq!((state.cursor, state.problems), (7, vec![row(winner)]));
    let messages: Vec<_> = ids(&other).await.into_iter().map(|(_, message, _)| message).collect();
    assert_eq!(messages, [winner]);

    // A problem known better, and one that is over.
    let mut next = NotifyPlan {
        revision: state.revision,
        cursor: 8,
        put: vec![row("3")],
        ..NotifyPlan::default()
    };
    assert!(other.plan_notifications(next.clone()).await.unwrap());
    assert_eq!(other.notify_state().await.unwrap().problems, [row("3")]);
    next = NotifyPlan {
        revision: state.revision + 1,
        cursor: 8,
        gone: vec![key("web")],
        ..NotifyPlan::default()
    };
    assert!(other.plan_notifications(next).await.unwrap());
    assert_eq!(other.notify_state().await.unwrap().problems, []);
    other.close().await;
    fixture.finish().await;
}

/// E5: in order for each target; one that waits or is claimed holds back later ones of its target
/// and no others, and one that is dead holds back none.
async fn deliveries_of_a_target_keep_their_order(on: Backend) {
    let fixture = Fixture::new(on).await;
    let store = &fixture.store;
    let revision = store.notify_state().await.unwrap().revision;
    let four = vec![told("a", "a1"), told("a", "a2"), told("b", "b1"), told("b", "b2")];
    assert!(plan(store, revision, 0, four).await);
    let (a1, message) = due(store, at(10)).await.unwrap();
    assert_eq!(message, "a1");
    assert_eq!(due(store, at(9)).await, None, "planned at 10");

    // Claimed: nobody else gets it, nor what comes after it.
    assert!(store.claim_delivery(a1, "one", at(10), at(40)).await.unwrap());
    assert!(!store.claim_delivery(a1, "two", at(11), at(41)).await.unwrap());
    let (b1, message) = due(store, at(11)).await.unwrap();
    assert_eq!(message, "b1");
    let later = Settled::Later { at: at(100), error: "503".into() };
    assert!(store.settle_delivery(a1, later, at(12)).await.unwrap());
    assert!(store.claim_delivery(b1, "two", at(12), at(42)).await.unwrap());
    assert!(store.settle_delivery(b1, Settled::Delivered, at(13)).await.unwrap());
    let (b2, message) = due(store, at(13)).await.unwrap();
    assert_eq!(message, "b2");
    assert!(store.settle_delivery(b2, Settled::Dead("404".into()), at(14)).await.unwrap());
    assert!(!store.settle_delivery(b2, Settled::Delivered, at(15)).await.unwrap(), "finished");
    assert_eq!(store.due_delivery("chat", at(50)).await.unwrap(), Due::At(at(100)));

    store.hasten_deliveries("chat", at(60)).await.unwrap();
    assert_eq!(due(store, at(60)).await.unwrap().0, a1);
    // A claim that ran out, as that of a host that was killed.
    assert!(store.claim_delivery(a1, "one", at(60), at(90)).await.unwrap());
    assert_eq!(store.due_delivery("chat", at(70)).await.unwrap(), Due::At(at(90)));
    store.release_deliveries().await.unwrap();
    assert_eq!(due(store, at(70)).await.unwrap().0, a1);
    assert!(store.settle_delivery(a1, Settled::Dead("gone".into()), at(71)).await.unwrap());
    let (a2, message) = due(store, at(71)).await.unwrap();
    assert_eq!(message, "a2", "a dead one holds back none");
    store.settle_delivery(a2, Settled::Delivered, at(72)).await.unwrap();
    assert_eq!(store.due_delivery("chat", at(73)).await.unwrap(), Due::Nothing);

    let dead = store.delivery(a1).await.unwrap().unwrap();
    assert_eq!((dead.attempts, dead.first_attempt_at), (2, Some(at(10))));
    assert_eq!((dead.last_error.as_str(), dead.finished_at), ("gone", Some(at(71))));
    let counts = store.sink_counts().await.unwrap();
    assert_eq!((counts[0].pending, counts[0].dead), (0, 2));
    assert_eq!(counts[0].last_delivered_at, Some(at(72)));

    // Replayed once, and as if it were new.
    assert!(store.replay_delivery(a1, at(80)).await.unwrap());
    assert!(!store.replay_delivery(a1, at(80)).await.unwrap());
    assert!(!store.replay_delivery(a2, at(80)).await.unwrap(), "it was delivered");
    assert_eq!(due(store, at(80)).await.unwrap().0, a1);
    assert_eq!(store.delivery(a1).await.unwrap().unwrap().first_attempt_at, None);

    store.trim_deliveries(at(73)).await.unwrap();
    assert_eq!(ids(store).await.len(), 1, "what is pending stays");
    fixture.finish().await;
}

/// E5: an event of which it is not yet planned who is told is never dropped.
async fn unplanned_events_stay(on: Backend) {
    let fixture = Fixture::with_web(on).await;
    fixture.run(&[Outcome::Pass, fail(Reason::Network), Outcome::Pass]).await;
    let events = fixture.store.events_after(0, 100).await.unwrap();
    fixture.store.trim_events(at(1000)).await.unwrap();
    assert_eq!(fixture.store.events_after(0, 100).await.unwrap(), events);
    let state = fixture.store.notify_state().await.unwrap();
    assert!(plan(&fixture.store, state.revision, events[1].id, Vec::new()).await);
    fixture.store.trim_events(at(1000)).await.unwrap();
    assert_eq!(fixture.store.events_after(0, 100).await.unwrap(), events[2..]);
    fixture.finish().await;
}

/// What is planned and delivered is no news to those who wait for events.
async fn the_outbox_is_no_news(on: Backend) {
    let fixture = Fixture::with_web(on).await;
    fixture.record(seen(1, Outcome::Pass)).await;
    let mut news = fixture.store.news();
    news.mark_unchanged();
    let revision = fixture.store.notify_state().await.unwrap().revision;
    assert!(plan(&fixture.store, revision, 1, vec![told("web", "x")]).await);
    assert!(!news.has_changed().unwrap());
    fixture.finish().await;
}

/// E5: what waits for a sink that is gone becomes dead, and says why; what is young, and what is for
/// another, stays.
async fn nobody_waits_for_a_sink_that_is_gone(on: Backend) {
    let fixture = Fixture::with_web(on).await;
    let store = &fixture.store;
    let revision = store.notify_state().await.unwrap().revision;
    let for_sink = |sink: &str| {
        let mut new = told("web", sink);
        new.key.sink = sink.to_owned();
        new
    };
    assert!(plan(store, revision, 1, vec![for_sink("gone"), for_sink("o'hook")]).await);
    let states = || async {
        let all = store.deliveries(&DeliveryFilter::default()).await.unwrap();
        all.into_iter().rev().map(|each| (each.state, each.last_error)).collect::<Vec<_>>()
    };
    let sinks = || vec!["o'hook".to_owned()];
    let pending = (DeliveryState::Pending, String::new());
    store.abandon_deliveries(sinks(), at(10), at(20)).await.unwrap();
    assert_eq!(states().await, [pending.clone(), pending.clone()], "they are young");
    store.abandon_deliveries(sinks(), at(11), at(20)).await.unwrap();
    let dead = (DeliveryState::Dead, "there is no sink of this name any more".to_owned());
    assert_eq!(states().await, [dead.clone(), pending]);
    store.abandon_deliveries(Vec::new(), at(11), at(20)).await.unwrap();
    assert_eq!(states().await, [dead.clone(), dead]);
    fixture.finish().await;
}

/// E5: what was planned by a clock that was set back since is due at once, and nobody holds it.
async fn nothing_waits_for_a_clock_that_was_set_back(on: Backend) {
    let fixture = Fixture::with_web(on).await;
    let store = &fixture.store;
    let revision = store.notify_state().await.unwrap().revision;
    assert!(plan(store, revision, 1, vec![told("web", "now")]).await);
    let ahead = NotifyPlan {
        revision: store.notify_state().await.unwrap().revision,
        cursor: 2,
        deliveries: vec![told("db", "ahead")],
        at: Some(at(1_000_000)),
        ..NotifyPlan::default()
    };
    assert!(store.plan_notifications(ahead).await.unwrap());
    let (now, _) = due(store, at(20)).await.unwrap();
    assert!(store.claim_delivery(now, "here", at(20), at(1_000)).await.unwrap());
    assert_eq!(due(store, at(20)).await, None);
    store.bring_back(at(100), at(20)).await.unwrap();
    let (id, message) = due(store, at(20)).await.unwrap();
    assert_eq!(message, "ahead");
    assert!(store.claim_delivery(id, "here", at(20), at(1_000)).await.unwrap());
    assert_eq!(due(store, at(20)).await, None, "the other one is still claimed");
    fixture.finish().await;
}

on_both!(
    nobody_waits_for_a_sink_that_is_gone,
    nothing_waits_for_a_clock_that_was_set_back,
    one_plan_lands,
    deliveries_of_a_target_keep_their_order,
    unplanned_events_stay,
    the_outbox_is_no_news,
);
