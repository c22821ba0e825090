//! What is recorded, audited and logged of a probe.

use std::sync::Arc;

use probehost_model::{Outcome, Reason, Refusal, Status, Timestamp, Trigger};
use probehost_monitor::Recording;

use crate::fakes::{BASE, Logged, Part, SECOND, check, fails, pass, scene};

use Status::{Healthy, Unhealthy, Unknown};

/// R4: `recorded` is told for a write that landed, one that was overtaken, and one that was
/// inconclusive.
#[tokio::test(start_paused = true)]
async fn recorded_is_reported() {
    let scene = scene(4);
    scene.stage.plays("web", pass());
    let landed = scene.by_hand("web").await;
    assert_eq!(landed.recording, Recording::Recorded { from: Unknown, to: Healthy });
    // The clock stands still: the next result is not later than the first (R2).
    let overtaken = scene.by_hand("web").await;
    assert_eq!(overtaken.recording, Recording::Refused(Refusal::Overtaken));
    assert_eq!(scene.metrics.refused(), 1);
    tokio::time::advance(SECOND).await;
    scene.stage.plays("web", Part::Answer(SECOND, Outcome::inconclusive("trap")));
    let inconclusive = scene.by_hand("web").await;
    assert_eq!(inconclusive.recording, Recording::Recorded { from: Healthy, to: Healthy });
}

/// R2, T8: a save while the probe runs refuses its result, and nothing is audited.
#[tokio::test(start_paused = true)]
async fn a_probe_from_before_a_save_does_not_land() {
    let scene = scene(4);
    scene.stage.plays("web", Part::Answer(5 * SECOND, Outcome::Pass));
    let save = async {
        tokio::time::sleep(SECOND).await;
        scene.shelf.save("web", Timestamp::from_micros(2));
    };
    let (result, ()) = tokio::join!(scene.by_hand("web"), save);
    assert_eq!(result.recording, Recording::Refused(Refusal::Changed));
    assert!(scene.shelf.record_of("web").is_none() && scene.shelf.audited().is_empty());
}

/// A1: a probe by hand is audited with its principal, also when nothing changed.
#[tokio::test(start_paused = true)]
async fn by_hand_is_always_audited() {
    let scene = scene(4);
    scene.stage.plays("web", pass());
    for _ in 0..2 {
        scene.by_hand("web").await;
        tokio::time::advance(SECOND).await;
    }
    assert_eq!(
        scene.shelf.audited(),
        [
            (Trigger::Manual, "alice".to_owned(), Unknown, Healthy),
            (Trigger::Manual, "alice".to_owned(), Healthy, Healthy),
        ]
    );
}

/// A2: `healthy → unhealthy` logs WARN, the reverse INFO, and a repeat is silent.
#[tokio::test(start_paused = true)]
async fn log_levels_of_transitions() {
    let scene = scene(4);
    let logged = Logged::start();
    for (part, line) in [
        (pass(), vec!["INFO status changed"]),
        (pass(), vec![]),
        (fails(Reason::Network), vec![]),
        (fails(Reason::Network), vec!["WARN status changed"]),
        (fails(Reason::Network), vec![]),
        (pass(), vec!["INFO status changed"]),
    ] {
        scene.stage.plays("web", part);
        scene.scheduled("web").await;
        assert_eq!(logged.take(), line);
        tokio::time::advance(SECOND).await;
    }
}

/// R7: a store that is out of reach flips nothing, is told to the caller and logged as WARN;
/// when it is back, the next probe is judged as if the lost one had not been.
#[tokio::test(start_paused = true)]
async fn a_store_outage_degrades_and_never_flips() {
    let scene = scene(4);
    scene.stage.plays("web", pass());
    scene.by_hand("web").await;
    tokio::time::advance(SECOND).await;
    scene.stage.plays("web", fails(Reason::Network));
    scene.shelf.set_down(true);
    let logged = Logged::start();
    for _ in 0..5 {
        let result = scene.by_hand("web").await;
        assert!(matches!(&result.recording, Recording::Unavailable(why) if why.contains("disk")));
        tokio::time::advance(SECOND).await;
    }
    assert!(logged.take().iter().all(|line| line.starts_with("WARN not recorded")));
    assert_eq!(scene.shelf.record_of("web").unwrap().status, Healthy);
    scene.shelf.set_down(false);
    scene.by_hand("web").await;
    let record = scene.shelf.record_of("web").unwrap();
    assert_eq!((record.status, record.streak), (Healthy, 1));
}

/// T4, T6: the monitor passes the kind's thresholds on, and the status is the store's.
#[tokio::test(start_paused = true)]
async fn the_threshold_is_the_checks_own() {
    let scene = scene(4);
    scene.stage.plays("web", fails(Reason::Network));
    let mut eager = check("web", 60 * SECOND);
    eager.thresholds.failure = 1;
    let result = scene.monitor.probe_by_hand(Arc::new(eager), "alice", None).await.unwrap();
    assert_eq!(result.recording, Recording::Recorded { from: Unknown, to: Unhealthy });
    assert_eq!(result.at, BASE);
    assert_eq!(scene.shelf.writes()[0].observation.at, BASE);
}
