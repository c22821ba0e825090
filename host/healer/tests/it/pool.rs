//! What routers are told.

use probehost_healer::Ask;
use probehost_model::lifecycle::{LifecycleState, Policy};
use tokio::time::sleep;

use crate::fakes::SECOND;
use crate::scene::{EVERY, Host, plain, scene};
use LifecycleState::{Offline, Quarantined, Running, Unknown};

fn members(host: &Host) -> Vec<(String, bool, LifecycleState)> {
    let snapshot = host.healer.pool(30 * SECOND);
    snapshot.members.into_iter().map(|m| (m.target, m.poolable, m.state)).collect()
}

fn member(id: &str, poolable: bool, state: LifecycleState) -> (String, bool, LifecycleState) {
    (id.to_owned(), poolable, state)
}

/// L11: the snapshot has every managed target that is enabled, in order, and says how long it
/// counts; only what is running and ready may be sent work.
#[tokio::test(start_paused = true)]
async fn who_may_be_sent_work() {
    let scene = scene();
    let patient = Policy { base: 300 * SECOND, ..plain() };
    ["c", "a", "e", "d", "b", "f"].into_iter().for_each(|id| scene.add(id, patient));
    scene.shelf.edit("e", |target| target.enabled = false);
    scene.shelf.edit("f", |target| target.managed = None);
    let host = scene.host().await;
    let unknown = ["a", "b", "c", "d"].map(|id| member(id, false, Unknown));
    assert_eq!(members(&host), unknown);
    sleep(SECOND).await;
    assert_eq!(members(&host), ["a", "b", "c", "d"].map(|id| member(id, true, Running)));

    scene.world.kill("b");
    scene.world.unready("c");
    host.healer.ask("d", Ask::Quarantine(String::new()), "alice").await.unwrap();
    assert!(members(&host).contains(&member("d", false, Quarantined)));
    sleep(EVERY).await;
    let expected = [
        member("a", true, Running),
        member("b", false, Offline),
        member("c", false, Running),
        member("d", false, Quarantined),
    ];
    assert_eq!(members(&host), expected);
    let snapshot = host.healer.pool(30 * SECOND);
    assert_eq!(snapshot.at, scene.clock.now());
    assert_eq!(snapshot.expires_at.since(snapshot.at), 30 * SECOND);

    let ids: Vec<_> = host.healer.instances().iter().map(|all| all.target.clone()).collect();
    assert_eq!(ids, ["a", "b", "c", "d", "e"]);
    assert_eq!(scene.shelf.pool_events("c"), [true, false]);
}

/// L11: a target that is disabled is no member, and is one again when it is enabled.
#[tokio::test(start_paused = true)]
async fn a_disabled_target_is_no_member() {
    let scene = scene();
    scene.add("a", plain());
    let host = scene.host().await;
    sleep(SECOND).await;
    assert_eq!(members(&host), [member("a", true, Running)]);
    scene.shelf.edit("a", |target| target.enabled = false);
    host.sync().await.unwrap();
    sleep(SECOND).await;
    assert_eq!(members(&host), []);
    scene.shelf.edit("a", |target| target.enabled = true);
    host.sync().await.unwrap();
    sleep(SECOND).await;
    assert_eq!(members(&host), [member("a", true, Running)]);
}
