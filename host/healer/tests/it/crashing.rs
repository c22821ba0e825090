//! Hosts that die at any point of a heal, and two hosts at one target.

use std::collections::HashSet;
use std::time::Duration;

use probehost_model::lifecycle::{LifecycleState, Policy};
use tokio::time::sleep;

use crate::fakes::{Habits, SECOND, millis};
use crate::scene::{EVERY, Scene, plain, scene, until};
use crate::shelf::Death;
use LifecycleState::{Offline, Quarantined, Restarting, Running};

/// L8: no number is issued twice, and there is no call without a number of its own.
#[track_caller]
fn assert_once_each(scene: &Scene, what: &str) {
    let issued = scene.shelf.issued("a");
    let numbers: HashSet<_> = issued.iter().collect();
    assert_eq!(numbers.len(), issued.len(), "{what}: {issued:?}");
    let calls = scene.world.calls("a").len();
    assert!(calls <= issued.len(), "{what}: {calls} calls for {issued:?}");
}

/// A heal in which the host dies; another takes over after `away`. Gives whether it came to
/// the death.
async fn heal(death: Death, away: Duration, habits: Habits) -> bool {
    let what = format!("{death:?}, away {away:?}");
    let scene = scene();
    scene.add("a", plain());
    scene.world.habits("a", habits);
    let first = scene.host_that(Some(death)).await;
    sleep(3 * SECOND).await;
    scene.world.kill("a");
    let healed = |host: &crate::scene::Host| {
        scene.world.is_live("a")
            && host.state("a") == Running
            && host.healer.pool(SECOND).members[0].poolable
    };
    until(|| first.life.is_over() || healed(&first), 300 * SECOND, || what.clone()).await;
    if !first.life.is_over() {
        assert_once_each(&scene, &what);
        return false;
    }
    first.crash();
    sleep(away).await;
    let second = scene.host().await;
    until(|| healed(&second), 200 * SECOND, || format!("{what}: {:#?}", second.record("a"))).await;
    sleep(900 * SECOND).await;
    assert!(healed(&second), "{what}");
    assert_once_each(&scene, &what);
    // The history has no gaps, and no number was lost.
    let states = scene.shelf.states("a");
    assert_eq!(states.last(), Some(&Running), "{what}");
    let record = scene.shelf.record("a").unwrap();
    assert_eq!(record.restarts, scene.shelf.issued("a").len() as u64, "{what}");
    assert_eq!((record.failures, record.attempt), (0, None), "{what}: settled");
    second.stop().await;
    true
}

/// Dies at each save of a heal, before it lands and after. Gives how many saves it has.
async fn die_everywhere(away: Duration, habits: impl Fn() -> Habits) -> usize {
    for number in 1..100 {
        let before = heal(Death::Before(number), away, habits()).await;
        let after = heal(Death::After(number), away, habits()).await;
        if !before && !after {
            return number - 1;
        }
    }
    panic!("no end of saves");
}

/// L8: wherever the host dies, the next one goes on, and the target ends up running.
#[tokio::test(start_paused = true)]
async fn a_host_that_dies_anywhere() {
    for away in [Duration::ZERO, 5 * SECOND, 500 * SECOND] {
        let saves = die_everywhere(away, Habits::default).await;
        assert!(saves >= 7, "{saves} saves");
    }
}

/// L8: the same when the call takes long, so that it outlives the host.
#[tokio::test(start_paused = true)]
async fn a_host_that_dies_around_a_long_call() {
    let long = || Habits { takes: 20 * SECOND, ..Habits::default() };
    for away in [Duration::ZERO, 10 * SECOND] {
        let saves = die_everywhere(away, long).await;
        assert!(saves >= 7, "{saves} saves");
    }
}

/// L8: a crash between the mark and the call costs a start budget, and not a second call.
#[tokio::test(start_paused = true)]
async fn marked_and_never_called() {
    let scene = scene();
    scene.add("a", plain());
    let first = scene.host().await;
    first.until("a", Running, SECOND).await;
    scene.kill(&first).await;
    first.crash();
    let decided = {
        // As that host would have left it.
        use probehost_model::lifecycle::{Event, step};
        let record = scene.shelf.record("a").unwrap();
        let due = record.next_attempt_at.unwrap();
        let record = step(&record, &Event::Tick, &plain(), due, 0.0).unwrap().record;
        step(&record, &Event::Issue { attempt: 1 }, &plain(), due, 0.0).unwrap().record
    };
    scene.shelf.plant("a", decided);
    sleep(30 * SECOND).await;
    let second = scene.host().await;
    sleep(55 * SECOND).await;
    assert_eq!((second.state("a"), scene.world.calls("a").len()), (Restarting, 0));
    second.until("a", Offline, 10 * SECOND).await;
    second.until("a", Running, 10 * SECOND).await;
    assert_eq!(scene.shelf.issued("a"), [2]);
}

/// L3, L8: a time that a host left whose clock ran ahead holds up a restart for a minute at most.
#[tokio::test(start_paused = true)]
async fn a_clock_that_ran_ahead() {
    let scene = scene();
    scene.add("a", plain());
    let first = scene.host().await;
    first.until("a", Running, SECOND).await;
    scene.kill(&first).await;
    first.crash();
    let mut record = scene.shelf.record("a").unwrap();
    record.next_attempt_at = Some(scene.clock.now().plus(Duration::from_hours(24)));
    scene.shelf.plant("a", record);
    let second = scene.host().await;
    second.until("a", Running, 70 * SECOND).await;
    assert_eq!(scene.world.calls("a").len(), 1);
}

/// L8: two hosts on one store: each attempt is issued by one of them.
#[tokio::test(start_paused = true)]
async fn two_hosts_restart_once() {
    for lead in [Duration::ZERO, millis(1), millis(4), 3 * SECOND] {
        let scene = scene();
        scene.add("a", plain());
        let one = scene.host().await;
        sleep(lead).await;
        let other = scene.host().await;
        sleep(3 * SECOND).await;
        scene.world.kill("a");
        let up = || scene.shelf.record("a").unwrap().state == Running && scene.world.is_live("a");
        until(up, 100 * SECOND, || format!("{:#?}", scene.shelf.record("a"))).await;
        sleep(900 * SECOND).await;
        assert_once_each(&scene, "two hosts");
        assert_eq!(scene.world.calls("a").len(), 1, "lead {lead:?}");
        assert_eq!(scene.shelf.states("a"), [Running, Offline, Restarting, Running]);
        one.stop().await;
        other.stop().await;
    }
}

/// L3, L8: two hosts and a crash loop: as many restarts as for one.
#[tokio::test(start_paused = true)]
async fn two_hosts_count_together() {
    fastrand::seed(5);
    let mut scene = scene();
    scene.chance = fastrand::f64;
    scene.add("a", Policy { jitter: 0.5, ..plain() });
    scene.world.habits("a", Habits { live_in: None, ..Habits::default() });
    let one = scene.host().await;
    sleep(3 * SECOND).await;
    let other = scene.host().await;
    scene.world.kill("a");
    let gone = || scene.shelf.record("a").unwrap().state == Quarantined;
    until(gone, 3600 * SECOND, || format!("{:#?}", scene.shelf.record("a"))).await;
    sleep(3600 * SECOND).await;
    assert_eq!(scene.world.calls("a").len(), 5);
    assert_eq!(scene.shelf.issued("a"), [1, 2, 3, 4, 5]);
    let tries = scene.shelf.tries();
    assert!(tries < 200, "{tries} saves");
    one.stop().await;
    other.stop().await;
}

/// L8: one of two hosts dies during its call, and the other goes on.
#[tokio::test(start_paused = true)]
async fn the_other_host_goes_on() {
    let scene = scene();
    scene.add("a", plain());
    scene.world.habits("a", Habits { takes: 20 * SECOND, ..Habits::default() });
    let one = scene.host().await;
    sleep(3 * SECOND).await;
    let other = scene.host().await;
    sleep(SECOND).await;
    scene.world.kill("a");
    let called = || scene.world.calls("a").len() == 1;
    until(called, EVERY + 2 * SECOND, String::new).await;
    one.crash();
    other.until("a", Running, 120 * SECOND).await;
    sleep(900 * SECOND).await;
    assert_eq!((other.state("a"), scene.world.calls("a").len()), (Running, 1));
    assert_once_each(&scene, "the other host");
}
