//! Restarts that do not help: their waits, and their end.

use std::time::Duration;

use probehost_model::lifecycle::{AttemptPhase, LifecycleState, Policy};
use tokio::time::sleep;

use crate::fakes::{Habits, SECOND, millis};
use crate::scene::{Host, Scene, close, plain, running, scene};
use LifecycleState::{Offline, Quarantined, Restarting, Running};

/// The waits from `offline` to `restarting`.
fn waits(scene: &Scene) -> Vec<Duration> {
    let history = scene.shelf.history("a");
    let pairs = history.windows(2);
    let waited = pairs.filter(|pair| (pair[0].1, pair[1].1) == (Offline, Restarting));
    waited.map(|pair| pair[1].0 - pair[0].0).collect()
}

#[track_caller]
fn assert_waits(scene: &Scene, seconds: &[u64]) {
    let waits = waits(scene);
    assert_eq!(waits.len(), seconds.len(), "{waits:?}");
    for (wait, should) in waits.iter().zip(seconds) {
        close(*wait, Duration::from_secs(*should));
    }
}

async fn crash_loop(policy: Policy, chance: fn() -> f64, habits: Habits) -> (Scene, Host) {
    let mut scene = scene();
    scene.chance = chance;
    scene.add("a", policy);
    let host = scene.host().await;
    host.until("a", Running, SECOND).await;
    scene.world.habits("a", habits);
    scene.kill(&host).await;
    host.until("a", Quarantined, 3600 * SECOND).await;
    (scene, host)
}

fn useless() -> Habits {
    Habits { live_in: None, ..Habits::default() }
}

/// L3, L5: a target that never comes up is restarted `max_restarts` times, each wait twice the
/// one before, and then no more.
#[tokio::test(start_paused = true)]
async fn a_crash_loop_ends_in_quarantine() {
    let (scene, host) = crash_loop(plain(), || 0.9, useless()).await;
    assert_waits(&scene, &[1, 2, 4, 8, 16]);
    assert_eq!(scene.world.calls("a").len(), 5);
    // Between two calls: the call, the start budget, the wait.
    let calls = scene.world.calls("a");
    for (pair, wait) in calls.windows(2).zip([2, 4, 8, 16]) {
        let should = useless().takes + (60 + wait) * SECOND;
        let between = pair[1] - pair[0];
        assert!(should <= between && between <= should + millis(20), "{between:?} {should:?}");
    }
    let tries = scene.shelf.tries();
    assert!(tries < 80, "{tries} saves for five restarts");
    sleep(Duration::from_hours(10)).await;
    assert_eq!((scene.world.calls("a").len(), host.state("a")), (5, Quarantined));
    assert_eq!(scene.shelf.tries(), tries);
    let message = host.record("a").message;
    assert_eq!(message, "5 restarts in a row did not hold: exited");
    let last = scene.shelf.audit("a").pop().unwrap();
    assert_eq!(last, format!("quarantine {message}"));
    assert_eq!(scene.shelf.issued("a"), [1, 2, 3, 4, 5]);
}

/// L3: a runtime that refuses counts at once; the same waits, the same end.
#[tokio::test(start_paused = true)]
async fn a_runtime_that_refuses_counts() {
    let habits = Habits { fails: Some("no such container"), ..Habits::default() };
    let (scene, host) = crash_loop(plain(), || 0.0, habits).await;
    assert_waits(&scene, &[1, 2, 4, 8, 16]);
    assert_eq!(scene.world.calls("a").len(), 5);
    let message = host.record("a").message;
    assert_eq!(message, "5 restarts in a row did not hold: no such container");
    assert!(
        scene.shelf.audit("a").contains(&"restart restart 5: failed: no such container".into())
    );
}

/// L3: no wait is longer than the cap.
#[tokio::test(start_paused = true)]
async fn the_cap_is_kept() {
    let policy = Policy { cap: 3 * SECOND, max_restarts: 6, ..plain() };
    let (scene, _host) = crash_loop(policy, || 1.0, useless()).await;
    assert_waits(&scene, &[1, 2, 3, 3, 3, 3]);
}

/// L3: jitter spreads each wait over [d, d × (1 + jitter)], and never over the cap.
#[tokio::test(start_paused = true)]
async fn jitter_spreads_the_waits() {
    let policy = Policy { jitter: 0.5, base: 2 * SECOND, ..plain() };
    let (scene, _host) = crash_loop(policy, || 1.0, useless()).await;
    assert_waits(&scene, &[3, 6, 12, 24, 48]);
    let (scene, _host) = crash_loop(policy, || 0.5, useless()).await;
    for (wait, should) in waits(&scene).into_iter().zip([2.5, 5.0, 10.0, 20.0, 40.0]) {
        close(wait, Duration::from_secs_f64(should));
    }
    fastrand::seed(11);
    let (scene, _host) = crash_loop(policy, fastrand::f64, useless()).await;
    let spread = waits(&scene);
    for (wait, d) in spread.iter().zip([2, 4, 8, 16, 32].map(|d| d * SECOND)) {
        assert!(d <= *wait && *wait <= d.mul_f64(1.5) + millis(6), "{spread:?}");
    }
    let capped = Policy { cap: 3 * SECOND, max_restarts: 4, ..policy };
    let (scene, _host) = crash_loop(capped, || 1.0, useless()).await;
    assert_waits(&scene, &[3, 3, 3, 3]);
}

/// L4: a target that becomes ready and dies again, each time before it has been up for
/// `healthy_reset`, climbs the backoff and ends in quarantine.
#[tokio::test(start_paused = true)]
async fn flapping_climbs_the_backoff() {
    let habits = Habits { lives: Some(30 * SECOND), ..Habits::default() };
    let (scene, _host) = crash_loop(plain(), || 0.0, habits).await;
    assert_waits(&scene, &[1, 2, 4, 8, 16]);
    assert_eq!(scene.world.calls("a").len(), 5);
    let ups = scene.shelf.states("a").iter().filter(|state| **state == Running).count();
    assert_eq!(ups, 6);
}

/// L4: after `healthy_reset` of uptime the next restart has the first wait again; a little less
/// forgets nothing.
#[tokio::test(start_paused = true)]
async fn sustained_uptime_forgets() {
    let up_for = |lives| Habits { lives: Some(lives), ..Habits::default() };
    let (scene, host) = running(plain()).await;
    scene.world.habits("a", up_for(585 * SECOND));
    scene.kill(&host).await;
    for _ in 0..2 {
        host.until("a", Running, 10 * SECOND).await;
        host.until("a", Offline, 600 * SECOND).await;
    }
    assert_eq!(host.record("a").failures, 2);
    scene.world.habits("a", up_for(615 * SECOND));
    for _ in 0..3 {
        host.until("a", Running, 10 * SECOND).await;
        sleep(590 * SECOND).await;
        assert_eq!(host.record("a").phase(), Some(AttemptPhase::Ready));
        sleep(11 * SECOND).await;
        let record = host.record("a");
        assert_eq!((record.failures, record.attempt, record.state), (0, None, Running));
        host.until("a", Offline, 30 * SECOND).await;
    }
    host.until("a", Running, 10 * SECOND).await;
    assert_waits(&scene, &[1, 2, 4, 1, 1, 1]);
}
