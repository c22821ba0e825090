//! What the event stream tells: contract E1, E2.

use std::collections::HashSet;
use std::time::Duration;

use probehost_model::{Change, ChangeEvent, Outcome, Reason, Status};
use probehost_store::{NotifyPlan, Options, Store};
use serde_json::json;
use sqlx::migrate::{Migration, MigrationType, Migrator};
use sqlx::{ConnectOptions as _, Connection as _, SqlSafeStr as _};

use crate::backend::{Backend, Home, on_both};
use crate::common::{Fixture, at, check, fail, seen, target};

const LIMIT: Duration = Duration::from_secs(30);

async fn told(store: &Store) -> Vec<ChangeEvent> {
    store.events_after(0, 1000).await.unwrap()
}

/// The events about a check: status before, status now, reason now.
async fn of_check(store: &Store) -> Vec<(Status, Status, Option<Reason>)> {
    let events = told(store).await.into_iter();
    events
        .filter_map(|event| match event.change {
            Change::Status { from, to, reason, .. } => Some((from, to, reason)),
            _ => None,
        })
        .collect()
}

/// E1: one event when the status or the reason changes, none for a result that changes neither.
async fn changes_are_told_and_results_are_not(on: Backend) {
    use Status::{Healthy, Unhealthy, Unknown};
    let fixture = Fixture::with_web(on).await;
    fixture
        .run(&[
            Outcome::Pass,
            Outcome::Pass,
            fail(Reason::Network),
            fail(Reason::Network),
            fail(Reason::Network),
            fail(Reason::Timeout),
            Outcome::Pass,
            fail(Reason::Answer),
            Outcome::Pass,
        ])
        .await;
    assert_eq!(
        of_check(&fixture.store).await,
        [
            (Unknown, Healthy, None),
            (Healthy, Healthy, Some(Reason::Network)),
            (Healthy, Unhealthy, Some(Reason::Network)),
            (Unhealthy, Unhealthy, Some(Reason::Timeout)),
            (Unhealthy, Healthy, None),
            (Healthy, Healthy, Some(Reason::Answer)),
            (Healthy, Healthy, None),
        ]
    );
    fixture.finish().await;
}

/// E1, T7: a save that resets a record changes its status; one of a record of which nothing is
/// known changes nothing. A refused observation tells nothing.
async fn saves_are_told(on: Backend) {
    let fixture = Fixture::with_web(on).await;
    let with_url = |url: &str| {
        let mut changed = target("web", &[]);
        changed
            .checks
            .push(probehost_model::Check { config: json!({ "url": url }), ..check("head") });
        vec![changed]
    };
    fixture.sync(with_url("https://other"), 5).await;
    assert_eq!(of_check(&fixture.store).await, []);
    fixture.record(seen(6, Outcome::Pass)).await;
    assert_eq!(of_check(&fixture.store).await, [], "a probe from before the save");

    let fixture = Fixture::with_web(on).await;
    fixture.run(&[Outcome::Pass]).await;
    fixture.sync(with_url("https://other"), 7).await;
    fixture.sync(Vec::new(), 8).await;
    let events = told(&fixture.store).await;
    let (last, before) = (&events[events.len() - 2], &events[events.len() - 3]);
    let words: Vec<_> = events.iter().map(|event| event.change.kind().as_str()).collect();
    assert_eq!(words, ["target", "status", "status", "target", "target"]);
    let Change::Status { check, from, to, .. } = &before.change else { panic!("{before:?}") };
    assert_eq!((check.as_str(), *from, *to), ("head", Status::Healthy, Status::Unknown));
    assert_eq!((last.target.as_str(), last.at), ("web", at(7)));
    fixture.finish().await;
}

/// E2: what is old goes, in the order of ids and never the newest, and an id is never used again.
async fn old_events_go(on: Backend) {
    let fixture = Fixture::with_web(on).await;
    fixture.run(&[Outcome::Pass, fail(Reason::Network), Outcome::Pass]).await;
    let all = told(&fixture.store).await;
    assert_eq!(all.len(), 4);
    let bounds = |store: Store| async move {
        let bounds = store.event_bounds().await.unwrap();
        (bounds.first, bounds.last)
    };
    assert_eq!(bounds(fixture.store.clone()).await, (all[0].id, all[3].id));
    // All of them are planned: see `notifying` for those that are not.
    let revision = fixture.store.notify_state().await.unwrap().revision;
    let plan = NotifyPlan { revision, cursor: all[3].id, ..NotifyPlan::default() };
    assert!(fixture.store.plan_notifications(plan).await.unwrap());
    fixture.store.trim_events(at(2)).await.unwrap();
    assert_eq!(told(&fixture.store).await, all[2..]);
    fixture.store.trim_events(at(1000)).await.unwrap();
    assert_eq!(told(&fixture.store).await, all[3..]);
    assert_eq!(bounds(fixture.store.clone()).await, (all[3].id, all[3].id));
    fixture.record(seen(9, fail(Reason::Timeout))).await;
    let next = told(&fixture.store).await[1].id;
    assert!(next > all[3].id);
    assert_eq!(fixture.store.events_after(all[3].id, 1).await.unwrap()[0].id, next);
    fixture.finish().await;
}

/// E2: who reads on from the last id that it saw misses nothing and sees nothing twice, while
/// two hosts write to one database.
async fn a_reader_misses_nothing(on: Backend) {
    const EACH: i64 = 60;
    let fixture = Fixture::new(on).await;
    let other = Store::open(Options::at(fixture.home.location.clone())).await.unwrap();
    fixture.sync(vec![target("one", &["head"]), target("two", &["head"])], 0).await;
    let begin = fixture.store.event_bounds().await.unwrap().last;
    let reader = async {
        let mut found = Vec::new();
        let mut last = begin;
        while found.len() < 2 * usize::try_from(EACH).unwrap() {
            for event in fixture.store.events_after(last, 7).await.unwrap() {
                assert!(event.id > last);
                last = event.id;
                found.push((event.target, event.at));
            }
        }
        found
    };
    let writer = |store: Store, target: &'static str| async move {
        for now in 1..=EACH {
            // Each changes the reason.
            let reason = if now % 2 == 0 { Reason::Network } else { Reason::Timeout };
            let mut write = seen(now, fail(reason));
            write.check.target = target.to_owned();
            store.record(write).await.unwrap();
        }
    };
    let (found, (), ()) = tokio::time::timeout(LIMIT, async {
        tokio::join!(reader, writer(fixture.store.clone(), "one"), writer(other.clone(), "two"))
    })
    .await
    .unwrap();
    let once: HashSet<_> = found.iter().collect();
    assert_eq!(once.len(), found.len());
    other.close().await;
    fixture.finish().await;
}

/// E2: this host's commits are news.
async fn commits_are_news(on: Backend) {
    let fixture = Fixture::with_web(on).await;
    let mut news = fixture.store.news();
    news.mark_unchanged();
    fixture.record(seen(1, Outcome::Pass)).await;
    assert!(news.has_changed().unwrap());
    assert_eq!(fixture.store.is_shared(), on == Backend::Postgres);
    fixture.finish().await;
}

/// A database as the first version has made it.
pub(crate) async fn older(on: Backend) -> Home {
    let home = Home::new(on).await;
    let first = match on {
        Backend::Sqlite => include_str!("../../migrations/sqlite/0001_targets_records_history.sql"),
        Backend::Postgres => {
            include_str!("../../migrations/postgres/0001_targets_records_history.sql")
        }
    };
    let title = "targets records history".into();
    let step = Migration::new(1, title, MigrationType::Simple, first.into_sql_str(), false);
    let migrator = Migrator::with_migrations(vec![step]);
    match home.location.path() {
        Some(path) => {
            let options = sqlx::sqlite::SqliteConnectOptions::new().filename(path);
            let mut conn = options.create_if_missing(true).connect().await.unwrap();
            migrator.run_direct(None, &mut conn, false).await.unwrap();
            conn.close().await.unwrap();
        }
        None => {
            let url = home.location.to_string();
            let mut conn = sqlx::postgres::PgConnection::connect(&url).await.unwrap();
            migrator.run_direct(None, &mut conn, false).await.unwrap();
            conn.close().await.unwrap();
        }
    }
    home
}

/// A database that an older version has made is brought up, with what is in it.
async fn an_older_database_is_brought_up(on: Backend) {
    let home = older(on).await;
    crate::backend::execute(
        &home.location,
        "INSERT INTO targets (id, name, labels, enabled, source, updated_at) \
         VALUES ('old', 'Old', '{}', TRUE, 'file', 3)",
    )
    .await
    .unwrap();
    let fixture = Fixture::with(home, |_| {}).await;
    let stored = fixture.store.target("old").await.unwrap().unwrap();
    assert_eq!((stored.target.name.as_str(), stored.target.managed), ("Old", None));
    assert_eq!(fixture.store.event_bounds().await.unwrap().last, 0);
    fixture.finish().await;
}

on_both!(
    changes_are_told_and_results_are_not,
    saves_are_told,
    old_events_go,
    [flavor = "multi_thread"] a_reader_misses_nothing,
    commits_are_news,
    an_older_database_is_brought_up,
);
