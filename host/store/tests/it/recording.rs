//! Transitions and recording: contract T2 to T6, R1 to R3, R5, R8.

use probehost_model::{
    CheckId, Outcome, Reason, Record, Refusal,
    Status::{self, Healthy, Unhealthy, Unknown},
    Thresholds,
};
use probehost_store::{Recorded, Write};

use crate::backend::{Backend, on_both};
use crate::common::{Fixture, at, by_hand, fail, landed, seen, target};

fn refused(recorded: &Recorded) -> Option<Refusal> {
    match recorded {
        Recorded::Refused(refusal) => Some(*refusal),
        Recorded::Applied { .. } => None,
    }
}

/// Runs outcomes of `web/head` one after the other and gives each status and streak.
async fn states(on: Backend, outcomes: &[Outcome]) -> Vec<(Status, u32)> {
    let fixture = Fixture::with_web(on).await;
    let mut states = Vec::new();
    for (now, outcome) in (1..).zip(outcomes) {
        let (_, record) = landed(fixture.record(seen(now, outcome.clone())).await);
        states.push((record.status, record.streak));
    }
    fixture.finish().await;
    states
}

/// T1, T2: nothing is known at first; one pass is enough from any status and clears the failure.
async fn a_pass_heals_at_once(on: Backend) {
    let fixture = Fixture::with_web(on).await;
    assert_eq!(fixture.web().await, None);
    let down = fixture.run(&[fail(Reason::Config)]).await;
    assert_eq!(down.status, Unhealthy);
    let (from, up) = landed(fixture.record(seen(2, Outcome::Pass)).await);
    assert_eq!(from, Unhealthy);
    assert_eq!(
        up,
        Record {
            status: Healthy,
            subject: "web:443".into(),
            checked_at: Some(at(2)),
            last_success_at: Some(at(2)),
            last_attempt_at: Some(at(2)),
            ..Record::default()
        }
    );
    assert_eq!(fixture.web().await, Some(up));
    fixture.finish().await;
}

/// T3: a sticky failure flips at once, also as the first word on a check, and counts.
async fn sticky_flips_at_once(on: Backend) {
    for reason in [Reason::Config, Reason::HostKey] {
        assert_eq!(
            states(on, &[fail(reason), Outcome::Pass, fail(reason), fail(reason)]).await,
            [(Unhealthy, 1), (Healthy, 0), (Unhealthy, 1), (Unhealthy, 2)]
        );
    }
}

/// T4: below the threshold the status stands, healthy or unknown; at it, it flips.
async fn the_threshold_flips(on: Backend) {
    for reason in Reason::ALL.into_iter().filter(|reason| !reason.is_sticky()) {
        assert_eq!(
            states(on, &[fail(reason), fail(reason), fail(reason)]).await,
            [(Unknown, 1), (Unhealthy, 2), (Unhealthy, 3)]
        );
    }
    assert_eq!(
        states(on, &[Outcome::Pass, fail(Reason::Network), fail(Reason::Timeout)]).await,
        [(Healthy, 0), (Healthy, 1), (Unhealthy, 2)]
    );
}

/// T4: a threshold of 1 flips on the first failure, also where there was no record.
async fn a_threshold_of_one_needs_no_second_opinion(on: Backend) {
    let fixture = Fixture::with_web(on).await;
    let one = Thresholds { failure: 1, inconclusive: 1 };
    let write = Write { thresholds: one, ..seen(1, fail(Reason::Stopped)) };
    let (from, record) = landed(fixture.record(write).await);
    assert_eq!((from, record.status, record.streak), (Unknown, Unhealthy, 1));
    let write = Write { thresholds: one, ..seen(2, Outcome::inconclusive("engine is gone")) };
    let (from, record) = landed(fixture.record(write).await);
    assert_eq!((from, record.status, record.streak), (Unhealthy, Unknown, 1));
    fixture.finish().await;
}

/// T4: a failure below the threshold shows its reason and message under the standing status.
async fn a_first_failure_shows_its_reason(on: Backend) {
    let fixture = Fixture::with_web(on).await;
    let record = fixture.run(&[Outcome::Pass, fail(Reason::Auth)]).await;
    assert_eq!((record.status, record.reason), (Healthy, Some(Reason::Auth)));
    assert_eq!(record.message, "web:443: refused");
    assert_eq!((record.checked_at, record.last_success_at), (Some(at(2)), Some(at(1))));
    fixture.finish().await;
}

/// T5: inconclusive probes leave everything but the attempt, then say `unknown`, never
/// `unhealthy`; the failures in a row stand across them.
async fn inconclusive_holds_then_says_unknown(on: Backend) {
    let fixture = Fixture::with_web(on).await;
    let odd = || Outcome::inconclusive("engine is gone");
    let known = fixture.run(&[Outcome::Pass, fail(Reason::Network)]).await;
    let (_, once) = landed(fixture.record(seen(3, odd())).await);
    let noted = Record {
        inconclusive_streak: 1,
        last_attempt_at: Some(at(3)),
        last_error: "engine is gone".into(),
        ..known
    };
    assert_eq!(once, noted);
    let (from, twice) = landed(fixture.record(seen(4, odd())).await);
    assert_eq!((from, twice.status, twice.streak), (Healthy, Unknown, 1));
    assert_eq!(twice.checked_at, Some(at(2)));
    let (_, down) = landed(fixture.record(seen(5, fail(Reason::Network))).await);
    assert_eq!((down.status, down.streak), (Unhealthy, 2));
    assert_eq!((down.inconclusive_streak, down.last_error.as_str()), (0, ""));
    fixture.finish().await;
}

/// T5: the subject of a check that only had inconclusive probes is that of the first.
async fn the_first_inconclusive_probe_gives_the_subject(on: Backend) {
    let fixture = Fixture::with_web(on).await;
    let mut later = seen(2, Outcome::inconclusive("trap"));
    let record = fixture.run(&[Outcome::inconclusive("trap")]).await;
    assert_eq!((record.status, record.subject.as_str()), (Unknown, "web:443"));
    later.observation.subject = "elsewhere".into();
    assert_eq!(landed(fixture.record(later).await).1.subject, "web:443");
    fixture.finish().await;
}

/// T6, R1: what a write replaced is what was stored at that moment, whatever the callers saw:
/// of two that ran side by side exactly one finds the change.
async fn a_transition_is_judged_on_what_the_write_replaced(on: Backend) {
    let fixture = Fixture::with_web(on).await;
    fixture.run(&[Outcome::Pass, fail(Reason::Network)]).await;
    let first = fixture.store.record(seen(3, fail(Reason::Network)));
    let second = fixture.store.record(by_hand(4, fail(Reason::Network)));
    let (first, second) = (first.await.unwrap(), second.await.unwrap());
    assert!(matches!(
        first,
        Recorded::Applied { from: Healthy, ref record, transition_id: Some(_), .. }
            if record.status == Unhealthy && record.streak == 2
    ));
    assert!(matches!(
        second,
        Recorded::Applied { from: Unhealthy, ref record, transition_id: None, .. }
            if record.streak == 3
    ));
    fixture.finish().await;
}

/// E1: an applied write says which reason it replaced, so that a caller can tell a change.
async fn the_replaced_reason_is_told(on: Backend) {
    let fixture = Fixture::with_web(on).await;
    fixture.run(&[fail(Reason::Network)]).await;
    let recorded = fixture.record(seen(2, fail(Reason::Tls))).await;
    let Recorded::Applied { reason_before, record, .. } = recorded else {
        panic!("{recorded:?}");
    };
    assert_eq!((reason_before, record.reason), (Some(Reason::Network), Some(Reason::Tls)));
    fixture.finish().await;
}

/// R2: equal is not later, conclusive or not; nothing at all is written.
async fn overtaken_is_refused(on: Backend) {
    let fixture = Fixture::with_web(on).await;
    landed(fixture.record(seen(5, Outcome::Pass)).await);
    let (record, audit) = (fixture.web().await, fixture.audit().await);
    for now in [4, 5] {
        for outcome in [fail(Reason::Config), Outcome::Pass, Outcome::inconclusive("trap")] {
            let mut late = by_hand(now, outcome);
            late.denied = vec!["tcp://db:5432".into()];
            let recorded = fixture.record(late).await;
            assert_eq!(refused(&recorded), Some(Refusal::Overtaken));
        }
    }
    assert_eq!((fixture.web().await, fixture.audit().await), (record, audit));
    fixture.finish().await;
}

/// R5: a microsecond later is later, also across a whole second.
async fn a_microsecond_later_is_later(on: Backend) {
    let fixture = Fixture::with_web(on).await;
    for now in [1_764_456_769_999_999, 1_764_456_770_000_000, 1_764_456_770_000_001] {
        let (_, record) = landed(fixture.record(seen(now, Outcome::Pass)).await);
        assert_eq!(record.checked_at, Some(at(now)));
    }
    fixture.finish().await;
}

/// R2: a target that is deleted, disabled, changed or not there takes no observation, and no
/// record comes into being by it.
async fn a_changed_target_takes_nothing(on: Backend) {
    let fixture = Fixture::with_web(on).await;
    let store = &fixture.store;
    let mut unknown = seen(1, Outcome::Pass);
    unknown.check = CheckId::new("nobody", "head");
    assert_eq!(refused(&fixture.record(unknown).await), Some(Refusal::Changed));
    let mut unknown = seen(1, Outcome::Pass);
    unknown.check.check = "tail".into();
    assert_eq!(refused(&fixture.record(unknown).await), Some(Refusal::Changed));

    store.set_enabled("web", false, at(10), "ada").await.unwrap();
    for seen_at in [0, 10] {
        let mut write = by_hand(20, Outcome::Pass);
        write.seen_updated_at = at(seen_at);
        assert_eq!(refused(&fixture.record(write).await), Some(Refusal::Changed));
    }
    store.set_enabled("web", true, at(30), "ada").await.unwrap();
    assert_eq!(refused(&fixture.record(seen(40, Outcome::Pass)).await), Some(Refusal::Changed));
    assert_eq!(fixture.web().await, None);

    let mut write = seen(50, Outcome::Pass);
    write.seen_updated_at = at(30);
    landed(fixture.record(write.clone()).await);
    store.delete_target("web", at(60), "ada").await.unwrap();
    for seen_at in [30, 60] {
        write.seen_updated_at = at(seen_at);
        write.observation.at = at(70);
        assert_eq!(refused(&fixture.record(write.clone()).await), Some(Refusal::Changed));
    }
    assert_eq!(fixture.web().await, None);
    assert_eq!(fixture.probe_audit().await.len(), 1);
    fixture.finish().await;
}

/// R2: with both reasons to refuse, the change of the target is the one that is told.
async fn changed_comes_before_overtaken(on: Backend) {
    let fixture = Fixture::with_web(on).await;
    landed(fixture.record(seen(5, Outcome::Pass)).await);
    let mut write = seen(4, Outcome::Pass);
    write.seen_updated_at = at(-1);
    assert_eq!(refused(&fixture.record(write).await), Some(Refusal::Changed));
    fixture.finish().await;
}

/// R8: after a recovery the next failure counts 1.
async fn a_recovery_starts_the_count_anew(on: Backend) {
    let network = || fail(Reason::Network);
    assert_eq!(
        states(on, &[network(), network(), network(), Outcome::Pass, network(), network()]).await,
        [(Unknown, 1), (Unhealthy, 2), (Unhealthy, 3), (Healthy, 0), (Healthy, 1), (Unhealthy, 2)]
    );
}

/// R9: records survive a restart; the streak goes on where it was.
async fn a_record_survives_a_restart(on: Backend) {
    let fixture = Fixture::with_web(on).await;
    let before = fixture.run(&[Outcome::Pass, fail(Reason::Network)]).await;
    let fixture = fixture.reopen().await;
    assert_eq!(fixture.web().await, Some(before));
    let report = fixture.sync(vec![target("web", &["head"])], 100).await;
    assert_eq!(report, probehost_store::SaveReport::default());
    let (_, record) = landed(fixture.record(seen(3, fail(Reason::Network))).await);
    assert_eq!((record.status, record.streak), (Unhealthy, 2));
    fixture.finish().await;
}

on_both!(
    a_pass_heals_at_once,
    sticky_flips_at_once,
    the_threshold_flips,
    a_threshold_of_one_needs_no_second_opinion,
    a_first_failure_shows_its_reason,
    inconclusive_holds_then_says_unknown,
    the_first_inconclusive_probe_gives_the_subject,
    a_transition_is_judged_on_what_the_write_replaced,
    the_replaced_reason_is_told,
    overtaken_is_refused,
    a_microsecond_later_is_later,
    a_changed_target_takes_nothing,
    changed_comes_before_overtaken,
    a_recovery_starts_the_count_anew,
    a_record_survives_a_restart,
);
