//! Targets that become managed, are changed, and are managed no more.

use probehost_healer::{Ask, AskError};
use probehost_model::lifecycle::{LifecycleState, Policy};
use probehost_model::{Managed, Role, Runtime};
use tokio::time::sleep;

use crate::fakes::{Habits, SECOND, millis};
use crate::scene::{Host, plain, running, scene, until};
use LifecycleState::{Offline, Quarantined, Restarting, Running, Unknown};

fn names(host: &Host) -> Vec<String> {
    host.healer.instances().iter().map(|instance| instance.target.clone()).collect()
}

/// L1, L8: a target that has just become managed is probed at once, and only what is seen from
/// then on counts.
#[tokio::test(start_paused = true)]
async fn newly_managed() {
    let scene = scene();
    scene.add("a", plain());
    scene.shelf.edit("a", |target| target.managed = None);
    let host = scene.host().await;
    sleep(3 * SECOND).await;
    assert_eq!(names(&host), Vec::<String>::new());
    assert!(matches!(host.ask(Ask::Restart).await, Err(AskError::NotManaged(_))));
    let managed = Managed { runtime: Runtime::Container("a".into()), policy: plain() };
    scene.shelf.edit("a", |target| target.managed = Some(managed));
    host.sync().await.unwrap();
    assert_eq!((host.state("a"), names(&host)), (Unknown, vec!["a".to_owned()]));
    host.until("a", Running, millis(50)).await;
}

/// L9: a target that is not managed any more is let go: no restart, a call under way is given
/// up, and nothing of it is shown.
#[tokio::test(start_paused = true)]
async fn no_longer_managed() {
    let (scene, host) = running(plain()).await;
    scene.add("b", plain());
    host.sync().await.unwrap();
    scene.world.habits("a", Habits { hangs: true, ..Habits::default() });
    host.ask(Ask::Restart).await.unwrap();
    sleep(SECOND).await;
    assert_eq!(scene.world.under_way(), 1);
    scene.shelf.edit("a", |target| target.managed = None);
    host.sync().await.unwrap();
    assert_eq!(names(&host), ["b"]);
    sleep(millis(1)).await;
    assert_eq!((scene.world.under_way(), scene.world.given_up()), (0, 1));
    let tries = scene.shelf.tries();
    sleep(600 * SECOND).await;
    assert_eq!((names(&host), scene.shelf.tries()), (vec!["b".to_owned()], tries));
    assert!(matches!(host.ask(Ask::Restart).await, Err(AskError::NotManaged(_))));
    assert_eq!(scene.world.calls("a").len(), 1);
}

/// L9: restarted in another way, a target starts anew, and what is issued goes the new way.
#[tokio::test(start_paused = true)]
async fn another_runtime() {
    let (scene, host) = running(Policy { base: 5 * SECOND, ..plain() }).await;
    scene.world.add("other");
    scene.kill(&host).await;
    scene.shelf.edit("a", |target| {
        target.managed.as_mut().unwrap().runtime = Runtime::Command("other".into());
    });
    host.sync().await.unwrap();
    let record = host.record("a");
    assert_eq!((record.state, record.attempts), (Unknown, 0));
    until(|| scene.world.calls("other").len() == 1, 20 * SECOND, String::new).await;
    assert_eq!(scene.world.calls("a").len(), 0);
    scene.world.revive("a");
    host.until("a", Running, 3 * SECOND).await;
}

/// L10: another policy counts from now on, and the target keeps its state and its count.
#[tokio::test(start_paused = true)]
async fn another_policy() {
    let (scene, host) = running(plain()).await;
    scene.world.habits("a", Habits { live_in: None, ..Habits::default() });
    scene.kill(&host).await;
    until(|| host.record("a").failures == 2, 200 * SECOND, String::new).await;
    let before = host.record("a");
    scene.shelf.edit("a", |target| target.managed.as_mut().unwrap().policy.max_restarts = 3);
    host.sync().await.unwrap();
    sleep(millis(5)).await;
    assert_eq!(host.record("a"), before);
    let policy = host.healer.instance("a").unwrap().managed.policy;
    assert_eq!(policy.max_restarts, 3);
    host.until("a", Quarantined, 200 * SECOND).await;
    assert_eq!(scene.world.calls("a").len(), 3);
}

/// L3, L10: a shorter cap holds for a wait that has begun.
#[tokio::test(start_paused = true)]
async fn a_shorter_cap_shortens_the_wait() {
    let (scene, host) = running(Policy { base: 300 * SECOND, ..plain() }).await;
    scene.kill(&host).await;
    scene.shelf.edit("a", |target| {
        let policy = &mut target.managed.as_mut().unwrap().policy;
        (policy.base, policy.cap) = (SECOND, 10 * SECOND);
    });
    host.sync().await.unwrap();
    host.until("a", Running, 70 * SECOND).await;
}

/// L2: what a check says counts by the role that it has now, without waiting for its next probe.
#[tokio::test(start_paused = true)]
async fn another_role() {
    let scene = scene();
    scene.add("a", Policy { base: 5 * SECOND, ..plain() });
    scene.shelf.edit("a", |target| target.checks[1].role = Role::Liveness);
    let host = scene.host().await;
    host.until("a", Running, SECOND).await;
    scene.world.unready("a");
    host.until("a", Offline, 11 * SECOND).await;
    scene.shelf.edit("a", |target| target.checks[1].role = Role::Readiness);
    host.sync().await.unwrap();
    host.until("a", Running, millis(50)).await;
    sleep(60 * SECOND).await;
    assert_eq!(scene.world.calls("a").len(), 0);
}

/// L8: a sync without news changes nothing, however often it comes.
#[tokio::test(start_paused = true)]
async fn nothing_new() {
    let (scene, host) = running(plain()).await;
    sleep(SECOND).await;
    let (tries, record) = (scene.shelf.tries(), host.record("a"));
    for _ in 0..100 {
        host.sync().await.unwrap();
    }
    sleep(millis(5)).await;
    assert_eq!((scene.shelf.tries(), host.record("a")), (tries, record));
}

/// R7: a sync that can't read the records changes nothing, and the next one does it all.
#[tokio::test(start_paused = true)]
async fn a_sync_in_an_outage() {
    let (scene, host) = running(plain()).await;
    scene.world.add("other");
    scene.add("b", plain());
    scene.shelf.edit("a", |target| {
        target.managed.as_mut().unwrap().runtime = Runtime::Container("other".into());
    });
    scene.shelf.set_deaf(true);
    host.sync().await.unwrap_err();
    assert_eq!((names(&host), host.state("a")), (vec!["a".to_owned()], Running));
    scene.shelf.set_deaf(false);
    host.sync().await.unwrap();
    assert_eq!(names(&host), ["a", "b"]);
    host.until("b", Running, SECOND).await;
    let runtime = host.healer.instance("a").unwrap().managed.runtime.clone();
    assert_eq!(runtime, Runtime::Container("other".into()));
}

/// L11: a target that turns out to be deleted is shown no more, also before the next sync.
#[tokio::test(start_paused = true)]
async fn deleted_behind_its_back() {
    let (scene, host) = running(plain()).await;
    host.ask(Ask::Restart).await.unwrap();
    host.until("a", Restarting, SECOND).await;
    scene.shelf.delete("a");
    sleep(2 * SECOND).await;
    assert_eq!(names(&host), Vec::<String>::new());
    assert!(host.healer.pool(SECOND).members.is_empty());
    assert!(matches!(host.ask(Ask::Restart).await, Err(AskError::Gone(_))));
    host.sync().await.unwrap();
    assert!(matches!(host.ask(Ask::Restart).await, Err(AskError::NotManaged(_))));
}
