//! What is counted into rollups, on the driven clock (contract A4).

use std::collections::HashSet;
use std::sync::Mutex;
use std::time::Duration;

use probehost_model::{CheckId, Outcome, Reason, Step};
use probehost_store::RollupHour;

use crate::fakes::{BASE, Part, SECOND, Scene, fails, out_of_reach, pass, scene};

/// Writes what has grown, and gives it.
async fn flush(scene: &Scene) -> Vec<RollupHour> {
    let written = Mutex::new(Vec::new());
    let put = |_, hours: Vec<RollupHour>| {
        written.lock().unwrap().extend(hours);
        std::future::ready(Ok(()))
    };
    scene.monitor.rollups().flush(put).await.unwrap();
    written.into_inner().unwrap()
}

/// A4, R2: what lands is counted, by outcome, with the time for which it vouches; what does
/// not land is not.
#[tokio::test(start_paused = true)]
async fn what_lands_is_counted() {
    let scene = scene(4);
    scene.stage.plays("web", pass());
    scene.by_hand("web").await;
    // Not later than the first: refused.
    scene.by_hand("web").await;
    tokio::time::advance(60 * SECOND).await;
    scene.by_hand("web").await;
    for part in [fails(Reason::Network), fails(Reason::Timeout)] {
        tokio::time::advance(60 * SECOND).await;
        scene.stage.plays("web", part);
        scene.by_hand("web").await;
    }
    tokio::time::advance(60 * SECOND).await;
    scene.stage.plays("web", Part::Answer(Duration::ZERO, Outcome::inconclusive("trap")));
    scene.by_hand("web").await;
    tokio::time::advance(60 * SECOND).await;
    scene.shelf.set_down(true);
    scene.by_hand("web").await;

    let hours = flush(&scene).await;
    let [hour] = hours.as_slice() else { panic!("{hours:?}") };
    assert_eq!(hour.check, CheckId::new("web", "ping"));
    assert_eq!(hour.start, Step::Hour.start_of(BASE));
    let counts = (hour.rollup.runs, hour.rollup.passes, hour.rollup.inconclusive);
    assert_eq!(counts, (5, 2, 1));
    let failures: Vec<_> = hour.rollup.failures.iter().map(|(why, count)| (*why, *count)).collect();
    assert_eq!(failures, [(Reason::Timeout, 1), (Reason::Network, 1)]);
    // The first failure does not flip the status, the second does.
    assert_eq!((hour.rollup.healthy, hour.rollup.unhealthy), (120 * SECOND, 60 * SECOND));
}

/// A4: an hour is written whole whenever it has grown, again when it could not be, and not
/// otherwise; a check that is gone is let go of once it is written.
#[tokio::test(start_paused = true)]
async fn what_could_not_be_written_is_written_the_next_time() {
    let scene = scene(4);
    scene.stage.plays("web", pass());
    scene.by_hand("web").await;
    let rollups = scene.monitor.rollups();
    let away = |_, _| std::future::ready(Err(out_of_reach()));
    assert_eq!(rollups.flush(away).await, Err(out_of_reach()));
    rollups.retain(&HashSet::new());
    let id = CheckId::new("web", "ping");
    assert_eq!(rollups.live(&id).hours.len(), 1);
    assert_eq!(flush(&scene).await.len(), 1);
    assert!(flush(&scene).await.is_empty());
    tokio::time::advance(60 * SECOND).await;
    scene.by_hand("web").await;
    let hours = flush(&scene).await;
    assert_eq!((hours.len(), hours[0].rollup.runs), (1, 2));
    assert_eq!(rollups.live(&id).hours, [(hours[0].start, hours[0].rollup.clone())]);
    rollups.retain(&HashSet::new());
    assert!(rollups.live(&id).hours.is_empty());
}
