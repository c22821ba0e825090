//! Many targets, of which many fail at once.

use std::time::Duration;

use probehost_model::lifecycle::{LifecycleState, Policy};
use tokio::time::sleep;

use crate::fakes::{Habits, SECOND, millis};
use crate::scene::{EVERY, plain, scene, until};
use LifecycleState::{Offline, Restarting, Running};

const ALL: usize = 1_000;
const FAILING: usize = 100;

fn name(number: usize) -> String {
    format!("t{number:04}")
}

/// L3, S4: a hundred of a thousand targets fail at once: each is restarted once, after its own
/// wait, spread by the jitter; the others are left alone.
#[tokio::test(start_paused = true)]
async fn a_hundred_fail_at_once() {
    fastrand::seed(3);
    let mut scene = scene();
    scene.chance = fastrand::f64;
    let policy = Policy { base: 2 * SECOND, jitter: 1.0, ..plain() };
    (0..ALL).for_each(|number| scene.add(&name(number), policy));
    let host = scene.host().await;
    let well = || host.healer.instances().iter().all(|all| all.record.state == Running);
    until(well, 2 * SECOND, || "not all are running".to_owned()).await;
    sleep(SECOND).await;
    let before = scene.shelf.tries();
    (0..FAILING).for_each(|number| scene.world.kill(&name(number)));
    sleep(EVERY + SECOND).await;
    until(well, 10 * SECOND, || "not all are healed".to_owned()).await;
    sleep(600 * SECOND).await;
    assert!(well());

    assert_eq!(scene.world.all_calls(), FAILING);
    let mut starts = Vec::new();
    for number in 0..FAILING {
        let name = name(number);
        let history = scene.shelf.history(&name);
        let states: Vec<_> = history.iter().map(|(_, state)| *state).collect();
        assert_eq!(states, [Running, Offline, Restarting, Running]);
        let wait = history[2].0 - history[1].0;
        assert!(2 * SECOND <= wait && wait <= 4 * SECOND + millis(6), "{wait:?}");
        starts.extend(scene.world.calls(&name));
    }
    starts.sort();
    let tenth = |at: &Duration| at.as_millis() / 200;
    let crowd = starts.chunk_by(|one, other| tenth(one) == tenth(other)).map(<[_]>::len).max();
    assert!(crowd.unwrap() <= 25, "{crowd:?} of {FAILING} restarts in a tenth of the spread");
    for number in FAILING..ALL {
        assert_eq!(scene.shelf.states(&name(number)), [Running]);
    }
    // Each heal has its steps, and those that are well have none.
    let saves = scene.shelf.tries() - before;
    assert!(saves <= FAILING * 12, "{saves} saves");
    host.stop().await;
}

/// L8: a host that comes back to a hundred overdue restarts doesn't issue them in one moment,
/// and restarts none that has come back meanwhile.
#[tokio::test(start_paused = true)]
async fn overdue_restarts_are_spread() {
    fastrand::seed(4);
    let mut scene = scene();
    scene.chance = fastrand::f64;
    let policy = Policy { base: 20 * SECOND, jitter: 1.0, ..plain() };
    (0..FAILING).for_each(|number| scene.add(&name(number), policy));
    let host = scene.host().await;
    sleep(SECOND).await;
    for number in 0..FAILING {
        scene.world.habits(&name(number), Habits { takes: 2 * SECOND, ..Habits::default() });
        scene.world.kill(&name(number));
    }
    let down = || host.healer.instances().iter().all(|all| all.record.state == Offline);
    until(down, EVERY + SECOND, || "not all are offline".to_owned()).await;
    host.crash();
    sleep(3600 * SECOND).await;
    (0..FAILING / 2).for_each(|number| scene.world.revive(&name(number)));
    let host = scene.host().await;
    let well = || host.healer.instances().iter().all(|all| all.record.state == Running);
    until(well, 60 * SECOND, || "not all are running".to_owned()).await;
    sleep(60 * SECOND).await;
    assert_eq!(scene.world.all_calls(), FAILING / 2);
    let calls = |number| scene.world.calls(&name(number));
    assert!((0..FAILING / 2).all(|number| calls(number).is_empty()));
    let mut starts: Vec<_> = (FAILING / 2..FAILING).flat_map(calls).collect();
    starts.sort();
    assert!(starts[starts.len() - 1] - starts[0] > 10 * SECOND, "{starts:?}");
}
