//! Start and stop: idempotent, nothing left, nothing written by what was cancelled.

use std::sync::Arc;
use std::time::Duration;

use probehost_model::{Outcome, Status};
use probehost_monitor::{Launch, ProbeError, Schedule};
use tokio::runtime::Handle;
use tokio::time::{Instant, sleep};

use crate::fakes::{Logged, Part, SECOND, check, pass, scene};

/// P4, S8: stopping cancels every probe, whoever asked; nothing is written, all are counted,
/// and the error carries what the probe had met by then.
#[tokio::test(start_paused = true)]
async fn cancelled_probes_write_nothing() {
    let scene = scene(2);
    for name in ["a", "b", "c", "d"] {
        scene.stage.plays(name, Part::Silent);
    }
    scene.monitor.launch(Arc::new(check("a", 60 * SECOND)), Instant::now());
    scene.monitor.probe_saved(Arc::new(check("b", 60 * SECOND)));
    let ask = |name| scene.monitor.probe_by_hand(Arc::new(check(name, 60 * SECOND)), "alice", None);
    let stop = async {
        sleep(SECOND).await;
        let began = Instant::now();
        scene.monitor.stop().await;
        assert!(began.elapsed() < SECOND);
    };
    let (queued, ()) = tokio::join!(ask("c"), stop);
    let Err(ProbeError::Abandoned { met }) = queued else { panic!("{queued:?}") };
    assert_eq!(met, "it was waiting for its turn");
    assert!(scene.shelf.writes().is_empty());
    assert_eq!(scene.metrics.discarded(), 3);
    assert_eq!(scene.stage.running(), 0);
    // P4: both the cancellation and what was met by then.
    let text = ProbeError::Abandoned { met: "connected to db:5432".into() }.to_string();
    assert!(text.contains("stopping") && text.contains("connected to db:5432"));
}

/// P4: a probe that was running tells how far it had come.
#[tokio::test(start_paused = true)]
async fn an_abandoned_probe_says_what_it_met() {
    let scene = scene(2);
    scene.stage.plays("web", Part::Silent);
    let ask = scene.monitor.probe_by_hand(Arc::new(check("web", 60 * SECOND)), "alice", None);
    let stop = async {
        sleep(SECOND).await;
        scene.monitor.stop().await;
    };
    let (result, ()) = tokio::join!(ask, stop);
    assert_eq!(result.unwrap_err(), ProbeError::Abandoned { met: "connected to db:5432".into() });
}

/// R4, S8: a result that is being written when the host stops is still written.
#[tokio::test(start_paused = true)]
async fn a_result_is_still_written() {
    let scene = scene(2);
    scene.stage.plays("web", pass());
    scene.shelf.set_slow(3 * SECOND);
    scene.monitor.launch(Arc::new(check("web", 60 * SECOND)), Instant::now());
    sleep(SECOND).await;
    scene.monitor.stop().await;
    assert_eq!(scene.shelf.record_of("web").unwrap().status, Status::Healthy);
    assert_eq!(scene.metrics.discarded(), 0);
}

/// R7: during shutdown an unreachable store is no alarm.
#[tokio::test(start_paused = true)]
async fn a_store_outage_during_shutdown_is_quiet() {
    let scene = scene(2);
    scene.stage.plays("web", pass());
    scene.shelf.set_slow(3 * SECOND);
    scene.shelf.set_down(true);
    let logged = Logged::start();
    scene.monitor.launch(Arc::new(check("web", 60 * SECOND)), Instant::now());
    sleep(SECOND).await;
    scene.monitor.stop().await;
    assert_eq!(logged.take(), ["DEBUG not recorded: the host is stopping"]);
}

/// S8: start and stop can be called twice, in any order, and no task outlives them.
#[tokio::test(start_paused = true)]
async fn start_and_stop_are_idempotent_and_leave_no_task() {
    let before = Handle::current().metrics().num_alive_tasks();
    let scene = scene(8);
    for number in 0..50 {
        scene.stage.plays(&format!("t{number}"), Part::Answer(3 * SECOND, Outcome::Pass));
    }
    scene.shelf.list((0..50).map(|n| check(&format!("t{n}"), 5 * SECOND)).collect());
    let schedule = Schedule::new(scene.monitor.clone(), scene.shelf.clone());
    schedule.stop().await;
    schedule.start().await;
    schedule.start().await;
    sleep(10 * SECOND).await;
    // The schedule itself, and never more probes than checks.
    let alive = Handle::current().metrics().num_alive_tasks() - before;
    assert!(alive > 1 && alive <= 51, "{alive}");
    schedule.stop().await;
    schedule.stop().await;
    scene.monitor.stop().await;
    scene.monitor.stop().await;
    assert_eq!(Handle::current().metrics().num_alive_tasks(), before);
    let late = scene.monitor.launch(Arc::new(check("t1", 5 * SECOND)), Instant::now());
    assert_eq!(late, Launch::Stopping);
    let late = scene.monitor.probe_by_hand(Arc::new(check("t1", 5 * SECOND)), "alice", None);
    assert!(matches!(late.await, Err(ProbeError::Abandoned { .. })));
    // A stopped schedule starts again; the monitor stays stopped, and nothing is probed.
    let began = scene.stage.began().len();
    schedule.start().await;
    sleep(Duration::from_secs(60)).await;
    schedule.stop().await;
    assert_eq!(scene.stage.began().len(), began);
}
