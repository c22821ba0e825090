//! A store that can't be reached, and one where another host is faster.

use probehost_healer::{Ask, AskError};
use probehost_model::Reason;
use probehost_model::lifecycle::{AttemptPhase, LifecycleState, Policy, Sighting, Verdict};
use probehost_store::StoreError;
use tokio::time::sleep;

use crate::fakes::{Habits, SECOND, millis};
use crate::scene::{EVERY, plain, running, scene, until};
use crate::shelf::out_of_reach;
use LifecycleState::{Offline, Quarantined, Restarting, Running};

/// R7, L8: nothing is restarted that could not be saved; it is tried again, once a second.
#[tokio::test(start_paused = true)]
async fn held_until_the_store_is_back() {
    let (scene, host) = running(Policy { base: 5 * SECOND, ..plain() }).await;
    scene.kill(&host).await;
    scene.shelf.set_deaf(true);
    let (tries, record) = (scene.shelf.tries(), host.record("a"));
    sleep(300 * SECOND).await;
    assert_eq!((host.record("a"), scene.world.calls("a").len()), (record, 0));
    let tries = scene.shelf.tries() - tries;
    assert!((250..=310).contains(&tries), "{tries} in 300 s");
    scene.shelf.set_deaf(false);
    host.until("a", Running, 5 * SECOND).await;
    assert_eq!(scene.world.calls("a").len(), 1);
    assert_eq!(scene.shelf.states("a"), [Running, Offline, Restarting, Running]);
}

/// R7: a target that dies while nothing can be recorded is healed after.
#[tokio::test(start_paused = true)]
async fn down_in_an_outage() {
    let (scene, host) = running(plain()).await;
    scene.shelf.set_down(true);
    scene.world.kill("a");
    sleep(300 * SECOND).await;
    assert_eq!((host.state("a"), scene.world.calls("a").len()), (Running, 0));
    scene.shelf.set_down(false);
    host.until("a", Offline, EVERY + SECOND).await;
    host.until("a", Running, 5 * SECOND).await;
    assert_eq!(scene.world.calls("a").len(), 1);
}

/// R7, L8: the outcome of a call that ends in the outage is not lost, and it is not called again.
#[tokio::test(start_paused = true)]
async fn an_outcome_is_held() {
    for fails in [None, Some("no such container")] {
        let (scene, host) = running(plain()).await;
        scene.world.habits("a", Habits { takes: 3 * SECOND, fails, ..Habits::default() });
        scene.kill(&host).await;
        until(|| scene.world.calls("a").len() == 1, 2 * SECOND, String::new).await;
        scene.shelf.set_deaf(true);
        sleep(20 * SECOND).await;
        assert_eq!(host.record("a").phase(), Some(AttemptPhase::Issued));
        scene.world.habits("a", Habits::default());
        scene.shelf.set_deaf(false);
        host.until("a", if fails.is_some() { Offline } else { Running }, 3 * SECOND).await;
        host.until("a", Running, 6 * SECOND).await;
        assert_eq!(scene.world.calls("a").len(), if fails.is_some() { 2 } else { 1 });
    }
}

/// E3, R7: what is asked for in an outage is refused, and changes nothing.
#[tokio::test(start_paused = true)]
async fn asked_in_an_outage() {
    let (scene, host) = running(plain()).await;
    scene.shelf.set_deaf(true);
    let record = host.record("a");
    let quarantine = || Ask::Quarantine(String::new());
    for ask in [Ask::Restart, quarantine(), Ask::UpdateBegin] {
        let error = host.ask(ask).await.unwrap_err();
        assert!(matches!(&error, AskError::Store(error) if *error == out_of_reach()), "{error:?}");
    }
    assert_eq!(host.record("a"), record);
    scene.shelf.set_deaf(false);
    sleep(60 * SECOND).await;
    assert_eq!((host.state("a"), scene.world.calls("a").len()), (Running, 0));
    assert_eq!(scene.shelf.audit("a").len(), 0);
}

/// E3, L8: a restart by hand that was saved stands, also when the store goes away right after:
/// who asked is not told that nothing has changed.
#[tokio::test(start_paused = true)]
async fn a_decision_that_was_saved_stands() {
    let (scene, host) = running(plain()).await;
    sleep(SECOND).await;
    scene.shelf.deaf_after(1);
    host.ask(Ask::Restart).await.unwrap();
    assert_eq!(host.record("a").phase(), Some(AttemptPhase::Decided));
    let tries = scene.shelf.tries();
    sleep(30 * SECOND).await;
    assert_eq!(scene.world.calls("a").len(), 0);
    assert!(scene.shelf.tries() - tries <= 31);
    scene.shelf.set_deaf(false);
    host.until("a", Running, 5 * SECOND).await;
    assert_eq!(scene.world.calls("a").len(), 1);
    assert_eq!(scene.shelf.issued("a"), [1]);
}

/// L8: a host that was overtaken steps again from what is stored, and pauses when that goes on.
#[tokio::test(start_paused = true)]
async fn overtaken() {
    let (scene, host) = running(plain()).await;
    scene.shelf.overtake(3);
    scene.kill(&host).await;
    host.until("a", Running, 5 * SECOND).await;
    assert_eq!(scene.world.calls("a").len(), 1);

    scene.shelf.overtake(1_000);
    let error = host.ask(Ask::Restart).await.unwrap_err();
    assert!(matches!(&error, AskError::Store(StoreError::Overtaken(id)) if id == "a"), "{error:?}");
    assert_eq!(host.state("a"), Running);
    let tries = scene.shelf.tries();
    scene.world.kill("a");
    sleep(30 * SECOND).await;
    assert_eq!(scene.world.calls("a").len(), 1);
    assert!(scene.shelf.tries() - tries < 200);
    scene.shelf.overtake(0);
    until(|| scene.world.calls("a").len() == 2, 5 * SECOND, String::new).await;
    host.until("a", Running, 5 * SECOND).await;
}

/// L8, L11: what another host has saved is shown once this one knows of it.
#[tokio::test(start_paused = true)]
async fn what_the_other_host_saved_is_shown() {
    let scene = scene();
    scene.add("a", plain());
    // Ready when it is live: the two sightings change together.
    scene.shelf.edit("a", |target| drop(target.checks.pop()));
    let host = scene.host().await;
    host.until("a", Running, SECOND).await;
    sleep(SECOND).await;
    let now = scene.clock.now();
    let mut record = scene.shelf.record("a").unwrap();
    record.revision += 1;
    record.state = Quarantined;
    record.healthy_since = None;
    record.liveness = Sighting::new(Verdict::Unhealthy, now, Some(Reason::Stopped), "exited");
    record.readiness = record.liveness.clone();
    scene.shelf.plant("a", record.clone());
    scene.world.kill("a");
    host.until("a", Quarantined, EVERY + SECOND).await;
    assert_eq!(host.record("a").revision, record.revision);
    sleep(100 * SECOND).await;
    assert_eq!(scene.world.calls("a").len(), 0);
    assert_ne!(host.state("a"), Restarting);
}

/// R7: results that come while the store is away wake nobody more often than once a second.
#[tokio::test(start_paused = true)]
async fn an_outage_is_not_hammered() {
    let (scene, host) = running(plain()).await;
    scene.shelf.set_deaf(true);
    scene.world.kill("a");
    let stored = scene.shelf.targets().remove(0);
    let checks: Vec<_> = crate::scene::seen(&stored).into_iter().map(std::sync::Arc::new).collect();
    let tries = scene.shelf.tries();
    for _ in 0..1_000 {
        for check in &checks {
            probehost_healer::ports::Probing::probe(&host.eyes, check.clone());
        }
        sleep(millis(20)).await;
    }
    let tries = scene.shelf.tries() - tries;
    assert!(tries <= 21, "{tries} in 20 s");
}
