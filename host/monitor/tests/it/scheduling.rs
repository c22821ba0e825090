//! When probes run, on a clock that the test drives.

use std::collections::HashSet;
use std::time::Duration;

use probehost_model::{Outcome, Timestamp};
use probehost_monitor::{REFRESH, Schedule};
use tokio::time::sleep;

use crate::fakes::{BASE, Logged, Part, SECOND, Scene, Shelf, Stage, check, pass, scene};

fn schedule(scene: &Scene) -> Schedule<Stage, Shelf, Shelf> {
    Schedule::new(scene.monitor.clone(), scene.shelf.clone())
}

/// S1, S2: checks without a record are probed at once by ascending id, then keep their cadence,
/// spread over the interval.
#[tokio::test(start_paused = true)]
async fn a_fresh_start() {
    let scene = scene(64);
    let names: Vec<String> = (0..40).map(|number| format!("t{number:02}")).collect();
    for name in &names {
        scene.stage.plays(name, pass());
    }
    scene.shelf.list(names.iter().rev().map(|name| check(name, 60 * SECOND)).collect());
    let schedule = schedule(&scene);
    schedule.start().await;
    sleep(Duration::from_millis(10)).await;
    assert_eq!(scene.stage.began(), names);
    sleep(600 * SECOND).await;
    let mut moments = HashSet::new();
    for name in &names {
        let times = scene.stage.times(name);
        assert!((10..=11).contains(&times.len()), "{name}: {times:?}");
        let gaps: Vec<Duration> = times.windows(2).map(|pair| pair[1] - pair[0]).collect();
        assert!(gaps[0] >= 30 * SECOND && gaps[0] <= 90 * SECOND, "{name}: {gaps:?}");
        let steady = |gap: &Duration| gap.abs_diff(60 * SECOND) < Duration::from_millis(5);
        assert!(gaps[1..].iter().all(steady), "{name}: {gaps:?}");
        moments.insert(times[1].as_millis());
    }
    assert!(moments.len() >= 39, "equal intervals fire together: {moments:?}");
    schedule.stop().await;
    scene.monitor.stop().await;
}

/// S1: after a restart, a recent record is not probed at once; an old one is.
#[tokio::test(start_paused = true)]
async fn a_restart_keeps_phases() {
    let scene = scene(64);
    let aged = |name: &str, age: i64| {
        scene.stage.plays(name, pass());
        let mut seen = check(name, 60 * SECOND);
        let last = BASE.as_micros() - age * 1_000_000;
        seen.last_attempt_at = Some(Timestamp::from_micros(last));
        seen
    };
    scene.shelf.list(vec![aged("old", 61), aged("recent", 20)]);
    let schedule = schedule(&scene);
    schedule.start().await;
    sleep(Duration::from_millis(10)).await;
    assert_eq!(scene.stage.began(), ["old"]);
    sleep(60 * SECOND).await;
    assert_eq!(scene.stage.times("recent").len(), 1);
    schedule.stop().await;
}

/// S6, S7: interval 0 turns scheduled probing off, and a probe by hand still works.
#[tokio::test(start_paused = true)]
async fn off_is_off() {
    let scene = scene(64);
    scene.stage.plays("off", pass());
    let mut off = check("off", SECOND);
    off.interval = None;
    scene.shelf.list(vec![off]);
    let schedule = schedule(&scene);
    schedule.start().await;
    sleep(3600 * SECOND).await;
    assert!(scene.stage.began().is_empty());
    scene.by_hand("off").await;
    assert_eq!(scene.stage.began(), ["off"]);
    schedule.stop().await;
}

/// S3: a probe longer than its interval makes the next one skip, and never two at once.
#[tokio::test(start_paused = true)]
async fn a_slow_check_skips() {
    let scene = scene(64);
    scene.stage.plays("slow", Part::Answer(7 * SECOND, Outcome::Pass));
    scene.shelf.list(vec![check("slow", 5 * SECOND)]);
    let schedule = schedule(&scene);
    schedule.start().await;
    sleep(100 * SECOND).await;
    assert_eq!(scene.stage.most(), 1);
    assert!(scene.metrics.skipped() >= 8, "{}", scene.metrics.skipped());
    assert!(scene.stage.began().len() >= 9, "{}", scene.stage.began().len());
    schedule.stop().await;
}

/// S9: a list that can't be read drops that cycle with a warning; probing goes on as before.
#[tokio::test(start_paused = true)]
async fn a_failed_list_drops_the_cycle() {
    let scene = scene(64);
    scene.stage.plays("web", pass());
    scene.shelf.list(vec![check("web", 60 * SECOND)]);
    let schedule = schedule(&scene);
    schedule.start().await;
    sleep(SECOND).await;
    let logged = Logged::start();
    scene.shelf.set_down(true);
    let before = scene.stage.began().len();
    sleep(REFRESH).await;
    let warning = "WARN the checks could not be listed; going on with the list as it was";
    assert!(logged.take().iter().any(|line| line == warning));
    sleep(120 * SECOND).await;
    assert!(scene.stage.began().len() > before);
    schedule.stop().await;
}

/// S1: where nothing has changed, the checks stay on their cadence over every look at the list.
#[tokio::test(start_paused = true)]
async fn an_unchanged_list_goes_on() {
    let scene = scene(64);
    scene.stage.plays("web", pass());
    scene.shelf.list(vec![check("web", 10 * SECOND)]);
    let schedule = schedule(&scene);
    schedule.start().await;
    sleep(SECOND).await;
    scene.shelf.set_unchanged();
    sleep(4 * REFRESH).await;
    let runs = scene.stage.times("web").len();
    assert!((12..=13).contains(&runs), "{runs}");
    schedule.stop().await;
}

/// S1: a change is taken up at once, and a slow list delays no probe.
#[tokio::test(start_paused = true)]
async fn a_change_is_taken_up() {
    let scene = scene(64);
    scene.stage.plays("a", pass());
    scene.stage.plays("b", pass());
    scene.shelf.list(vec![check("a", 5 * SECOND)]);
    let schedule = schedule(&scene);
    schedule.start().await;
    sleep(SECOND).await;
    assert_eq!(scene.stage.began(), ["a"]);
    scene.shelf.set_slow_list(20 * SECOND);
    scene.shelf.list(vec![check("a", 5 * SECOND), check("b", 5 * SECOND)]);
    schedule.changed();
    sleep(19 * SECOND).await;
    assert!(scene.stage.times("a").len() >= 3, "dispatch waited for the list");
    assert!(scene.stage.times("b").is_empty());
    sleep(2 * SECOND).await;
    assert_eq!(scene.stage.times("b").len(), 1);
    schedule.stop().await;
}
