//! A target goes down, and what the host makes of it by itself.

use std::time::Duration;

use probehost_model::SYSTEM_PRINCIPAL;
use probehost_model::lifecycle::{AttemptPhase, LifecycleState, Policy};
use tokio::time::sleep;

use crate::fakes::{Habits, SECOND, millis};
use crate::scene::{EVERY, close, plain, running, until};
use LifecycleState::{Offline, Restarting, Running, Unknown};

/// L2, L11, A1: killed, seen, restarted after the first wait, ready, in the pool again; each
/// step is in the history and in the audit.
#[tokio::test(start_paused = true)]
async fn a_killed_target_heals_by_itself() {
    let (scene, host) = running(plain()).await;
    sleep(3 * SECOND).await;
    let killed = scene.now();
    scene.kill(&host).await;
    host.until("a", Restarting, 2 * SECOND).await;
    host.until("a", Running, 5 * SECOND).await;
    // An interval until it is seen, the first wait, the restart itself, and the next look.
    assert!(scene.now() - killed <= EVERY + SECOND + SECOND + SECOND + millis(100));

    sleep(60 * SECOND).await;
    let history = scene.shelf.history("a");
    let states: Vec<_> = history.iter().map(|(_, state)| *state).collect();
    assert_eq!(states, [Running, Offline, Restarting, Running]);
    close(history[2].0 - history[1].0, SECOND);
    assert_eq!(
        scene.shelf.audit("a"),
        [
            "restart restart 1: decided: restart due",
            "restart restart 1: issued",
            "restart restart 1: ready",
        ]
    );
    let writes = scene.shelf.writes("a");
    assert!(writes.iter().all(|w| w.principal == SYSTEM_PRINCIPAL && w.trigger.is_none()));
    let revisions: Vec<_> = writes.iter().map(|write| write.record.revision).collect();
    assert_eq!(revisions, (1..=writes.len() as u64).collect::<Vec<_>>());
    assert_eq!(scene.shelf.pool_events("a"), [true, false, true]);
    assert_eq!(scene.world.calls("a").len(), 1);
    // L8: what others see is what is stored.
    let stored = scene.shelf.record("a").unwrap();
    assert_eq!((host.record("a").revision, stored.restarts), (stored.revision, 1));
}

/// L2: a target that comes back by itself before its restart is due is not restarted.
#[tokio::test(start_paused = true)]
async fn back_before_its_restart() {
    let (scene, host) = running(Policy { base: 30 * SECOND, ..plain() }).await;
    scene.kill(&host).await;
    scene.world.revive("a");
    host.until("a", Running, EVERY + SECOND).await;
    sleep(100 * SECOND).await;
    assert_eq!((scene.world.calls("a").len(), host.state("a")), (0, Running));
}

/// L5: ready just before the end of the start budget is in time, and at its end it is not.
#[tokio::test(start_paused = true)]
async fn a_slow_starter_has_its_budget() {
    let slow = |ready_in| Habits { ready_in, live_in: Some(SECOND), ..Habits::default() };
    let (scene, host) = running(plain()).await;
    scene.world.habits("a", slow(58 * SECOND));
    scene.kill(&host).await;
    host.until("a", Restarting, 2 * SECOND).await;
    host.until("a", Running, 62 * SECOND).await;
    let record = host.record("a");
    assert_eq!((record.failures, record.phase()), (0, Some(AttemptPhase::Ready)));
    assert_eq!(scene.world.calls("a").len(), 1);

    let (scene, host) = running(plain()).await;
    scene.world.habits("a", slow(62 * SECOND));
    scene.kill(&host).await;
    host.until("a", Restarting, 2 * SECOND).await;
    host.until("a", Offline, 62 * SECOND).await;
    assert_eq!(host.record("a").failures, 1);
    let audit = scene.shelf.audit("a");
    assert_eq!(audit.last().unwrap(), "restart restart 1: failed: not ready");
    // The budget runs from when the runtime is done.
    let history = scene.shelf.history("a");
    let [.., (decided, _), (failed, _)] = history[..] else { panic!("{history:?}") };
    close(failed - decided, 60 * SECOND + Habits::default().takes);
}

/// L5: while it starts it is probed every second, also when other results keep coming.
#[tokio::test(start_paused = true)]
async fn a_starting_target_is_looked_at_every_second() {
    let (scene, host) = running(plain()).await;
    scene.world.habits("a", Habits { ready_in: 40 * SECOND, ..Habits::default() });
    scene.kill(&host).await;
    host.until("a", Restarting, 2 * SECOND).await;
    sleep(SECOND).await;
    assert_eq!(host.record("a").phase(), Some(AttemptPhase::Started));
    let before = scene.world.probes("a", "ready").len();
    let stored = scene.shelf.targets().remove(0);
    let live = std::sync::Arc::new(crate::scene::seen(&stored).remove(0));
    for _ in 0..100 {
        probehost_healer::ports::Probing::probe(&host.eyes, live.clone());
        sleep(millis(300)).await;
    }
    let probes = scene.world.probes("a", "ready").len() - before;
    assert!((29..=35).contains(&probes), "{probes} in 30 s");
}

/// L11: readiness alone drains, and never restarts.
#[tokio::test(start_paused = true)]
async fn readiness_alone_never_restarts() {
    let (scene, host) = running(plain()).await;
    scene.world.unready("a");
    sleep(3600 * SECOND).await;
    assert_eq!((host.state("a"), scene.world.calls("a").len()), (Running, 0));
    assert_eq!(scene.shelf.pool_events("a"), [true, false]);
    scene.world.revive("a");
    sleep(EVERY + SECOND).await;
    assert_eq!(scene.shelf.pool_events("a"), [true, false, true]);
}

/// T5, L2: the engine is gone: unknown, and nothing is restarted; back: running.
#[tokio::test(start_paused = true)]
async fn what_cannot_be_seen_is_not_restarted() {
    let (scene, host) = running(plain()).await;
    scene.world.fog(true);
    host.until("a", Unknown, EVERY + SECOND).await;
    sleep(3600 * SECOND).await;
    assert_eq!((host.state("a"), scene.world.calls("a").len()), (Unknown, 0));
    scene.world.fog(false);
    host.until("a", Running, EVERY + SECOND).await;
    sleep(60 * SECOND).await;
    assert_eq!(scene.shelf.states("a"), [Running, Unknown, Running]);
    assert_eq!(scene.world.calls("a").len(), 0);
}

/// T5, L2: a restart that waits is dropped when nothing can be seen any more, and comes when
/// the target is seen again and still down.
#[tokio::test(start_paused = true)]
async fn a_waiting_restart_is_dropped_in_the_fog() {
    let (scene, host) = running(Policy { base: 15 * SECOND, ..plain() }).await;
    scene.kill(&host).await;
    scene.world.fog(true);
    host.until("a", Unknown, EVERY + SECOND).await;
    sleep(600 * SECOND).await;
    assert_eq!(scene.world.calls("a").len(), 0);
    scene.world.fog(false);
    host.until("a", Offline, EVERY + SECOND).await;
    host.until("a", Running, 20 * SECOND).await;
    assert_eq!(scene.shelf.states("a"), [Running, Offline, Unknown, Offline, Restarting, Running]);
    assert_eq!(scene.world.calls("a").len(), 1);
}

/// A2: a target that is well costs no writes and is not looked at more than its interval asks.
#[tokio::test(start_paused = true)]
async fn a_target_that_is_well_is_left_alone() {
    let (scene, host) = running(plain()).await;
    sleep(SECOND).await;
    let tries = scene.shelf.tries();
    sleep(Duration::from_hours(2)).await;
    assert_eq!(scene.shelf.tries(), tries);
    let probes = scene.world.probes("a", "live").len();
    assert!((718..=724).contains(&probes), "{probes} probes");
    until(|| host.state("a") == Running, SECOND, String::new).await;
}
