//! Calls that hang, and hosts that stop.

use probehost_healer::{Ask, AskError};
use probehost_model::lifecycle::{AttemptPhase, LifecycleState};
use tokio::runtime::Handle;
use tokio::time::{Instant, sleep};

use crate::fakes::{Habits, SECOND, millis};
use crate::scene::{Host, plain, running, until};
use LifecycleState::{Offline, Quarantined, Restarting, Running};

fn takes(seconds: u32) -> Habits {
    Habits { takes: seconds * SECOND, ..Habits::default() }
}

fn hangs() -> Habits {
    Habits { hangs: true, ..Habits::default() }
}

/// Stops the host. Only probes are left, which are not its own.
async fn assert_no_task_is_left(host: &Host) {
    host.stop().await;
    assert_eq!(host.healer.instances().len(), 1);
    // The aborted schedule of the test itself.
    tokio::task::yield_now().await;
    assert_eq!(Handle::current().metrics().num_alive_tasks(), host.eyes.in_flight());
}

/// L5: a call that hangs is given up within the start budget, and counts as failed.
#[tokio::test(start_paused = true)]
async fn a_call_that_hangs_is_given_up() {
    let (scene, host) = running(plain()).await;
    scene.world.habits("a", hangs());
    scene.kill(&host).await;
    host.until("a", Restarting, 2 * SECOND).await;
    host.until("a", Offline, 60 * SECOND).await;
    assert_eq!((scene.world.given_up(), scene.world.under_way()), (1, 0));
    let record = host.record("a");
    assert_eq!((record.failures, record.phase()), (1, Some(AttemptPhase::Failed)));
    assert_eq!(record.message, "container a: no answer within 48 s");
    scene.world.habits("a", Habits::default());
    host.until("a", Running, 10 * SECOND).await;
    assert_eq!(scene.world.calls("a").len(), 2);
}

/// L7: while a call hangs, an operator can still set the target aside, and have it restarted.
#[tokio::test(start_paused = true)]
async fn asks_are_answered_during_a_call() {
    let (scene, host) = running(plain()).await;
    scene.world.habits("a", hangs());
    host.ask(Ask::Restart).await.unwrap();
    sleep(SECOND).await;
    let asked = Instant::now();
    host.ask(Ask::Quarantine("stuck".into())).await.unwrap();
    assert!(asked.elapsed() < millis(10));
    assert_eq!(host.state("a"), Quarantined);
    scene.world.habits("a", Habits::default());
    host.ask(Ask::Release).await.unwrap();
    host.until("a", Running, 5 * SECOND).await;
    assert_eq!((scene.world.given_up(), scene.world.under_way()), (1, 0));
    // What the first call would have said changes nothing any more.
    sleep(100 * SECOND).await;
    assert_eq!((host.state("a"), scene.world.calls("a").len()), (Running, 2));
    assert_eq!(host.record("a").failures, 0);
}

/// L7: a call that ends after its target was set aside changes nothing.
#[tokio::test(start_paused = true)]
async fn a_late_outcome_changes_nothing() {
    let (scene, host) = running(plain()).await;
    scene.world.habits("a", takes(20));
    host.ask(Ask::Restart).await.unwrap();
    sleep(SECOND).await;
    host.ask(Ask::Quarantine("stuck".into())).await.unwrap();
    sleep(100 * SECOND).await;
    assert_eq!((host.state("a"), scene.world.given_up()), (Quarantined, 0));
    assert_eq!(host.record("a").attempt, None);
}

/// S8, L8: a stop waits for a restart under way and records what came of it; the next host
/// goes on from there.
#[tokio::test(start_paused = true)]
async fn a_stop_waits_for_a_restart() {
    let (scene, host) = running(plain()).await;
    scene.world.habits("a", takes(4));
    host.ask(Ask::Restart).await.unwrap();
    sleep(SECOND).await;
    let stopped = Instant::now();
    assert_no_task_is_left(&host).await;
    assert!((3 * SECOND..4 * SECOND).contains(&stopped.elapsed()), "{:?}", stopped.elapsed());
    let stored = scene.shelf.record("a").unwrap();
    assert_eq!(stored.phase(), Some(AttemptPhase::Started));
    assert_eq!(scene.world.given_up(), 0);
    let next = scene.host().await;
    next.until("a", Running, 5 * SECOND).await;
    assert_eq!(scene.world.calls("a").len(), 1);
}

/// S8: a restart that hangs holds up a stop for ten seconds at most. It may have happened, so
/// it is not issued again.
#[tokio::test(start_paused = true)]
async fn a_stop_does_not_wait_for_ever() {
    let (scene, host) = running(plain()).await;
    scene.world.habits("a", hangs());
    host.ask(Ask::Restart).await.unwrap();
    sleep(SECOND).await;
    let stopped = Instant::now();
    assert_no_task_is_left(&host).await;
    assert!((10 * SECOND..11 * SECOND).contains(&stopped.elapsed()), "{:?}", stopped.elapsed());
    assert_eq!((scene.world.given_up(), scene.world.under_way()), (1, 0));
    let stored = scene.shelf.record("a").unwrap();
    assert_eq!(stored.phase(), Some(AttemptPhase::Issued));
    scene.world.revive("a");
    let next = scene.host().await;
    next.until("a", Running, 5 * SECOND).await;
    assert_eq!(scene.world.calls("a").len(), 1);
}

/// S8: to stop again, or twice at once, does nothing more; nothing is healed any more, and who
/// asks is told.
#[tokio::test(start_paused = true)]
async fn stopping_is_idempotent() {
    let (scene, host) = running(plain()).await;
    tokio::join!(host.healer.stop(), host.healer.stop());
    let stopped = Instant::now();
    assert_no_task_is_left(&host).await;
    assert!(stopped.elapsed() < millis(10));
    assert!(matches!(host.ask(Ask::Restart).await, Err(AskError::Gone(_))));
    scene.add("b", plain());
    host.sync().await.unwrap();
    assert_no_task_is_left(&host).await;
    scene.world.kill("a");
    sleep(100 * SECOND).await;
    assert_eq!((scene.world.calls("a").len(), host.state("a")), (0, Running));
}

/// S8: targets that are taken up while the host stops have no task.
#[tokio::test(start_paused = true)]
async fn a_sync_during_a_stop() {
    let (scene, host) = running(plain()).await;
    sleep(SECOND).await;
    scene.add("b", plain());
    let (synced, ()) = tokio::join!(host.sync(), host.healer.stop());
    synced.unwrap();
    assert_no_task_is_left(&host).await;
}

/// S8: a restart that waits is not issued by a host that stops.
#[tokio::test(start_paused = true)]
async fn a_stop_issues_nothing() {
    let (scene, host) = running(plain()).await;
    scene.kill(&host).await;
    scene.shelf.set_deaf(true);
    sleep(millis(5_500)).await;
    scene.shelf.set_deaf(false);
    assert_no_task_is_left(&host).await;
    sleep(10 * SECOND).await;
    assert_eq!(scene.world.calls("a").len(), 0);
    let next = scene.host().await;
    until(|| next.state("a") == Running, 10 * SECOND, String::new).await;
    assert_eq!(scene.world.calls("a").len(), 1);
}
