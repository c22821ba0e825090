//! The audit is a chain that can be verified (contract A3): each kind of damage is found, on
//! both databases, and retention leaves it whole.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};

use probehost_model::{ChainFault, ChainHash, ChainReader, Outcome, Reason};
use probehost_store::{AuditLog, Options, Recorded, Store, StoreError};

use crate::backend::{Backend, on_both};
use crate::common::{Fixture, at, by_hand, fail, landed, seen, target};
use crate::events::older;

/// Six audit rows: a save, and five probes by hand that each change the status.
async fn six(on: Backend) -> Fixture {
    let fixture = Fixture::with_web(on).await;
    for now in 1..=5 {
        let outcome = if now % 2 == 1 { Outcome::Pass } else { fail(Reason::Config) };
        landed(fixture.record(by_hand(now, outcome)).await);
    }
    fixture
}

/// Does what no host does: triggers and foreign keys don't keep it back.
async fn harm(fixture: &Fixture, statements: &str) {
    let open = if fixture.home.location.path().is_some() {
        "PRAGMA foreign_keys = OFF; DROP TRIGGER IF EXISTS audit_keep; \
         DROP TRIGGER IF EXISTS audit_stay; DROP TRIGGER IF EXISTS audit_head_stay; \
         DROP TRIGGER IF EXISTS audit_anchor_stay"
    } else {
        "SET session_replication_role = replica"
    };
    fixture.execute(&format!("{open}; {statements}")).await;
}

async fn fault(fixture: &Fixture) -> Option<ChainFault> {
    fixture.store.verify_audit().await.unwrap().fault
}

/// A3: what was written is found whole, from the first row to the head, and so after a restart.
async fn what_was_written_is_whole(on: Backend) {
    let fixture = Fixture::new(on).await;
    let report = fixture.store.verify_audit().await.unwrap();
    assert!(report.is_whole());
    assert_eq!((report.rows, report.first, report.head), (0, None, ChainHash::START));
    fixture.store.close().await;

    let fixture = six(on).await.reopen().await;
    landed(fixture.record(by_hand(6, Outcome::Pass)).await);
    // A2: leaves no row.
    landed(fixture.record(seen(7, Outcome::Pass)).await);
    let report = fixture.store.verify_audit().await.unwrap();
    assert!(report.is_whole(), "{report:?}");
    assert_eq!((report.rows, report.first, report.last, report.removed), (7, Some(1), 7, 0));
    fixture.finish().await;
}

/// A3: a changed value in any column is found, at its row.
async fn a_change_of_any_column_is_found(on: Backend) {
    let fixture = six(on).await;
    let columns = [
        ("at", "at + 1", "at - 1"),
        ("principal", "'eve'", "'ada'"),
        ("action", "'release'", "'probe'"),
        ("\"trigger\"", "NULL", "'manual'"),
        ("target_id", "'db'", "'web'"),
        ("check_name", "''", "'head'"),
        ("\"from\"", "'unknown'", "'healthy'"),
        ("\"to\"", "'unknown'", "'unhealthy'"),
        ("outcome", "'pass'", "outcome"),
        ("transition_id", "NULL", "2"),
        ("hash", "'0'", "hash"),
    ];
    for (column, changed, back) in columns {
        // `outcome` and `hash` are put back from a copy.
        let keep = "DROP TABLE IF EXISTS kept; CREATE TABLE kept AS SELECT * FROM audit";
        harm(&fixture, &format!("{keep}; UPDATE audit SET {column} = {changed} WHERE id = 3"))
            .await;
        let expected = match column {
            "hash" => ChainFault::NoHash { id: 3 },
            _ => ChainFault::Changed { id: 3 },
        };
        assert_eq!(fault(&fixture).await, Some(expected), "{column}");
        let back = match column {
            "outcome" | "hash" => format!("(SELECT {back} FROM kept WHERE kept.id = audit.id)"),
            _ => back.to_owned(),
        };
        harm(&fixture, &format!("UPDATE audit SET {column} = {back} WHERE id = 3")).await;
        assert_eq!(fault(&fixture).await, None, "{column} is back");
    }
    harm(&fixture, "UPDATE audit SET id = 99 WHERE id = 3").await;
    assert_eq!(fault(&fixture).await, Some(ChainFault::Missing { after: 2, before: 4 }));
    fixture.store.close().await;
}

/// A3: removed, swapped and foreign rows are found, and so is a head that was meddled with.
async fn other_damage_is_found(on: Backend) {
    let insert = "INSERT INTO audit (id, at, principal, action, target_id, outcome, hash)";
    let hash = "0123456789abcdef".repeat(4);
    let cases = [
        ("DELETE FROM audit WHERE id = 1".into(), ChainFault::Missing { after: 0, before: 2 }),
        ("DELETE FROM audit WHERE id IN (3, 4)".into(), ChainFault::Missing { after: 2, before: 5 }),
        ("DELETE FROM audit WHERE id = 6".into(), ChainFault::TailCut { last: 5, head: 6 }),
        ("DELETE FROM audit".into(), ChainFault::TailCut { last: 0, head: 6 }),
        (
            "UPDATE audit SET id = 33 WHERE id = 3; UPDATE audit SET id = 3 WHERE id = 5; \
             UPDATE audit SET id = 5 WHERE id = 33"
                .into(),
            ChainFault::Reordered { id: 3, stands_at: 5 },
        ),
        (
            format!("{insert} VALUES (7, 9, 'eve', 'release', 'web', 'released', '{hash}')"),
            ChainFault::BeyondHead { id: 7, head: 6 },
        ),
        (
            format!(
                "DELETE FROM audit WHERE id = 4; \
                 {insert} VALUES (4, 9, 'eve', 'release', 'web', 'released', '{hash}')"
            ),
            ChainFault::Changed { id: 4 },
        ),
        (
            format!("{insert} VALUES (0, 9, 'eve', 'release', 'web', 'released', '{hash}')"),
            ChainFault::BeforeAnchor { id: 0, anchor: 0 },
        ),
        (
            format!("UPDATE audit_head SET hash = '{hash}'"),
            ChainFault::HeadDiffers { id: 6, what: "the head has another hash".into() },
        ),
        (
            "UPDATE audit_head SET rows = 7".into(),
            ChainFault::HeadDiffers {
                id: 6,
                what: "there are 6 rows up to it and the head counts 7".into(),
            },
        ),
        ("DELETE FROM audit_head".into(), ChainFault::NoEnd("head")),
        ("DELETE FROM audit_anchor".into(), ChainFault::NoEnd("anchor")),
        ("UPDATE audit_anchor SET id = 2".into(), ChainFault::Changed { id: 3 }),
        (
            "UPDATE audit_anchor SET id = 2, rows = 2, hash = (SELECT hash FROM audit WHERE id = 2)"
                .into(),
            ChainFault::BeforeAnchor { id: 1, anchor: 2 },
        ),
    ];
    for (statements, expected) in cases {
        let fixture = six(on).await;
        harm(&fixture, &statements).await;
        assert_eq!(fault(&fixture).await, Some(expected.clone()), "{statements}");
        // The host goes on with its work, and covers nothing up.
        landed(fixture.record(by_hand(6, Outcome::Pass)).await);
        assert!(fault(&fixture).await.is_some(), "{statements}");
        fixture.store.close().await;
    }
}

/// A3: who cuts the tail and mends the head leaves a whole chain; who kept the head elsewhere
/// finds out, and is not misled by rows that came after.
async fn a_head_that_was_kept_tells_more(on: Backend) {
    let fixture = six(on).await;
    let log = fixture.store.audit_log();
    let kept = log.verify(None).await.unwrap().head;
    landed(fixture.record(by_hand(6, Outcome::Pass)).await);
    let report = log.verify(Some(kept)).await.unwrap();
    assert_eq!((report.is_whole(), report.expected), (true, Some(true)));
    harm(
        &fixture,
        "DELETE FROM audit WHERE id > 4; UPDATE audit_head SET id = 4, rows = 4, \
         hash = (SELECT hash FROM audit WHERE id = 4)",
    )
    .await;
    let report = log.verify(Some(kept)).await.unwrap();
    assert_eq!((report.fault.clone(), report.expected), (None, Some(false)));
    assert!(!report.is_whole());
    fixture.store.close().await;
}

/// A3: nobody but the host changes the chain while the triggers stand.
async fn the_triggers_stand(on: Backend) {
    let fixture = six(on).await;
    fixture.store.trim_history(at(3)).await.unwrap();
    for statement in [
        "UPDATE audit SET hash = NULL",
        "DELETE FROM audit",
        "DELETE FROM transitions",
        "DELETE FROM audit_head",
        "DELETE FROM audit_anchor",
    ] {
        let error = fixture.try_execute(statement).await.unwrap_err().to_string();
        assert!(error.contains("append-only"), "{statement}: {error}");
    }
    assert_eq!(fault(&fixture).await, None);
    fixture.finish().await;
}

/// A3: retention removes the oldest rows with their transitions, and the rest is verified from
/// there. The hash of the last row that went is still known.
async fn retention_leaves_a_chain(on: Backend) {
    let fixture = six(on).await;
    let log = fixture.store.audit_log();
    let links = log.after(0).await.unwrap();
    assert!(!fixture.store.trim_history(at(3)).await.unwrap());
    let report = log.verify(links[2].hash).await.unwrap();
    assert!(report.is_whole(), "{report:?}");
    assert_eq!((report.rows, report.removed, report.first, report.last), (3, 3, Some(4), 6));
    assert_eq!(log.verify(links[1].hash).await.unwrap().expected, Some(false));
    let left = fixture.transitions().await;
    assert_eq!(
        left.iter().map(|transition| transition.at).collect::<Vec<_>>(),
        [at(3), at(4), at(5)]
    );
    // Once more, with nothing to do; and then everything.
    assert!(!fixture.store.trim_history(at(3)).await.unwrap());
    assert_eq!(log.verify(links[2].hash).await.unwrap(), report);
    assert!(!fixture.store.trim_history(at(100)).await.unwrap());
    let report = log.verify(links[5].hash).await.unwrap();
    assert!(report.is_whole(), "{report:?}");
    assert_eq!((report.rows, report.removed, report.first, report.last), (0, 6, None, 6));
    // And it goes on.
    landed(fixture.record(by_hand(101, Outcome::Pass)).await);
    let report = log.verify(None).await.unwrap();
    assert_eq!((report.fault, report.rows, report.last), (None, 1, 7));
    fixture.finish().await;
}

/// Retention goes in steps, each a short transaction, and from the oldest on: a row that is
/// young keeps what came after it.
async fn retention_goes_in_steps(on: Backend) {
    let fixture = Fixture::with_web(on).await;
    let writes: Vec<_> =
        (1..=1200).map(|now| fixture.store.record(by_hand(now, Outcome::Pass))).collect();
    for write in writes {
        landed(write.await.unwrap());
    }
    let mut steps = Vec::new();
    loop {
        let more = fixture.store.trim_history(at(1150)).await.unwrap();
        let report = fixture.store.verify_audit().await.unwrap();
        assert!(report.is_whole(), "{report:?}");
        steps.push(report.removed);
        if !more {
            break;
        }
    }
    assert_eq!(steps, [500, 1000, 1150]);
    // The clock was set back.
    fixture.store.set_enabled("web", false, at(7), "ada").await.unwrap();
    fixture.store.trim_history(at(1150)).await.unwrap();
    assert_eq!(fixture.audit().await.len(), 52);
    fixture.finish().await;
}

/// What the chain does not vouch for is not removed: it is evidence.
async fn retention_keeps_evidence(on: Backend) {
    let fixture = six(on).await;
    harm(&fixture, "UPDATE audit SET principal = 'eve' WHERE id = 2").await;
    let error = fixture.store.trim_history(at(4)).await.unwrap_err();
    assert_eq!(error, StoreError::AuditDamaged(ChainFault::Changed { id: 2 }));
    assert_eq!(fixture.audit().await.len(), 6);
    assert_eq!(fault(&fixture).await, Some(ChainFault::Changed { id: 2 }));
    fixture.store.close().await;
}

/// An exported page is a chain of its own: it follows from the row before it.
async fn pages_follow_from_each_other(on: Backend) {
    let fixture = six(on).await;
    let log = fixture.store.audit_log();
    let all = log.after(0).await.unwrap();
    assert_eq!(all.len(), 6);
    assert_eq!(all[0].hash_before, ChainHash::START);
    assert_eq!(log.after(4).await.unwrap(), all[4..]);
    fixture.store.trim_history(at(2)).await.unwrap();
    assert_eq!(log.after(0).await.unwrap(), all[2..]);
    let mut chain = ChainReader::after(2, all[2].hash_before);
    for link in &all[2..] {
        chain.read(link, &[]).unwrap();
    }
    assert_eq!(Some(chain.hash()), all[5].hash);
    assert_eq!(log.after(6).await.unwrap(), []);
    fixture.finish().await;
}

/// The rows of an older version are chained when the schema is brought up, gaps and all.
async fn an_older_audit_is_chained(on: Backend) {
    let home = older(on).await;
    let overriding = match on {
        Backend::Sqlite => "",
        Backend::Postgres => " OVERRIDING SYSTEM VALUE",
    };
    let rows: Vec<_> = (1..=1100)
        .map(|id| format!("({}, {id}, 'ada', 'target-changed', 'web', 'changed')", 2 * id))
        .collect();
    let insert = format!(
        "INSERT INTO audit (id, at, principal, action, target_id, outcome){overriding} \
         VALUES {}",
        rows.join(", ")
    );
    crate::backend::execute(&home.location, &insert).await.unwrap();
    let fixture = Fixture::with(home, |_| {}).await;
    let report = fixture.store.verify_audit().await.unwrap();
    assert!(report.is_whole(), "{report:?}");
    assert_eq!((report.rows, report.first, report.last), (1100, Some(2), 2200));
    fixture.sync(vec![target("web", &["head"])], 5).await;
    let fixture = fixture.reopen().await;
    let report = fixture.store.verify_audit().await.unwrap();
    assert_eq!((report.fault, report.rows, report.last), (None, 1101, 2201));
    fixture.finish().await;
}

/// Records by hand, again and again.
async fn keep_auditing(store: Store, clock: Arc<AtomicI64>, stop: Arc<AtomicBool>) -> usize {
    let mut audited = 0;
    while !stop.load(Ordering::Relaxed) {
        let now = clock.fetch_add(1, Ordering::Relaxed);
        let recorded = store.record(by_hand(now, Outcome::Pass)).await.unwrap();
        audited += usize::from(matches!(recorded, Recorded::Applied { .. }));
    }
    audited
}

/// A3, R6: hosts that write at once make one chain, and who verifies it or cuts it meanwhile
/// finds it whole.
async fn one_chain_of_all_hosts(on: Backend) {
    let fixture = Fixture::with_web(on).await;
    let other = match on {
        Backend::Sqlite => fixture.store.clone(),
        Backend::Postgres => Store::open(Options::at(fixture.home.location.clone())).await.unwrap(),
    };
    let clock = Arc::new(AtomicI64::new(1));
    let stop = Arc::new(AtomicBool::new(false));
    let writers = [&other, &fixture.store, &other].map(|store| {
        tokio::spawn(keep_auditing(store.clone(), Arc::clone(&clock), Arc::clone(&stop)))
    });
    // As the command line does it: from another process's connections.
    let log = AuditLog::new(&Options::at(fixture.home.location.clone()));
    let mut last = 0;
    while last < 300 {
        let report = log.verify(None).await.unwrap();
        assert!(report.is_whole(), "{report:?}");
        last = report.last;
        fixture.store.trim_history(at(last / 2)).await.unwrap();
    }
    stop.store(true, Ordering::Relaxed);
    let mut audited = 1;
    for writer in writers {
        audited += writer.await.unwrap();
    }
    let report = log.verify(None).await.unwrap();
    assert!(report.is_whole(), "{report:?}");
    assert_eq!(usize::try_from(report.last).unwrap(), audited);
    log.close().await;
    if on == Backend::Postgres {
        other.close().await;
    }
    fixture.finish().await;
}

on_both!(
    what_was_written_is_whole,
    a_change_of_any_column_is_found,
    other_damage_is_found,
    a_head_that_was_kept_tells_more,
    the_triggers_stand,
    retention_leaves_a_chain,
    retention_goes_in_steps,
    retention_keeps_evidence,
    pages_follow_from_each_other,
    an_older_audit_is_chained,
    [flavor = "multi_thread", worker_threads = 4] one_chain_of_all_hosts,
);
