//! What the tests of the store share: a store with a database of its own, targets, observations.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use probehost_model::{
    AuditEntry, Check, CheckId, Observation, Outcome, Reason, Record, Role, SYSTEM_PRINCIPAL,
    Source, Target, Thresholds, Timestamp, Transition, Trigger,
};
use probehost_store::{AuditFilter, Options, Recorded, SaveReport, Store, TransitionFilter, Write};
use serde_json::json;

use crate::backend::{self, Backend, Home};

pub(crate) const THRESHOLDS: Thresholds = Thresholds { failure: 2, inconclusive: 2 };

/// A store whose database goes with it.
pub(crate) struct Fixture {
    pub(crate) store: Store,
    pub(crate) home: Home,
}

impl Fixture {
    /// An empty store.
    pub(crate) async fn new(on: Backend) -> Self {
        Self::with(Home::new(on).await, |_| {}).await
    }

    /// A store on a database, with options changed.
    pub(crate) async fn with(home: Home, change: impl FnOnce(&mut Options)) -> Self {
        let mut options = Options::at(home.location.clone());
        change(&mut options);
        Self { store: Store::open(options).await.unwrap(), home }
    }

    /// A store with the enabled target `web` and its check `head`, saved at 0.
    pub(crate) async fn with_web(on: Backend) -> Self {
        let fixture = Self::new(on).await;
        fixture.sync(vec![target("web", &["head"])], 0).await;
        fixture
    }

    pub(crate) async fn sync(&self, targets: Vec<Target>, now: i64) -> SaveReport {
        self.store.sync_file_targets(targets, subjects(), at(now), "file").await.unwrap()
    }

    pub(crate) async fn record(&self, write: Write) -> Recorded {
        self.store.record(write).await.unwrap()
    }

    /// Records outcomes of `web/head` at 1, 2, … and gives the record after the last.
    pub(crate) async fn run(&self, outcomes: &[Outcome]) -> Record {
        let mut last = None;
        for (now, outcome) in (1..).zip(outcomes) {
            last = Some(landed(self.record(seen(now, outcome.clone())).await).1);
        }
        last.unwrap()
    }

    pub(crate) async fn web(&self) -> Option<Record> {
        self.store.record_of(&web()).await.unwrap()
    }

    /// Oldest first.
    pub(crate) async fn transitions(&self) -> Vec<Transition> {
        let filter = TransitionFilter { limit: 1000, ..TransitionFilter::default() };
        let mut found = self.store.transitions(&filter).await.unwrap();
        found.reverse();
        found
    }

    /// Oldest first, without what the targets' own changes left.
    pub(crate) async fn probe_audit(&self) -> Vec<AuditEntry> {
        let all = self.audit().await;
        all.into_iter().filter(|entry| entry.trigger.is_some()).collect()
    }

    /// Oldest first.
    pub(crate) async fn audit(&self) -> Vec<AuditEntry> {
        let filter = AuditFilter { limit: 1000, ..AuditFilter::default() };
        let mut found = self.store.audit(&filter).await.unwrap();
        found.reverse();
        found
    }

    /// The same database, opened anew.
    pub(crate) async fn reopen(self) -> Self {
        self.store.close().await;
        Self::with(self.home, |_| {}).await
    }

    /// Runs statements around the store.
    pub(crate) async fn try_execute(&self, statements: &str) -> Result<(), sqlx::Error> {
        backend::execute(&self.home.location, statements).await
    }

    pub(crate) async fn execute(&self, statements: &str) {
        self.try_execute(statements).await.unwrap();
    }

    /// Lets the database refuse new rows of a table, those of which `condition` is true.
    pub(crate) async fn refuse(&self, table: &str, condition: &str) {
        let statements = if self.home.location.path().is_some() {
            format!(
                "CREATE TRIGGER refuse BEFORE INSERT ON {table} WHEN {condition} \
                 BEGIN SELECT RAISE(ABORT, 'not this one'); END"
            )
        } else {
            format!(
                "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS \
                 $$ BEGIN RAISE EXCEPTION 'not this one'; END $$; \
                 CREATE TRIGGER refuse BEFORE INSERT ON {table} FOR EACH ROW \
                 WHEN ({condition}) EXECUTE FUNCTION refuse()"
            )
        };
        self.execute(&statements).await;
    }

    /// Ends the store and looks whether everything holds together.
    pub(crate) async fn finish(self) {
        assert_eq!(self.store.check_integrity().await.unwrap(), Vec::<String>::new());
        self.store.close().await;
    }
}

pub(crate) fn at(micros: i64) -> Timestamp {
    Timestamp::from_micros(micros)
}

pub(crate) fn web() -> CheckId {
    CheckId::new("web", "head")
}

pub(crate) fn fail(reason: Reason) -> Outcome {
    Outcome::fail(reason, "web:443: refused")
}

/// What a target is called after its config changed.
pub(crate) fn subjects() -> HashMap<CheckId, String> {
    HashMap::from([(web(), "new:443".to_owned())])
}

/// An enabled target with checks of those names.
pub(crate) fn target(id: &str, checks: &[&str]) -> Target {
    Target {
        id: id.to_owned(),
        name: id.to_uppercase(),
        labels: BTreeMap::from([("tier".to_owned(), "front".to_owned())]),
        enabled: true,
        source: Source::File,
        updated_at: at(0),
        managed: None,
        checks: checks.iter().map(|name| check(name)).collect(),
    }
}

pub(crate) fn check(name: &str) -> Check {
    Check {
        name: name.to_owned(),
        kind: "http-head".to_owned(),
        role: Role::Liveness,
        config: json!({ "url": "https://web" }),
        interval: Some(Duration::from_secs(60)),
        timeout: Duration::from_secs(10),
        thresholds: THRESHOLDS,
    }
}

/// A scheduled observation of `web/head` from a probe that saw the target as saved at 0.
pub(crate) fn seen(now: i64, outcome: Outcome) -> Write {
    Write {
        check: web(),
        seen_updated_at: at(0),
        observation: Observation { at: at(now), subject: "web:443".to_owned(), outcome },
        thresholds: THRESHOLDS,
        trigger: Trigger::Scheduled,
        principal: Cow::Borrowed(SYSTEM_PRINCIPAL),
        denied: Vec::new(),
    }
}

/// The same by hand.
pub(crate) fn by_hand(now: i64, outcome: Outcome) -> Write {
    Write { trigger: Trigger::Manual, principal: Cow::Borrowed("ada"), ..seen(now, outcome) }
}

/// What an observation that has to have landed replaced, and the record now.
pub(crate) fn landed(recorded: Recorded) -> (probehost_model::Status, Record) {
    match recorded {
        Recorded::Applied { from, record, .. } => (from, *record),
        Recorded::Refused(refusal) => panic!("refused: {refusal:?}"),
    }
}
