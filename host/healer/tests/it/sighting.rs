//! What of the checks' results the lifecycle goes by.

use probehost_model::lifecycle::{LifecycleState, Policy};
use probehost_model::{Managed, Runtime, Thresholds};
use tokio::time::sleep;

use crate::fakes::{Habits, SECOND, millis};
use crate::scene::{EVERY, Host, Scene, plain, running, scene};
use LifecycleState::{Offline, Restarting, Running, Unknown};

/// One whose checks want two results in a row.
async fn patient() -> (Scene, Host) {
    let scene = scene();
    scene.add("a", plain());
    scene.shelf.edit("a", |target| {
        let thresholds = Thresholds { failure: 2, inconclusive: 2 };
        target.checks.iter_mut().for_each(|check| check.thresholds = thresholds);
    });
    let host = scene.host().await;
    host.until("a", Running, SECOND).await;
    sleep(SECOND).await;
    (scene, host)
}

/// T4, L2: a failure below its threshold drains and restarts nothing.
#[tokio::test(start_paused = true)]
async fn below_its_threshold() {
    let (scene, host) = patient().await;
    scene.world.kill("a");
    sleep(EVERY).await;
    assert_eq!(host.state("a"), Running);
    scene.world.revive("a");
    sleep(EVERY).await;
    scene.world.kill("a");
    sleep(EVERY).await;
    assert_eq!((host.state("a"), scene.world.calls("a").len()), (Running, 0));
    sleep(EVERY).await;
    host.until("a", Running, 5 * SECOND).await;
    assert_eq!(scene.shelf.states("a"), [Running, Offline, Restarting, Running]);
}

/// T5: an inconclusive probe below its threshold leaves the lifecycle as it is, and one in the
/// middle of failures breaks no row of them.
#[tokio::test(start_paused = true)]
async fn one_look_into_the_fog() {
    let (scene, host) = patient().await;
    scene.world.fog(true);
    sleep(EVERY).await;
    assert_eq!(host.state("a"), Running);
    sleep(EVERY).await;
    assert_eq!(host.state("a"), Unknown);
    scene.world.fog(false);
    sleep(EVERY).await;
    assert_eq!(host.state("a"), Running);
    scene.world.kill("a");
    sleep(EVERY).await;
    scene.world.fog(true);
    sleep(EVERY).await;
    scene.world.fog(false);
    assert_eq!(host.state("a"), Running);
    sleep(EVERY).await;
    assert_eq!(scene.shelf.states("a")[..4], [Running, Unknown, Running, Offline]);
}

/// L5, T5: while it starts, a look into the fog is not taken for what was seen before.
#[tokio::test(start_paused = true)]
async fn fog_while_it_starts() {
    let (scene, host) = patient().await;
    scene.world.habits("a", Habits { ready_in: 30 * SECOND, ..Habits::default() });
    scene.world.kill("a");
    host.until("a", Restarting, 3 * EVERY).await;
    sleep(5 * SECOND).await;
    scene.world.fog(true);
    sleep(10 * SECOND).await;
    scene.world.fog(false);
    host.until("a", Running, 20 * SECOND).await;
    assert_eq!((scene.world.calls("a").len(), host.record("a").failures), (1, 0));
}

/// L2: what an old record says is wrong may long be right: nothing is restarted for it.
#[tokio::test(start_paused = true)]
async fn old_news_restart_nothing() {
    let scene = scene();
    scene.add("a", plain());
    scene.world.kill("a");
    scene.shelf.edit("a", |target| target.managed = None);
    let host = scene.host().await;
    sleep(EVERY + 3 * SECOND).await;
    scene.world.revive("a");
    let managed = Managed { runtime: Runtime::Container("a".into()), policy: plain() };
    scene.shelf.edit("a", |target| target.managed = Some(managed));
    host.sync().await.unwrap();
    host.until("a", Running, millis(50)).await;
    sleep(60 * SECOND).await;
    assert_eq!(scene.shelf.states("a"), [Running]);
    assert_eq!(scene.world.calls("a").len(), 0);
}

/// L8: a host that takes over one that runs waits for its own look.
#[tokio::test(start_paused = true)]
async fn taken_over_while_it_runs() {
    let (scene, host) = running(plain()).await;
    sleep(3 * SECOND).await;
    host.stop().await;
    let tries = scene.shelf.tries();
    sleep(600 * SECOND).await;
    let next = scene.host().await;
    assert_eq!(next.state("a"), Running);
    sleep(60 * SECOND).await;
    assert_eq!((scene.shelf.tries(), scene.shelf.states("a")), (tries, vec![Running]));
}

/// L8: a host that takes over one that waits for its restart keeps to that time; the last
/// success of a check that is down is no news.
#[tokio::test(start_paused = true)]
async fn taken_over_while_it_waits() {
    let scene = scene();
    scene.add("a", Policy { base: 100 * SECOND, ..plain() });
    let first = scene.host().await;
    first.until("a", Running, SECOND).await;
    sleep(3 * SECOND).await;
    scene.kill(&first).await;
    sleep(SECOND).await;
    let due = first.record("a").next_attempt_at.unwrap();
    first.crash();
    let next = scene.host().await;
    next.until("a", Restarting, 100 * SECOND).await;
    let decided = next.record("a").since.since(due);
    assert!(decided < millis(10), "{decided:?} late");
    next.until("a", Running, 5 * SECOND).await;
    assert_eq!(scene.shelf.states("a"), [Running, Offline, Restarting, Running]);
}
