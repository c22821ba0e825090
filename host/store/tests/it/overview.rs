//! Short looks at all targets: contract E3, S1.

use probehost_model::{CheckId, Outcome, Reason, Source, Status, Target};

use crate::backend::{Backend, on_both};
use crate::common::{Fixture, at, fail, target};

/// S1: every save that changes something, and nothing else, gives the targets another version; also
/// with a clock that was set back, and with two changes at once.
async fn a_version_for_each_save(on: Backend) {
    let fixture = Fixture::with_web(on).await;
    let store = &fixture.store;
    let version = || async { store.targets_version().await.unwrap() };
    let mut seen = vec![version().await];
    fixture.run(&[Outcome::Pass, fail(Reason::Network)]).await;
    assert_eq!(version().await, seen[0], "a record is no save");
    let second = 1_000_000;
    let disabled = Target { enabled: false, ..target("db", &["head"]) };
    for (targets, now) in [
        (vec![target("web", &["head"]), target("db", &["head"])], 5 * second),
        (vec![target("web", &["head", "tail"]), target("db", &["head"])], 6 * second),
        // The clock is an hour back from here on.
        (vec![target("web", &["head"]), target("db", &["head", "tail"])], 7),
        (vec![target("web", &["head"]), disabled], 8),
        (vec![target("web", &["head"])], 9),
        (vec![target("web", &["head"]), target("db", &["head"])], 10),
    ] {
        fixture.sync(targets.clone(), now).await;
        let new = version().await;
        assert!(!seen.contains(&new), "{seen:?} {new:?}");
        seen.push(new);
        fixture.sync(targets, now + 1).await;
        assert_eq!(version().await, new, "nothing was changed");
    }
    let own = Target { source: Source::Api, ..target("own", &["head"]) };
    store.create_target(own, at(11), "ada").await.unwrap();
    assert!(!seen.contains(&version().await));
    fixture.finish().await;
}

/// E3: each check of a target that is there is shown, also before it was probed.
async fn every_check_has_a_status(on: Backend) {
    let fixture = Fixture::with_web(on).await;
    let last = fixture.run(&[Outcome::Pass, fail(Reason::Network), fail(Reason::Network)]).await;
    fixture.sync(vec![target("web", &["head", "tail"]), target("db", &[])], 1).await;
    let statuses = fixture.store.statuses().await.unwrap();
    let short: Vec<_> = statuses
        .iter()
        .map(|one| (one.check.check.as_str(), one.status, one.streak, one.checked_at))
        .collect();
    assert_eq!(
        short,
        [("head", Status::Unhealthy, 2, last.checked_at), ("tail", Status::Unknown, 0, None)]
    );
    assert_eq!(statuses[0].check, CheckId::new("web", "head"));
    assert_eq!(statuses[0].kind, target("web", &["head"]).checks[0].kind);
    fixture.sync(vec![target("db", &[])], 100).await;
    assert_eq!(fixture.store.statuses().await.unwrap(), []);
    fixture.finish().await;
}

on_both!(a_version_for_each_save, every_check_has_a_status);
