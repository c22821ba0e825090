//! Targets that are disabled: not probed, and so not healed.

use probehost_healer::{Ask, AskError};
use probehost_model::lifecycle::{AttemptPhase, Event, LifecycleState, Policy, step};
use tokio::time::sleep;

use crate::fakes::{Habits, SECOND, millis};
use crate::scene::{Host, Scene, plain, running, scene};
use LifecycleState::{Offline, Restarting, Running};

async fn enable(scene: &Scene, host: &Host, enabled: bool) {
    scene.shelf.edit("a", |target| target.enabled = enabled);
    host.sync().await.unwrap();
    sleep(millis(2)).await;
}

/// S2, L2: nothing happens to a target while it is disabled, and what it asks for is refused.
#[tokio::test(start_paused = true)]
async fn nothing_happens_while_disabled() {
    let (scene, host) = running(Policy { base: 5 * SECOND, ..plain() }).await;
    scene.kill(&host).await;
    sleep(SECOND).await;
    enable(&scene, &host, false).await;
    let (tries, record) = (scene.shelf.tries(), host.record("a"));
    sleep(3600 * SECOND).await;
    assert_eq!(scene.world.calls("a").len(), 0);
    assert_eq!((scene.shelf.tries(), host.record("a")), (tries, record));
    let instance = host.healer.instance("a").unwrap();
    assert!(!instance.enabled);
    for ask in [Ask::Restart, Ask::Quarantine(String::new()), Ask::UpdateBegin] {
        let error = host.ask(ask).await.unwrap_err();
        assert!(matches!(error, AskError::Disabled(_)));
        assert_eq!(error.to_string(), "the target \"a\" is disabled; enable it first");
    }
    // Enabled again: its restart is overdue, and waits once more.
    enable(&scene, &host, true).await;
    assert_eq!(host.state("a"), Offline);
    host.until("a", Restarting, 6 * SECOND).await;
    host.until("a", Running, 5 * SECOND).await;
    assert_eq!(scene.world.calls("a").len(), 1);
}

/// L2: one that is well again when it is enabled is not restarted.
#[tokio::test(start_paused = true)]
async fn well_when_enabled_again() {
    let (scene, host) = running(plain()).await;
    scene.kill(&host).await;
    enable(&scene, &host, false).await;
    scene.world.revive("a");
    sleep(600 * SECOND).await;
    enable(&scene, &host, true).await;
    host.until("a", Running, SECOND).await;
    sleep(60 * SECOND).await;
    assert_eq!(scene.world.calls("a").len(), 0);
}

/// L8: a restart under way when the target is disabled is finished, and judged when it is
/// enabled again.
#[tokio::test(start_paused = true)]
async fn disabled_during_a_restart() {
    let (scene, host) = running(plain()).await;
    scene.world.habits("a", Habits { takes: 10 * SECOND, ..Habits::default() });
    host.ask(Ask::Restart).await.unwrap();
    sleep(SECOND).await;
    enable(&scene, &host, false).await;
    sleep(600 * SECOND).await;
    assert_eq!(host.record("a").phase(), Some(AttemptPhase::Started));
    enable(&scene, &host, true).await;
    host.until("a", Running, 3 * SECOND).await;
    assert_eq!(scene.world.calls("a").len(), 1);
}

/// L8: a host that starts with a disabled target whose restart was decided leaves it alone,
/// and issues it once the target is enabled.
#[tokio::test(start_paused = true)]
async fn decided_and_disabled_when_the_host_starts() {
    let scene = scene();
    scene.add("a", plain());
    let first = scene.host().await;
    first.until("a", Running, SECOND).await;
    scene.world.kill("a");
    first.crash();
    let record = scene.shelf.record("a").unwrap();
    let now = scene.clock.now();
    let decided = step(&record, &Event::OperatorRestart, &plain(), now, 0.0).unwrap().record;
    scene.shelf.plant("a", decided);
    scene.shelf.edit("a", |target| target.enabled = false);
    let host = scene.host().await;
    sleep(600 * SECOND).await;
    assert_eq!((host.state("a"), scene.world.calls("a").len()), (Restarting, 0));
    enable(&scene, &host, true).await;
    host.until("a", Running, 5 * SECOND).await;
    assert_eq!(scene.shelf.issued("a"), [1]);
}

/// R7: a restart that was due in an outage does not come when the target has been disabled
/// meanwhile.
#[tokio::test(start_paused = true)]
async fn disabled_in_an_outage() {
    let (scene, host) = running(plain()).await;
    scene.kill(&host).await;
    scene.shelf.set_deaf(true);
    sleep(30 * SECOND).await;
    enable(&scene, &host, false).await;
    scene.shelf.set_deaf(false);
    sleep(600 * SECOND).await;
    assert_eq!((host.state("a"), scene.world.calls("a").len()), (Offline, 0));
    enable(&scene, &host, true).await;
    host.until("a", Running, 5 * SECOND).await;
}
