//! Lifecycle records and their history: contract L8, R3, R9, A1.

use std::borrow::Cow;

use probehost_model::lifecycle::{
    Effect, Event, LifecycleRecord, LifecycleState, Policy, Sighting, Step, Verdict, step,
};
use probehost_model::{
    Action, Change, Managed, Reason, Runtime, SYSTEM_PRINCIPAL, Target, Trigger,
};
use probehost_store::{LifecycleAudit, LifecycleWrite, TransitionFilter};

use crate::backend::{Backend, on_both};
use crate::common::{Fixture, at, target};

fn managed(runtime: &str, policy: Policy) -> Target {
    let runtime = Runtime::Container(runtime.to_owned());
    Target { managed: Some(Managed { runtime, policy }), ..target("web", &["head"]) }
}

fn policy() -> Policy {
    // A third is no number that a decimal text holds whole.
    Policy { multiplier: 1.0 + 1.0 / 3.0, jitter: 0.1, ..Policy::default() }
}

/// The step in which the target is first seen.
fn seen(record: &LifecycleRecord, verdict: Verdict, now: i64) -> Step {
    let reason = (verdict == Verdict::Unhealthy).then_some(Reason::Stopped);
    let seen = Sighting::new(verdict, at(now), reason, "exited with 137");
    step(record, &Event::Liveness(seen), &policy(), at(now), 0.5).unwrap()
}

fn write(step: &Step, now: i64) -> LifecycleWrite {
    let effects = step.effects.iter();
    let poolable = effects.clone().find_map(|effect| match effect {
        Effect::Pool { poolable } => Some(*poolable),
        _ => None,
    });
    LifecycleWrite {
        target: "web".to_owned(),
        record: step.record.clone(),
        transitions: step.transitions().cloned().collect(),
        audit: effects
            .filter_map(|effect| match effect {
                Effect::Audit { action, outcome, .. } => {
                    Some(LifecycleAudit { action: *action, outcome: outcome.clone() })
                }
                _ => None,
            })
            .collect(),
        poolable,
        at: at(now),
        principal: Cow::Borrowed(SYSTEM_PRINCIPAL),
        trigger: None,
    }
}

/// L8, R3, A1: a record comes back as it was, with its transition, audit row and event.
async fn a_record_is_durable_with_its_history(on: Backend) {
    let fixture = Fixture::new(on).await;
    fixture.sync(vec![managed("web-1", policy())], 1).await;
    let first = seen(&LifecycleRecord::new(at(1)), Verdict::Unhealthy, 2);
    assert!(fixture.store.save_lifecycle(write(&first, 2)).await.unwrap());
    let fixture = fixture.reopen().await;
    assert_eq!(fixture.store.lifecycle("web").await.unwrap(), Some(first.record.clone()));
    assert_eq!(fixture.store.lifecycles().await.unwrap(), [("web".to_owned(), first.record)]);

    let history = fixture.store.lifecycle_transitions(&TransitionFilter::default()).await.unwrap();
    let [row] = history.as_slice() else { panic!("{history:?}") };
    assert_eq!((row.target.as_str(), row.principal.as_str()), ("web", SYSTEM_PRINCIPAL));
    let made = &row.transition;
    assert_eq!((made.from, made.to), (LifecycleState::Unknown, LifecycleState::Offline));
    assert_eq!(
        (made.at, made.reason, made.message.as_str()),
        (at(2), Some(Reason::Stopped), "exited with 137")
    );

    let audit = fixture.audit().await;
    let told = audit.iter().find(|row| row.action == Action::Lifecycle).unwrap();
    assert_eq!((told.from.as_deref(), told.to.as_deref()), (Some("unknown"), Some("offline")));
    assert_eq!((told.outcome.as_str(), told.trigger), ("stopped: exited with 137", None));

    let events = fixture.store.events_after(0, 100).await.unwrap();
    let changes: Vec<_> = events.iter().map(|event| &event.change).collect();
    assert!(
        matches!(
            changes.as_slice(),
            [
                Change::Target { .. },
                Change::Lifecycle { to: LifecycleState::Offline, failures: 0, .. }
            ]
        ),
        "{changes:?}"
    );
    fixture.finish().await;
}

/// L8: a record lands only over the revision before it, so of two that step the same only one
/// does, and nothing of the other is kept.
async fn only_one_of_two_lands(on: Backend) {
    let fixture = Fixture::new(on).await;
    fixture.sync(vec![managed("web-1", policy())], 1).await;
    let new = LifecycleRecord::new(at(1));
    let (down, up) = (seen(&new, Verdict::Unhealthy, 2), seen(&new, Verdict::Healthy, 3));
    assert!(fixture.store.save_lifecycle(write(&down, 2)).await.unwrap());
    assert!(!fixture.store.save_lifecycle(write(&up, 3)).await.unwrap());
    assert_eq!(fixture.store.lifecycle("web").await.unwrap(), Some(down.record.clone()));
    let next = seen(&down.record, Verdict::Healthy, 4);
    let mut by_ada = write(&next, 4);
    (by_ada.principal, by_ada.trigger) = ("ada".into(), Some(Trigger::Manual));
    assert!(fixture.store.save_lifecycle(by_ada).await.unwrap());
    // One that was overtaken by far does not land either.
    assert!(!fixture.store.save_lifecycle(write(&down, 5)).await.unwrap());

    let filter = TransitionFilter { target: Some("web".into()), ..TransitionFilter::default() };
    let history = fixture.store.lifecycle_transitions(&filter).await.unwrap();
    let told: Vec<_> =
        history.iter().map(|row| (row.transition.to, row.principal.as_str())).collect();
    assert_eq!(
        told,
        [(LifecycleState::Running, "ada"), (LifecycleState::Offline, SYSTEM_PRINCIPAL)]
    );
    let audit = fixture.audit().await;
    let last = audit.last().unwrap();
    assert_eq!((last.principal.as_str(), last.trigger), ("ada", Some(Trigger::Manual)));
    let elsewhere = TransitionFilter { target: Some("db".into()), ..TransitionFilter::default() };
    assert_eq!(fixture.store.lifecycle_transitions(&elsewhere).await.unwrap(), []);
    fixture.finish().await;
}

/// L10, R9: another policy keeps the record. Another runtime is another thing: what was known
/// goes, as it does with the target and with its runtime; the history stays. Routers hear of it.
async fn a_record_goes_with_what_it_is_about(on: Backend) {
    let fixture = Fixture::new(on).await;
    let ready = || ready(&fixture);
    let stored = || async { fixture.store.lifecycle("web").await.unwrap().is_some() };
    let last_pool = || async { pool(&fixture).await.last().copied() };
    fixture.sync(vec![managed("web-1", policy())], 1).await;
    ready().await;
    assert_eq!(last_pool().await, Some(true));
    let same = fixture.sync(vec![managed("web-1", policy())], 10).await;
    assert_eq!(same, Default::default(), "nothing differs");
    let patient = Policy { max_restarts: 9, ..policy() };
    let saved = fixture.sync(vec![managed("web-1", patient)], 11).await;
    assert_eq!((saved.changed.len(), saved.reset.len()), (1, 0));
    assert!(stored().await);

    fixture.sync(vec![managed("web-2", policy())], 12).await;
    assert!(!stored().await);
    assert_eq!(last_pool().await, Some(false));

    ready().await;
    fixture.sync(vec![target("web", &["head"])], 13).await;
    assert!(!stored().await, "it is only watched");
    let new = seen(&LifecycleRecord::new(at(13)), Verdict::Healthy, 14);
    assert!(!fixture.store.save_lifecycle(write(&new, 14)).await.unwrap(), "nobody manages it");

    fixture.sync(vec![managed("web-1", policy())], 15).await;
    ready().await;
    fixture.sync(Vec::new(), 16).await;
    assert!(!stored().await, "it is deleted");
    assert_eq!(last_pool().await, Some(false));
    assert!(!fixture.store.save_lifecycle(write(&new, 17)).await.unwrap(), "it is deleted");
    let history = fixture.store.lifecycle_transitions(&TransitionFilter::default()).await.unwrap();
    assert_eq!(history.len(), 3);
    fixture.finish().await;
}

/// L11: a target that is disabled is no member of the pool, and one that is enabled again is one;
/// routers are told at once, and once only.
async fn routers_hear_of_a_switch(on: Backend) {
    let fixture = Fixture::new(on).await;
    fixture.sync(vec![managed("web-1", policy())], 1).await;
    let switch = |enabled, now| fixture.store.set_enabled("web", enabled, at(now), "ada");
    switch(false, 2).await.unwrap();
    switch(true, 3).await.unwrap();
    assert_eq!(pool(&fixture).await, [false; 0], "it was not poolable");
    ready(&fixture).await;
    switch(false, 4).await.unwrap();
    switch(false, 5).await.unwrap();
    assert_eq!(pool(&fixture).await, [true, false]);
    fixture.sync(vec![managed("web-1", policy())], 6).await;
    assert_eq!(pool(&fixture).await, [true, false, true]);
    let disabled = Target { enabled: false, ..managed("web-1", policy()) };
    fixture.sync(vec![disabled], 7).await;
    fixture.sync(Vec::new(), 8).await;
    assert_eq!(pool(&fixture).await, [true, false, true, false], "a deletion is no news");
    fixture.finish().await;
}

/// Saves that the target `web` is running and ready.
async fn ready(fixture: &Fixture) {
    let up = seen(&LifecycleRecord::new(at(1)), Verdict::Healthy, 2);
    let well = Sighting::new(Verdict::Healthy, at(2), None, "");
    let ready = step(&up.record, &Event::Readiness(well), &policy(), at(2), 0.5).unwrap();
    assert!(fixture.store.save_lifecycle(write(&up, 2)).await.unwrap());
    assert!(fixture.store.save_lifecycle(write(&ready, 2)).await.unwrap());
}

/// What routers were told, oldest first.
async fn pool(fixture: &Fixture) -> Vec<bool> {
    let events = fixture.store.events_after(0, 100).await.unwrap();
    let told = events.into_iter().filter_map(|event| match event.change {
        Change::Pool { poolable, .. } => Some(poolable),
        _ => None,
    });
    told.collect()
}

/// A3: the history of lifecycles is append-only, for whoever opens the database.
async fn history_is_append_only(on: Backend) {
    let fixture = Fixture::new(on).await;
    fixture.sync(vec![managed("web-1", policy())], 1).await;
    let first = seen(&LifecycleRecord::new(at(1)), Verdict::Unhealthy, 2);
    assert!(fixture.store.save_lifecycle(write(&first, 2)).await.unwrap());
    for statement in [
        "UPDATE lifecycle_transitions SET message = 'nothing happened'",
        "DELETE FROM lifecycle_transitions",
    ] {
        let refused = fixture.try_execute(statement).await.unwrap_err().to_string();
        assert!(refused.contains("append-only"), "{refused}");
    }
    fixture.finish().await;
}

on_both!(
    a_record_is_durable_with_its_history,
    only_one_of_two_lands,
    a_record_goes_with_what_it_is_about,
    routers_hear_of_a_switch,
    history_is_append_only,
);
