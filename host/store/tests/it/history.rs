//! Transitions and audit: contract R3, A1 to A3, and how they are listed.

use probehost_model::{
    Action, AuditEntry, Outcome, Reason, SYSTEM_PRINCIPAL,
    Status::{Healthy, Unhealthy, Unknown},
    Transition, Trigger,
};
use probehost_store::{AuditFilter, Recorded, TransitionFilter, Write};

use crate::backend::{Backend, on_both};
use crate::common::{Fixture, at, by_hand, fail, landed, seen, target, web};

/// R3, A1: a change of status leaves a transition and the audit row that tells the same.
async fn a_transition_has_its_audit_row(on: Backend) {
    let fixture = Fixture::with_web(on).await;
    fixture.run(&[Outcome::Pass, fail(Reason::Network)]).await;
    let recorded = fixture.record(seen(3, fail(Reason::Timeout))).await;
    let Recorded::Applied { transition_id: Some(id), .. } = recorded else {
        panic!("{recorded:?}");
    };
    let transitions = fixture.transitions().await;
    assert_eq!(
        transitions.last(),
        Some(&Transition {
            id,
            at: at(3),
            check: web(),
            from: Healthy,
            to: Unhealthy,
            reason: Some(Reason::Timeout),
            message: "web:443: refused".into(),
            streak: 2,
            trigger: Trigger::Scheduled,
        })
    );
    assert_eq!(transitions.len(), 2);
    let audit = fixture.probe_audit().await;
    assert_eq!(audit.len(), 2);
    let last = audit.last().unwrap();
    assert_eq!(
        last,
        &AuditEntry {
            id: last.id,
            at: at(3),
            principal: SYSTEM_PRINCIPAL.into(),
            action: Action::Transition,
            trigger: Some(Trigger::Scheduled),
            target: "web".into(),
            check: Some("head".into()),
            from: Some(Healthy.to_string()),
            to: Some(Unhealthy.to_string()),
            outcome: "fail timeout: web:443: refused".into(),
        }
    );
    fixture.finish().await;
}

/// A2: a scheduled probe that changes nothing audits nothing.
async fn repeats_stay_silent(on: Backend) {
    let fixture = Fixture::with_web(on).await;
    fixture.run(&[Outcome::Pass, Outcome::Pass, fail(Reason::Network), Outcome::Pass]).await;
    assert_eq!(fixture.transitions().await.len(), 1);
    assert_eq!(fixture.probe_audit().await.len(), 1);
    fixture.finish().await;
}

/// A1: a probe by hand audits also when nothing changed, and once when something did.
async fn by_hand_always_audits(on: Backend) {
    let fixture = Fixture::with_web(on).await;
    for (now, outcome) in
        [(1, Outcome::Pass), (2, Outcome::Pass), (3, Outcome::inconclusive("engine is gone"))]
    {
        landed(fixture.record(by_hand(now, outcome)).await);
    }
    let told: Vec<_> = fixture
        .probe_audit()
        .await
        .into_iter()
        .map(|row| (row.action, row.principal, row.trigger, row.from, row.to, row.outcome))
        .collect();
    let row = |from: probehost_model::Status, outcome: &str| {
        let (from, to) = (Some(from.to_string()), Some(Healthy.to_string()));
        (Action::Probe, "ada".into(), Some(Trigger::Manual), from, to, outcome.to_owned())
    };
    assert_eq!(
        told,
        [row(Unknown, "pass"), row(Healthy, "pass"), row(Healthy, "inconclusive: engine is gone")]
    );
    assert_eq!(fixture.transitions().await.len(), 1);
    fixture.finish().await;
}

/// A1: each denied call of a run that landed has its row, before that of the probe.
async fn denied_calls_are_audited(on: Backend) {
    let fixture = Fixture::with_web(on).await;
    let denied = vec!["tcp://db:5432".to_owned(), "dns:db".to_owned()];
    landed(fixture.record(Write { denied, ..seen(1, fail(Reason::Config)) }).await);
    let told: Vec<_> =
        fixture.probe_audit().await.into_iter().map(|row| (row.action, row.outcome)).collect();
    assert_eq!(
        told,
        [
            (Action::CapabilityDenied, "tcp://db:5432".into()),
            (Action::CapabilityDenied, "dns:db".into()),
            (Action::Transition, "fail config: web:443: refused".into()),
        ]
    );
    fixture.finish().await;
}

/// A3: nobody changes or removes a row of the history.
async fn history_is_append_only(on: Backend) {
    let fixture = Fixture::with_web(on).await;
    fixture.run(&[Outcome::Pass]).await;
    let before = (fixture.transitions().await, fixture.audit().await);
    for statement in [
        "UPDATE audit SET principal = 'mallory'",
        "DELETE FROM audit",
        "UPDATE transitions SET \"to\" = 'unhealthy'",
        "DELETE FROM transitions",
    ] {
        let error = fixture.try_execute(statement).await.unwrap_err();
        assert!(error.to_string().contains("append-only"), "{statement}: {error}");
    }
    assert_eq!((fixture.transitions().await, fixture.audit().await), before);
    fixture.finish().await;
}

/// R3, R9: the look for what must not be finds each of it.
async fn what_must_not_be_is_found(on: Backend) {
    let breaks = [
        (
            "INSERT INTO transitions (at, target_id, check_name, \"from\", \"to\", reason, message, \
             streak, \"trigger\") VALUES (9, 'web', 'head', 'healthy', 'unknown', '', '', 0, 'saved')",
            "transition 2 of web/head has no audit row that tells the same",
        ),
        (
            "INSERT INTO audit (id, at, principal, action, \"trigger\", target_id, check_name, \
             \"from\", \"to\", outcome) VALUES (3, 9, 'x', 'probe', 'manual', 'web', 'head', 'healthy', \
             'unknown', 'pass')",
            "audit row 3 tells of a change of status without a transition",
        ),
        (
            "UPDATE records SET last_attempt_at = 2, status = 'unhealthy', replaced_status = 'healthy'",
            "the record of web/head is unhealthy in place of healthy and no transition says so",
        ),
        (
            "UPDATE targets SET deleted_at = 5",
            "the record of web/head belongs to a target that is deleted",
        ),
        (
            match on {
                Backend::Sqlite => "PRAGMA foreign_keys = OFF; DELETE FROM checks",
                Backend::Postgres => "SET session_replication_role = replica; DELETE FROM checks",
            },
            "the record of web/head belongs to no check",
        ),
    ];
    for (statement, finding) in breaks {
        let fixture = Fixture::with_web(on).await;
        fixture.run(&[Outcome::Pass]).await;
        assert_eq!(fixture.store.check_integrity().await.unwrap(), Vec::<String>::new());
        fixture.execute(statement).await;
        assert_eq!(fixture.store.check_integrity().await.unwrap(), [finding]);
        fixture.store.close().await;
    }
}

/// R3: when the audit row can't be written, there is no record and no transition either.
async fn all_of_it_commits_or_none(on: Backend) {
    let fixture = Fixture::with_web(on).await;
    fixture.refuse("audit", "NEW.principal = 'mallory'").await;
    let write = Write { principal: "mallory".into(), ..by_hand(1, Outcome::Pass) };
    let error = fixture.store.record(write).await.unwrap_err();
    assert!(error.to_string().contains("not this one"), "{error}");
    assert_eq!(fixture.web().await, None);
    assert_eq!(fixture.transitions().await, []);
    landed(fixture.record(by_hand(1, Outcome::Pass)).await);
    fixture.finish().await;
}

/// Listings are newest first, filtered, and go on where the page before ended.
async fn listings_are_paged_and_filtered(on: Backend) {
    let fixture = Fixture::new(on).await;
    fixture.sync(vec![target("db", &["tcp"]), target("web", &["head", "tail"])], 0).await;
    for now in 1..=6 {
        let outcome = if now % 2 == 1 { Outcome::Pass } else { fail(Reason::Config) };
        for (target, check) in [("db", "tcp"), ("web", "head"), ("web", "tail")] {
            let mut write = by_hand(now, outcome.clone());
            write.check = probehost_model::CheckId::new(target, check);
            landed(fixture.record(write).await);
        }
    }
    let all = fixture.transitions().await;
    assert_eq!(all.len(), 18);
    let mut paged = Vec::new();
    let mut filter = TransitionFilter { limit: 4, ..TransitionFilter::default() };
    loop {
        let page = fixture.store.transitions(&filter).await.unwrap();
        let Some(last) = page.last() else { break };
        filter.before = Some(last.id);
        paged.extend(page);
    }
    paged.reverse();
    assert_eq!(paged, all);

    let filter = TransitionFilter { target: Some("web".into()), ..TransitionFilter::default() };
    assert_eq!(fixture.store.transitions(&filter).await.unwrap().len(), 12);
    let filter = TransitionFilter { check: Some("tail".into()), ..filter };
    assert_eq!(fixture.store.transitions(&filter).await.unwrap().len(), 6);

    let count = async |filter: AuditFilter| fixture.store.audit(&filter).await.unwrap().len();
    let any = AuditFilter::default;
    assert_eq!(count(any()).await, 20);
    assert_eq!(count(AuditFilter { action: Some(Action::TargetChanged), ..any() }).await, 2);
    assert_eq!(count(AuditFilter { principal: Some("ada".into()), ..any() }).await, 18);
    assert_eq!(count(AuditFilter { target: Some("db".into()), ..any() }).await, 7);
    assert_eq!(count(AuditFilter { check: Some("head".into()), ..any() }).await, 6);
    assert_eq!(count(AuditFilter { limit: 0, ..any() }).await, 0);
    fixture.finish().await;
}

on_both!(
    a_transition_has_its_audit_row,
    repeats_stay_silent,
    by_hand_always_audits,
    denied_calls_are_audited,
    history_is_append_only,
    what_must_not_be_is_found,
    all_of_it_commits_or_none,
    listings_are_paged_and_filtered,
);
