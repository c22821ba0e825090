//! The store against the rules of the model, over random interleavings: contract T2 to T8, R1
//! to R3, R8, R9, A1, A2. After every step both must hold the same.

mod reference;
mod steps;

use probehost_store::{AuditFilter, Options, Store, TransitionFilter};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestCaseError};

use crate::backend::{Backend, Home};

use self::reference::Reference;
use self::steps::{Step, step};

/// Runs steps through the store and the reference, and compares them after each.
async fn hold_equal(on: Backend, steps: &[Vec<Step>]) -> Result<(), TestCaseError> {
    let home = Home::new(on).await;
    let store = Store::open(Options::at(home.location.clone())).await.unwrap();
    let mut reference = Reference::default();
    for together in steps {
        // What a probe saw when it began, it saw before any of these.
        let asked: Vec<_> = together.iter().map(|step| reference.ask(step)).collect();
        // All of them are in the queue, in this order, before the first is answered.
        let answers: Vec<_> = asked.iter().map(|asked| asked.submit(&store)).collect();
        for (asked, answer) in asked.into_iter().zip(answers) {
            let expected = reference.answer(&asked);
            prop_assert_eq!(answer.await, expected, "{:?}", asked);
        }
        compare(&store, &mut reference).await?;
    }
    prop_assert_eq!(store.check_integrity().await.unwrap(), Vec::<String>::new());
    store.close().await;
    Ok(())
}

async fn compare(store: &Store, reference: &mut Reference) -> Result<(), TestCaseError> {
    prop_assert_eq!(store.targets().await.unwrap(), reference.targets());
    // The newest as many as were added; and before them stands what stood last.
    let new = std::mem::take(&mut reference.transitions);
    let limit = u32::try_from(new.len()).unwrap() + 1;
    let mut stored =
        store.transitions(&TransitionFilter { limit, ..Default::default() }).await.unwrap();
    stored.reverse();
    let fresh = stored.len().saturating_sub(new.len());
    let last = stored[..fresh].last().map_or(0, |row| row.id);
    prop_assert_eq!(last, reference.last_transition);
    reference.last_transition = stored.last().map_or(0, |row| row.id);
    let stored: Vec<_> = stored.drain(fresh..).map(reference::without_id).collect();
    prop_assert_eq!(stored, new);

    let new = std::mem::take(&mut reference.audit);
    let limit = u32::try_from(new.len()).unwrap() + 1;
    let mut stored = store.audit(&AuditFilter { limit, ..Default::default() }).await.unwrap();
    stored.reverse();
    let fresh = stored.len().saturating_sub(new.len());
    let last = stored[..fresh].last().map_or(0, |row| row.id);
    prop_assert_eq!(last, reference.last_audit);
    reference.last_audit = stored.last().map_or(0, |row| row.id);
    let stored: Vec<_> =
        stored.drain(fresh..).map(|row| probehost_model::AuditEntry { id: 0, ..row }).collect();
    prop_assert_eq!(stored, new);
    Ok(())
}

type Steps = Vec<Vec<Step>>;

fn steps() -> impl Strategy<Value = Steps> {
    prop::collection::vec(prop::collection::vec(step(), 1..8), 1..40)
}

/// About 20 × 4 steps a case; PROPTEST_CASES asks for more.
fn config(cases: u32) -> Config {
    let asked = std::env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse().ok());
    Config { cases: asked.unwrap_or(cases), ..Config::default() }
}

fn run(on: Backend, steps: &Steps) -> Result<(), TestCaseError> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(hold_equal(on, steps))
}

proptest! {
    #![proptest_config(config(150))]

    /// R1 and the rest: whatever comes in whatever order, late, equal, overtaken, reset,
    /// disabled, deleted, revived or reconfigured mid-probe, one by one or batched, the store
    /// holds what the rules say.
    #[test]
    fn the_store_follows_the_rules(steps in steps()) {
        run(Backend::Sqlite, &steps)?;
    }
}

proptest! {
    #![proptest_config(config(30))]

    /// R6: the same on PostgreSQL.
    #[test]
    fn the_store_follows_the_rules_on_postgres(steps in steps()) {
        if !probehost_test_support::postgres::skip_unless_installed() {
            run(Backend::Postgres, &steps)?;
        }
    }
}
