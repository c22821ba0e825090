//! Updates, and quarantines that end by a probe.

use probehost_healer::Ask;
use probehost_model::lifecycle::{LifecycleState, Policy, UpdateVerdict, update_verdict};
use tokio::time::sleep;

use crate::fakes::{Habits, SECOND, millis};
use crate::scene::{Host, Scene, close, plain, running};
use LifecycleState::{Offline, Quarantined, Restarting, Running, Updating};

fn verdict(scene: &Scene, host: &Host) -> Option<UpdateVerdict> {
    update_verdict(&host.record("a"), &plain(), scene.clock.now())
}

/// L6, A1: nothing is restarted while an update is under way, and the verdict follows what is
/// seen.
#[tokio::test(start_paused = true)]
async fn an_update_suppresses_restarts() {
    let (scene, host) = running(plain()).await;
    assert_eq!(verdict(&scene, &host), None);
    host.ask(Ask::UpdateBegin).await.unwrap();
    scene.world.kill("a");
    sleep(15 * SECOND).await;
    assert_eq!(verdict(&scene, &host), Some(UpdateVerdict::Wait));
    sleep(60 * SECOND).await;
    assert_eq!(verdict(&scene, &host), Some(UpdateVerdict::Rollback));
    sleep(3600 * SECOND).await;
    assert_eq!((host.state("a"), scene.world.calls("a").len()), (Updating, 0));
    scene.world.revive("a");
    sleep(15 * SECOND).await;
    assert_eq!(verdict(&scene, &host), Some(UpdateVerdict::Promote));
    host.ask(Ask::UpdatePromoted).await.unwrap();
    assert_eq!(host.state("a"), Running);
    assert_eq!(scene.shelf.states("a"), [Running, Updating, Running]);
    assert_eq!(scene.shelf.audit("a"), ["update begun", "update promoted"]);
    let by_alice = scene.shelf.writes("a").iter().filter(|w| w.principal == "alice").count();
    assert_eq!(by_alice, 2);
    assert_eq!(scene.world.calls("a").len(), 0);
    // From now on it is healed again.
    scene.kill(&host).await;
    host.until("a", Running, 5 * SECOND).await;
    assert_eq!(scene.world.calls("a").len(), 1);
}

/// L6: an update that begins while a restart waits or is under way drops it.
#[tokio::test(start_paused = true)]
async fn an_update_takes_the_place_of_a_restart() {
    let (scene, host) = running(plain()).await;
    scene.kill(&host).await;
    host.ask(Ask::UpdateBegin).await.unwrap();
    sleep(100 * SECOND).await;
    assert_eq!(scene.world.calls("a").len(), 0);
    host.ask(Ask::UpdateRolledBack).await.unwrap();
    // The old version has its start budget, by the update manager's hands.
    assert_eq!(host.state("a"), Restarting);
    scene.world.revive("a");
    host.until("a", Running, 3 * SECOND).await;
    assert_eq!(scene.world.calls("a").len(), 0);

    scene.world.habits("a", Habits { takes: 20 * SECOND, ..Habits::default() });
    host.ask(Ask::Restart).await.unwrap();
    sleep(SECOND).await;
    host.ask(Ask::UpdateBegin).await.unwrap();
    sleep(600 * SECOND).await;
    assert_eq!((host.state("a"), scene.world.calls("a").len()), (Updating, 1));
}

/// L6: a version that does not come up within its budget after the update is restarted as any.
#[tokio::test(start_paused = true)]
async fn promoted_and_not_up() {
    let (scene, host) = running(plain()).await;
    host.ask(Ask::UpdateBegin).await.unwrap();
    scene.world.kill("a");
    host.ask(Ask::UpdatePromoted).await.unwrap();
    host.until("a", Offline, 62 * SECOND).await;
    host.until("a", Running, 10 * SECOND).await;
    assert_eq!(scene.world.calls("a").len(), 1);
    // The update manager's start had the number 1.
    assert_eq!(scene.shelf.issued("a"), [2]);
}

/// L7: with `quarantine_retry` a probe after that wait ends the quarantine of a target that is
/// well; nothing is restarted, and each wait is twice the one before.
#[tokio::test(start_paused = true)]
async fn a_quarantine_that_ends_by_a_probe() {
    let retry = 100 * SECOND;
    let policy = Policy { max_restarts: 1, quarantine_retry: Some(retry), ..plain() };
    let (scene, host) = running(policy).await;
    scene.world.habits("a", Habits { live_in: None, ..Habits::default() });
    scene.kill(&host).await;
    host.until("a", Quarantined, 100 * SECOND).await;
    let since = host.record("a").since;
    let due = |host: &Host| host.record("a").next_attempt_at.unwrap();
    let first = due(&host);
    assert_eq!(first.since(since), retry);

    // Well for a while before it is due: that counts for nothing.
    scene.world.revive("a");
    sleep(50 * SECOND).await;
    assert_eq!(host.state("a"), Quarantined);
    scene.world.kill("a");
    sleep(first.since(scene.clock.now())).await;
    sleep(millis(100)).await;
    assert_eq!(host.record("a").quarantine_probes, 1);
    let second = due(&host);
    close(second.since(first), 2 * retry + crate::fakes::LOOK);

    scene.world.revive("a");
    let tries = scene.shelf.tries();
    sleep(second.since(scene.clock.now())).await;
    assert_eq!(host.state("a"), Quarantined);
    host.until("a", Running, millis(100)).await;
    assert!(scene.shelf.tries() - tries < 6);
    assert_eq!((scene.world.calls("a").len(), host.record("a").failures), (1, 1));

    // L4: its failure still counts.
    scene.world.kill("a");
    host.until("a", Quarantined, 15 * SECOND).await;
    assert_eq!(scene.world.calls("a").len(), 1);
}

/// L7: a quarantined target whose probe gives nothing is asked for again, once a second.
#[tokio::test(start_paused = true)]
async fn a_retry_in_the_fog_is_no_storm() {
    let policy = Policy { quarantine_retry: Some(60 * SECOND), ..plain() };
    let (scene, host) = running(policy).await;
    host.ask(Ask::Quarantine(String::new())).await.unwrap();
    sleep(30 * SECOND).await;
    scene.world.fog(true);
    let tries = scene.shelf.tries();
    sleep(3600 * SECOND).await;
    assert_eq!((host.state("a"), scene.world.calls("a").len()), (Quarantined, 0));
    let (tries, probes) = (scene.shelf.tries() - tries, scene.world.probes("a", "live").len());
    assert!(tries < 30, "{tries} saves");
    assert!(probes < 450, "{probes} probes");
}
