//! One probe: who may run it, what ends it, and what it comes to.

use std::sync::Arc;
use std::time::Duration;

use probehost_model::{Outcome, Reason};
use probehost_monitor::{Launch, ProbeError};
use tokio::time::Instant;

use crate::fakes::{Part, SECOND, check, fails, pass, scene};

/// P3, P4: a target that says nothing is a `timeout` failure at the check's deadline.
#[tokio::test(start_paused = true)]
async fn the_deadline_is_a_failure() {
    let scene = scene(4);
    scene.stage.plays("web", Part::Silent);
    let result = scene.by_hand("web").await;
    assert!(matches!(&result.evidence.outcome, Outcome::Fail(f) if f.reason == Reason::Timeout));
    assert_eq!(result.took, 10 * SECOND);
    assert_eq!(scene.shelf.record_of("web").unwrap().reason, Some(Reason::Timeout));
}

/// P4: the caller's own deadline counts the same, and can only shorten.
#[tokio::test(start_paused = true)]
async fn the_callers_deadline_is_a_failure_too() {
    let scene = scene(4);
    scene.stage.plays("web", Part::Silent);
    for (limit, took) in [(2 * SECOND, 2 * SECOND), (60 * SECOND, 10 * SECOND)] {
        let check = Arc::new(check("web", 60 * SECOND));
        let result = scene.monitor.probe_by_hand(check, "alice", Some(limit)).await.unwrap();
        assert!(
            matches!(&result.evidence.outcome, Outcome::Fail(f) if f.reason == Reason::Timeout)
        );
        assert_eq!(result.took, took);
    }
}

/// P9: without its plugin nothing is read, written or audited, and others go on.
#[tokio::test(start_paused = true)]
async fn a_missing_plugin_is_not_implemented() {
    let scene = scene(4);
    scene.stage.plays("other", pass());
    let missing = Arc::new(check("web", 60 * SECOND));
    let error = scene.monitor.probe_by_hand(missing, "alice", None).await.unwrap_err();
    assert_eq!(
        error,
        ProbeError::NotImplemented { kind: "echo".into(), help: "install echo.wasm".into() }
    );
    assert!(error.to_string().contains("install echo.wasm"));
    assert!(scene.shelf.writes().is_empty() && scene.shelf.audited().is_empty());
    scene.by_hand("other").await;
    assert_eq!(scene.shelf.writes().len(), 1);
}

/// S3: a check that is still running is skipped, not queued, and counted.
#[tokio::test(start_paused = true)]
async fn overlap_is_skipped() {
    let scene = scene(4);
    scene.stage.plays("slow", Part::Silent);
    let slow = Arc::new(check("slow", 60 * SECOND));
    assert_eq!(scene.monitor.launch(Arc::clone(&slow), Instant::now()), Launch::Started);
    assert_eq!(scene.monitor.launch(Arc::clone(&slow), Instant::now()), Launch::Skipped);
    assert_eq!(scene.metrics.skipped(), 1);
    tokio::time::sleep(11 * SECOND).await;
    assert_eq!(scene.stage.began().len(), 1);
    assert_eq!(scene.monitor.launch(slow, Instant::now()), Launch::Started);
}

/// S2, S4: no more than the semaphore allows, in the order of dispatch, whoever asks.
#[tokio::test(start_paused = true)]
async fn one_semaphore_for_all() {
    let scene = scene(3);
    let names: Vec<String> = (0..12).map(|number| format!("t{number:02}")).collect();
    for name in &names {
        scene.stage.plays(name, Part::Answer(SECOND, Outcome::Pass));
    }
    let due = Instant::now();
    for name in &names[..8] {
        scene.monitor.launch(Arc::new(check(name, 60 * SECOND)), due);
    }
    for name in &names[8..10] {
        scene.monitor.probe_saved(Arc::new(check(name, 60 * SECOND)));
    }
    let by_hand = names[10..].iter().map(|name| scene.by_hand(name));
    let (first, second) = {
        let mut by_hand = by_hand.collect::<Vec<_>>().into_iter();
        (by_hand.next().unwrap(), by_hand.next().unwrap())
    };
    tokio::join!(first, second);
    assert_eq!(scene.stage.began(), names);
    assert_eq!(scene.stage.most(), 3);
    assert_eq!(due.elapsed(), 4 * SECOND);
}

/// S4: the smaller limit of a kind holds too.
#[tokio::test(start_paused = true)]
async fn a_kind_has_a_smaller_limit() {
    let scene = scene(64);
    scene.stage.limits("echo", 2);
    for number in 0..6 {
        let name = format!("t{number}");
        scene.stage.plays(&name, Part::Answer(SECOND, Outcome::Pass));
        scene.monitor.launch(Arc::new(check(&name, 60 * SECOND)), Instant::now());
    }
    tokio::time::sleep(10 * SECOND).await;
    assert_eq!((scene.stage.began().len(), scene.stage.most()), (6, 2));
}

/// S7: probes by hand at the same time share one run, and each caller gets its result.
#[tokio::test(start_paused = true)]
async fn by_hand_is_shared() {
    let scene = scene(4);
    scene.stage.plays("web", Part::Answer(SECOND, Outcome::Pass));
    let ask = |who: &'static str| {
        scene.monitor.probe_by_hand(Arc::new(check("web", 60 * SECOND)), who, None)
    };
    let (alice, bob) = tokio::join!(ask("alice"), ask("bob"));
    assert!(Arc::ptr_eq(&alice.unwrap(), &bob.unwrap()));
    assert_eq!(scene.stage.began().len(), 1);
    assert_eq!(scene.shelf.writes()[0].principal, "alice, bob");
}

/// S7, R4: a probe by hand outlives its caller, and its result is recorded.
#[tokio::test(start_paused = true)]
async fn by_hand_outlives_its_caller() {
    let scene = scene(4);
    scene.stage.plays("web", Part::Answer(3 * SECOND, Outcome::Pass));
    let left = tokio::time::timeout(SECOND, scene.by_hand("web")).await;
    assert!(left.is_err());
    tokio::time::sleep(5 * SECOND).await;
    assert!(scene.shelf.record_of("web").unwrap().last_success_at.is_some());
}

/// R4: a caller that leaves while its result is being written cannot lose the write.
#[tokio::test(start_paused = true)]
async fn a_write_outlives_its_caller() {
    let scene = scene(4);
    scene.stage.plays("web", pass());
    scene.shelf.set_slow(5 * SECOND);
    let left = tokio::time::timeout(SECOND, scene.by_hand("web")).await;
    assert!(left.is_err());
    assert!(scene.shelf.record_of("web").is_none());
    tokio::time::sleep(5 * SECOND).await;
    assert!(scene.shelf.record_of("web").is_some());
}

/// S5: one failure is one probe: nothing is tried again inside a cycle.
#[tokio::test(start_paused = true)]
async fn no_retry_inside_a_cycle() {
    let scene = scene(4);
    scene.stage.plays("web", fails(Reason::Network));
    scene.by_hand("web").await;
    tokio::time::sleep(Duration::from_secs(300)).await;
    assert_eq!(scene.stage.began().len(), 1);
}
