//! Saves of targets: contract T7, T8, R9, and A1 for changes of targets.

use std::time::Duration;

use probehost_model::{
    Action, CheckId, Outcome, Reason, Record, Refusal, Role, Source, Status::Unhealthy, Target,
    Thresholds, reset,
};
use probehost_store::{Recorded, SaveReport, StoreError};
use serde_json::json;

use crate::backend::{Backend, on_both};
use crate::common::{Fixture, at, check, fail, landed, seen, subjects, target, web};

/// What the target changes left in the audit: target and outcome, oldest first.
async fn told(fixture: &Fixture) -> Vec<(String, String)> {
    let rows = fixture.audit().await;
    rows.into_iter()
        .filter(|row| row.action == Action::TargetChanged)
        .map(|row| (row.target, row.outcome))
        .collect()
}

fn tale(rows: &[(&str, &str)]) -> Vec<(String, String)> {
    rows.iter().map(|(target, outcome)| (target.to_string(), outcome.to_string())).collect()
}

async fn updated_at(fixture: &Fixture, id: &str) -> i64 {
    fixture.store.target(id).await.unwrap().unwrap().target.updated_at.as_micros()
}

fn reconfigured() -> Target {
    let mut changed = target("web", &["head"]);
    changed.checks[0].config = json!({ "url": "https://new" });
    changed
}

/// A save of new targets gives them back as they were given, by ascending id.
async fn what_is_saved_is_given_back(on: Backend) {
    let fixture = Fixture::new(on).await;
    let mut web = target("web", &["head", "ssh"]);
    web.checks[1].role = Role::Readiness;
    web.checks[1].interval = None;
    web.checks[1].config = json!({ "list": [1, 2.5, "x", null], "nested": { "a": true } });
    let mut db = target("db", &[]);
    db.enabled = false;
    db.labels.clear();
    let report = fixture.sync(vec![web.clone(), db.clone()], 7).await;
    assert_eq!(report.created, ["web", "db"]);
    assert_eq!(report.added, [CheckId::new("web", "head"), CheckId::new("web", "ssh")]);
    (web.updated_at, db.updated_at) = (at(7), at(7));
    let stored = fixture.store.targets().await.unwrap();
    assert_eq!(stored.iter().map(|stored| &stored.target).collect::<Vec<_>>(), [&db, &web]);
    assert_eq!(fixture.store.target("web").await.unwrap().unwrap().target, web);
    assert_eq!(fixture.store.target("nobody").await.unwrap(), None);
    fixture.finish().await;
}

/// T7: a save that changes nothing resets nothing, moves no time and audits nothing.
async fn the_same_again_changes_nothing(on: Backend) {
    let fixture = Fixture::with_web(on).await;
    let record = fixture.run(&[Outcome::Pass]).await;
    let mut odd = target("odd", &["x"]);
    // As text it is shorter than it is exact: it must not look changed for it.
    odd.checks[0].config = json!({ "ratio": 0.1 + 0.2, "tiny": 1.234_567_890_123_456_7e-300 });
    fixture.sync(vec![target("web", &["head"]), odd.clone()], 50).await;
    let audit = fixture.audit().await;
    let report = fixture.sync(vec![odd, target("web", &["head"])], 60).await;
    assert_eq!(report, SaveReport::default());
    assert_eq!(fixture.web().await, Some(record));
    assert_eq!(updated_at(&fixture, "web").await, 0);
    assert_eq!(fixture.audit().await, audit);
    fixture.finish().await;
}

/// T7: a change of kind or config resets the record and names the check for an off-cycle probe.
async fn a_change_of_what_is_probed_resets(on: Backend) {
    let mut other_kind = target("web", &["head"]);
    other_kind.checks[0].kind = "ssh-handshake".into();
    for changed in [reconfigured(), other_kind] {
        let fixture = Fixture::with_web(on).await;
        fixture.run(&[Outcome::Pass, fail(Reason::Config)]).await;
        let report = fixture.sync(vec![changed], 9).await;
        assert_eq!(
            (report.changed.as_slice(), report.reset.as_slice()),
            (&["web".into()][..], &[web()][..])
        );
        assert_eq!(report.off_cycle().collect::<Vec<_>>(), [&web()]);
        assert_eq!(fixture.web().await, Some(reset("new:443")));
        assert_eq!(updated_at(&fixture, "web").await, 9);
        assert_eq!(told(&fixture).await, tale(&[("web", "created"), ("web", "changed")]));
        fixture.finish().await;
    }
}

/// T8: a probe in flight from before the save can't overwrite the reset, however late it
/// ends; one that began after it lands with any time.
async fn a_reset_wins_over_a_probe_in_flight(on: Backend) {
    let fixture = Fixture::with_web(on).await;
    fixture.run(&[Outcome::Pass]).await;
    fixture.sync(vec![reconfigured()], 9).await;
    let recorded = fixture.record(seen(1_000_000, fail(Reason::Network))).await;
    assert_eq!(recorded, Recorded::Refused(Refusal::Changed));
    assert_eq!(fixture.web().await, Some(reset("new:443")));
    let mut fresh = seen(1, fail(Reason::Network));
    fresh.seen_updated_at = at(9);
    assert_eq!(landed(fixture.record(fresh).await).1.streak, 1);
    fixture.finish().await;
}

/// T8: also when the clock was set back between the two saves.
async fn a_save_is_later_than_the_one_before(on: Backend) {
    let fixture = Fixture::with_web(on).await;
    fixture.sync(vec![reconfigured()], -500).await;
    assert_eq!(updated_at(&fixture, "web").await, 1);
    let recorded = fixture.record(seen(1, Outcome::Pass)).await;
    assert_eq!(recorded, Recorded::Refused(Refusal::Changed));
    fixture.finish().await;
}

/// T7: other changes keep the record, but a probe from before them does not land.
async fn other_changes_reset_nothing(on: Backend) {
    let edits: [fn(&mut Target); 7] = [
        |target| target.name = "The web".into(),
        |target| target.labels.clear(),
        |target| target.checks[0].interval = None,
        |target| target.checks[0].timeout = Duration::from_secs(3),
        |target| target.checks[0].thresholds = Thresholds { failure: 3, inconclusive: 2 },
        |target| target.checks[0].thresholds = Thresholds { failure: 2, inconclusive: 1 },
        |target| target.checks[0].role = Role::Readiness,
    ];
    for edit in edits {
        let fixture = Fixture::with_web(on).await;
        let record = fixture.run(&[Outcome::Pass, fail(Reason::Network)]).await;
        let mut changed = target("web", &["head"]);
        edit(&mut changed);
        let report = fixture.sync(vec![changed.clone()], 9).await;
        assert_eq!((report.changed.len(), report.off_cycle().count()), (1, 0));
        assert_eq!(fixture.web().await, Some(record));
        changed.updated_at = at(9);
        assert_eq!(fixture.store.target("web").await.unwrap().unwrap().target, changed);
        let recorded = fixture.record(seen(10, Outcome::Pass)).await;
        assert_eq!(recorded, Recorded::Refused(Refusal::Changed));
        fixture.finish().await;
    }
}

/// T7: the record of a disabled target stands, also over a change of its config; enabling it
/// is what makes it probed again.
async fn a_disabled_target_is_not_reset(on: Backend) {
    let fixture = Fixture::with_web(on).await;
    let record = fixture.run(&[Outcome::Pass]).await;
    let mut off = reconfigured();
    off.enabled = false;
    let report = fixture.sync(vec![off.clone()], 9).await;
    assert_eq!((report.changed.len(), report.off_cycle().count()), (1, 0));
    off.checks.push(check("tail"));
    assert_eq!(fixture.sync(vec![off.clone()], 10).await.off_cycle().count(), 0);
    assert_eq!(fixture.web().await, Some(record.clone()));
    off.enabled = true;
    fixture.sync(vec![off], 11).await;
    assert_eq!(fixture.web().await, Some(record));
    assert_eq!(
        told(&fixture).await,
        tale(&[
            ("web", "created"),
            ("web", "changed"),
            ("web", "disabled"),
            ("web", "changed"),
            ("web", "enabled")
        ])
    );
    fixture.finish().await;
}

/// R9: a target that is gone from the file is deleted with its records; its history stays; and
/// when it comes back, nothing is known of it.
async fn a_deleted_target_takes_its_records_with_it(on: Backend) {
    let fixture = Fixture::new(on).await;
    let both = || vec![target("db", &["tcp"]), target("web", &["head"])];
    fixture.sync(both(), 0).await;
    assert_eq!(fixture.run(&[fail(Reason::Config)]).await.status, Unhealthy);
    let report = fixture.sync(vec![target("db", &["tcp"])], 9).await;
    assert_eq!(report, SaveReport { deleted: vec!["web".into()], ..SaveReport::default() });
    assert_eq!(fixture.web().await, None);
    assert_eq!(fixture.store.target("web").await.unwrap(), None);
    assert_eq!(fixture.store.targets().await.unwrap().len(), 1);
    assert_eq!(fixture.transitions().await.len(), 1);

    let report = fixture.sync(both(), 9).await;
    assert_eq!((report.created, report.added), (vec!["web".into()], vec![web()]));
    // Later than the deletion, though the clock stood still.
    assert_eq!(updated_at(&fixture, "web").await, 10);
    let recorded = fixture.record(seen(20, Outcome::Pass)).await;
    assert_eq!(recorded, Recorded::Refused(Refusal::Changed));
    let mut fresh = seen(1, fail(Reason::Network));
    fresh.seen_updated_at = at(10);
    let (_, record) = landed(fixture.record(fresh).await);
    assert_eq!((record.streak, record.last_success_at), (1, None));
    assert_eq!(
        told(&fixture).await,
        tale(&[("db", "created"), ("web", "created"), ("web", "deleted"), ("web", "created")])
    );
    fixture.finish().await;
}

/// R9: a check that its target no longer has loses its record; its neighbours keep theirs.
async fn a_removed_check_loses_its_record(on: Backend) {
    let fixture = Fixture::new(on).await;
    fixture.sync(vec![target("web", &["head", "tail"])], 0).await;
    let mut tail = seen(1, Outcome::Pass);
    tail.check = CheckId::new("web", "tail");
    let (_, kept) = landed(fixture.record(tail).await);
    fixture.run(&[Outcome::Pass]).await;
    let report = fixture.sync(vec![target("web", &["tail"])], 9).await;
    assert_eq!((report.changed.len(), report.off_cycle().count()), (1, 0));
    let stored = fixture.store.target("web").await.unwrap().unwrap();
    let records: Vec<(&str, &Record)> =
        stored.records.iter().map(|(name, record)| (name.as_str(), record)).collect();
    assert_eq!(records, [("tail", &kept)]);
    let report = fixture.sync(vec![target("web", &["head", "tail"])], 10).await;
    assert_eq!(report.added, [web()]);
    assert_eq!(fixture.web().await, None);
    fixture.finish().await;
}

/// Enabling and disabling by hand: the records stand, each change is audited once, the second
/// time nothing happens.
async fn switching_by_hand(on: Backend) {
    let fixture = Fixture::with_web(on).await;
    let record = fixture.run(&[Outcome::Pass]).await;
    for (enabled, now, changes) in [(true, 5, 0), (false, 6, 1), (false, 7, 0), (true, 8, 1)] {
        let report = fixture.store.set_enabled("web", enabled, at(now), "ada").await.unwrap();
        assert_eq!((report.changed.len(), report.off_cycle().count()), (changes, 0));
        let stored = fixture.store.target("web").await.unwrap().unwrap();
        assert_eq!(stored.target.enabled, enabled);
        assert_eq!(stored.records["head"], record);
    }
    assert_eq!(updated_at(&fixture, "web").await, 8);
    assert_eq!(
        told(&fixture).await,
        tale(&[("web", "created"), ("web", "disabled"), ("web", "enabled")])
    );
    let by: Vec<_> = fixture.audit().await.into_iter().map(|row| row.principal).collect();
    assert_eq!(by, ["file", "system:health", "ada", "ada"]);
    fixture.finish().await;
}

/// T7, R9: a target that is not the file's is created, changed as a save of the file changes one,
/// and outlives every save of the file. Its id is never another's.
async fn targets_that_are_not_the_files(on: Backend) {
    let fixture = Fixture::with_web(on).await;
    let store = &fixture.store;
    let own = |checks: &[&str]| Target { source: Source::Api, ..target("own", checks) };
    let report = store.create_target(own(&["head"]), at(2), "ada").await.unwrap();
    assert_eq!(report.created, ["own"]);
    assert_eq!(report.off_cycle().collect::<Vec<_>>(), [&CheckId::new("own", "head")]);
    let exists = |id: &str| Err(StoreError::TargetExists(id.into()));
    assert_eq!(store.create_target(own(&[]), at(3), "ada").await, exists("own"));
    let of_file = Target { source: Source::Api, ..target("web", &[]) };
    assert_eq!(store.create_target(of_file.clone(), at(3), "ada").await, exists("web"));
    let error = store.replace_target(of_file, subjects(), at(3), "ada").await;
    assert_eq!(error, Err(StoreError::OfTheFile("web".into())));

    let same = store.replace_target(own(&["head"]), subjects(), at(4), "ada").await.unwrap();
    assert_eq!(same, SaveReport::default());
    let mut changed = own(&["head"]);
    changed.checks[0].config = json!({ "url": "https://new" });
    let report = store.replace_target(changed, subjects(), at(5), "ada").await.unwrap();
    assert_eq!(report.reset, [CheckId::new("own", "head")]);
    let nobody = Target { source: Source::Api, ..target("nobody", &[]) };
    let error = store.replace_target(nobody, subjects(), at(5), "ada").await;
    assert_eq!(error, Err(StoreError::NoSuchTarget("nobody".into())));

    let report = fixture.sync(vec![], 6).await;
    assert_eq!(report.deleted, ["web"]);
    let stored = store.target("own").await.unwrap().unwrap();
    assert_eq!((stored.target.source, stored.target.updated_at), (Source::Api, at(5)));
    store.delete_target("own", at(7), "ada").await.unwrap();
    let error = store.create_target(own(&[]), at(8), "ada").await;
    assert_eq!(error, Err(StoreError::WasDeleted("own".into())));
    fixture.finish().await;
}

/// A file that names the target of somebody else has it from then on.
async fn the_file_takes_over_what_it_names(on: Backend) {
    let fixture = Fixture::new(on).await;
    let own = Target { source: Source::Api, ..target("web", &["head"]) };
    fixture.store.create_target(own, at(1), "ada").await.unwrap();
    let report = fixture.sync(vec![target("web", &["head"])], 2).await;
    assert_eq!((report.changed.len(), report.off_cycle().count()), (1, 0));
    assert_eq!(fixture.sync(vec![], 3).await.deleted, ["web"]);
    fixture.finish().await;
}

/// Asking for a target that is not there, or twice for one id, is told and changes nothing.
async fn what_cannot_be_saved_is_told(on: Backend) {
    let fixture = Fixture::with_web(on).await;
    let store = &fixture.store;
    let none = StoreError::NoSuchTarget("db".into());
    assert_eq!(store.set_enabled("db", true, at(1), "ada").await, Err(none.clone()));
    assert_eq!(store.delete_target("db", at(1), "ada").await, Err(none));
    let twice = vec![target("db", &[]), target("db", &["x"])];
    let error = store.sync_file_targets(twice, subjects(), at(1), "file").await.unwrap_err();
    assert_eq!(error, StoreError::Duplicate("the target db".into()));
    let twice = vec![target("db", &["x", "x"])];
    let error = store.sync_file_targets(twice, subjects(), at(1), "file").await.unwrap_err();
    assert_eq!(error, StoreError::Duplicate("the check db/x".into()));
    assert_eq!(told(&fixture).await, tale(&[("web", "created")]));
    fixture.finish().await;
}

on_both!(
    what_is_saved_is_given_back,
    the_same_again_changes_nothing,
    a_change_of_what_is_probed_resets,
    a_reset_wins_over_a_probe_in_flight,
    a_save_is_later_than_the_one_before,
    other_changes_reset_nothing,
    a_disabled_target_is_not_reset,
    a_deleted_target_takes_its_records_with_it,
    a_removed_check_loses_its_record,
    switching_by_hand,
    targets_that_are_not_the_files,
    the_file_takes_over_what_it_names,
    what_cannot_be_saved_is_told,
);
