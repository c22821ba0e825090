//! Saves: what changes targets, in one transaction each, compared with what is stored.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::time::Duration;

use probehost_model::{Change as Told, Check, CheckId, Record, Source, Status, Target, Timestamp};
use serde::Serialize;
use serde::de::DeserializeOwned;
use sqlx::AssertSqlSafe;

use crate::StoreError;
use crate::change;
use crate::conn::{Conn, Value};
use crate::events::NewEvent;
use crate::failure::Failure;
use crate::history::{self, NewAudit};
use crate::lifecycle;
use crate::stored::{self, Stored};

/// What a save did. Nothing in it: nothing differed.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SaveReport {
    /// Targets that are new, or back after a deletion.
    pub created: Vec<String>,
    /// Targets that were there and differ now, enabled or disabled ones too.
    pub changed: Vec<String>,
    /// Targets that are gone, with their records.
    pub deleted: Vec<String>,
    /// Checks that were not there before, of enabled targets: no record yet.
    pub added: Vec<CheckId>,
    /// Checks whose record was reset, because their kind or config differs (contract T7).
    pub reset: Vec<CheckId>,
}

impl SaveReport {
    /// The checks to probe off-cycle: nothing is known of what they watch now.
    pub fn off_cycle(&self) -> impl Iterator<Item = &CheckId> {
        self.added.iter().chain(&self.reset)
    }
}

/// One save.
#[derive(Debug)]
pub(crate) struct Save {
    pub(crate) change: Change,
    pub(crate) now: Timestamp,
    pub(crate) principal: String,
}

/// What is to be so afterwards.
#[derive(Debug)]
pub(crate) enum Change {
    Sync { targets: Vec<Target>, subjects: HashMap<CheckId, String> },
    Create { target: Target },
    Replace { target: Target, subjects: HashMap<CheckId, String> },
    SetEnabled { target: String, enabled: bool },
    Delete { target: String },
}

/// Does all of a save but begin and commit.
pub(crate) async fn apply(conn: &mut Conn, save: &Save) -> Result<SaveReport, Failure> {
    if let Some(lock) = conn.dialect().save_lock() {
        conn.execute(lock, &[]).await?;
    }
    let (audit, told) = (Vec::new(), Vec::new());
    let mut saving = Saving { conn, save, audit, told, report: SaveReport::default() };
    match &save.change {
        Change::Sync { targets, subjects } => saving.sync(targets, subjects).await?,
        Change::Create { target } => saving.create_first(target).await?,
        Change::Replace { target, subjects } => {
            let stored = saving.live(&target.id).await?;
            if stored.target.source == Source::File && target.source != Source::File {
                return Err(StoreError::OfTheFile(stored.target.id).into());
            }
            saving.update(&stored, target, subjects).await?;
        }
        Change::SetEnabled { target, enabled } => saving.set_enabled(target, *enabled).await?,
        Change::Delete { target } => {
            let stored = saving.live(target).await?.target;
            saving.delete(&stored).await?;
        }
    }
    let Saving { conn, audit, told, report, .. } = saving;
    history::tell(conn, &audit, &told).await?;
    Ok(report)
}

/// A save at work.
struct Saving<'a> {
    conn: &'a mut Conn,
    save: &'a Save,
    audit: Vec<NewAudit<'a>>,
    told: Vec<NewEvent<'a>>,
    report: SaveReport,
}

impl<'a> Saving<'a> {
    async fn sync(
        &mut self,
        targets: &'a [Target],
        subjects: &HashMap<CheckId, String>,
    ) -> Result<(), Failure> {
        refuse_duplicates(targets)?;
        let text = format!("{} ORDER BY targets.id, checks.name", stored::SELECT);
        let found = self.conn.fetch_all(AssertSqlSafe(text), &[]).await?;
        let mut before: BTreeMap<String, Stored> = stored::assemble(&found)?
            .into_iter()
            .map(|stored| (stored.target.id.clone(), stored))
            .collect();
        for target in targets {
            match before.remove(&target.id) {
                Some(stored) if !stored.deleted => {
                    self.update(&stored, target, subjects).await?;
                }
                gone => self.create(target, gone.map(|stored| stored.target.updated_at)).await?,
            }
        }
        for stored in before.into_values() {
            if !stored.deleted && stored.target.source == Source::File {
                self.delete(&stored.target).await?;
            }
        }
        Ok(())
    }

    /// A target whose id was never another's, not even a deleted one's.
    async fn create_first(&mut self, target: &'a Target) -> Result<(), Failure> {
        refuse_duplicates(std::slice::from_ref(target))?;
        let id = target.id.as_str();
        let text = format!("{} WHERE targets.id = $1 ORDER BY checks.name", stored::SELECT);
        let found = self.conn.fetch_all(AssertSqlSafe(text), &[Value::Text(id)]).await?;
        match stored::assemble(&found)?.into_iter().next() {
            None => self.create(target, None).await,
            Some(stored) if stored.deleted => Err(StoreError::WasDeleted(id.to_owned()).into()),
            Some(_) => Err(StoreError::TargetExists(id.to_owned()).into()),
        }
    }

    /// A target that is new, or was deleted when its row was last changed at `before`.
    async fn create(
        &mut self,
        target: &'a Target,
        before: Option<Timestamp>,
    ) -> Result<(), Failure> {
        let at = before.map_or(self.save.now, |before| later(before, self.save.now));
        change::put_target(self.conn, target, at).await?;
        for check in &target.checks {
            change::put_check(self.conn, &target.id, check).await?;
        }
        if target.enabled {
            self.report.added.extend(target.checks.iter().map(|check| target.check_id(check)));
        }
        self.report.created.push(target.id.clone());
        self.tell(&target.id, "created")?;
        Ok(())
    }

    /// A target that is there before and after.
    async fn update(
        &mut self,
        stored: &Stored,
        new: &'a Target,
        subjects: &HashMap<CheckId, String>,
    ) -> Result<(), Failure> {
        let old = &stored.target;
        let switched = old.enabled != new.enabled;
        let content = old.name != new.name
            || old.labels != new.labels
            || old.source != new.source
            || old.managed != as_stored(new.managed.as_ref())
            || !same_checks(old, new);
        if !switched && !content {
            return Ok(());
        }
        change::put_target(self.conn, new, later(old.updated_at, self.save.now)).await?;
        for gone in old.checks.iter().filter(|check| new.check(&check.name).is_none()) {
            change::remove_check(self.conn, &old.id, &gone.name).await?;
        }
        for check in &new.checks {
            let before = old.check(&check.name);
            if before.is_some_and(|before| same_check(before, check)) {
                continue;
            }
            change::put_check(self.conn, &new.id, check).await?;
            // The record of a disabled target stands, whatever is saved (contract T7).
            if !new.enabled {
                continue;
            }
            let id = new.check_id(check);
            match before {
                None => self.report.added.push(id),
                Some(before) if !same_probe(before, check) => {
                    let subject = subjects.get(&id).map_or("", String::as_str);
                    change::reset_record(self.conn, &id, check, subject, self.save.now).await?;
                    self.tell_reset(&id, stored.records.get(&check.name))?;
                    self.report.reset.push(id);
                }
                Some(_) => {}
            }
        }
        let runtime = |target: &Target| target.managed.as_ref().map(|m| m.runtime.clone());
        if runtime(old) != runtime(new) {
            self.forget_lifecycle(old).await?;
        }
        self.report.changed.push(new.id.clone());
        if content {
            self.tell(&new.id, "changed")?;
        }
        if switched {
            self.tell_switch(&new.id, new.enabled).await?;
        }
        Ok(())
    }

    async fn set_enabled(&mut self, id: &'a str, enabled: bool) -> Result<(), Failure> {
        let stored = self.live(id).await?.target;
        if stored.enabled != enabled {
            let at = later(stored.updated_at, self.save.now);
            change::put_target(self.conn, &Target { enabled, ..stored }, at).await?;
            self.report.changed.push(id.to_owned());
            self.tell_switch(id, enabled).await?;
        }
        Ok(())
    }

    /// Softly: the row stays, so that its id is never another target's (contract R9).
    async fn delete(&mut self, target: &Target) -> Result<(), Failure> {
        self.forget_lifecycle(target).await?;
        let at = later(target.updated_at, self.save.now);
        change::delete_target(self.conn, &target.id, at).await?;
        self.report.deleted.push(target.id.clone());
        self.tell(&target.id, "deleted")
    }

    /// A target that is not deleted.
    async fn live(&mut self, id: &str) -> Result<Stored, Failure> {
        let text = format!(
            "{} WHERE targets.deleted_at IS NULL AND targets.id = $1 ORDER BY checks.name",
            stored::SELECT
        );
        let found = self.conn.fetch_all(AssertSqlSafe(text), &[Value::Text(id)]).await?;
        let none = || Failure::Store(StoreError::NoSuchTarget(id.to_owned()));
        stored::assemble(&found)?.into_iter().next().ok_or_else(none)
    }

    async fn forget_lifecycle(&mut self, target: &Target) -> Result<(), Failure> {
        let Target { id, enabled, .. } = target;
        let told = lifecycle::forget(self.conn, id, *enabled, self.save.now).await?;
        self.told.extend(told);
        Ok(())
    }

    async fn tell_switch(&mut self, target: &str, enabled: bool) -> Result<(), Failure> {
        self.tell(target, if enabled { "enabled" } else { "disabled" })?;
        self.told.extend(lifecycle::switched(self.conn, target, enabled, self.save.now).await?);
        Ok(())
    }

    fn tell(&mut self, target: &str, outcome: &'static str) -> Result<(), Failure> {
        let Save { now, principal, .. } = self.save;
        self.audit.push(NewAudit::target_changed(*now, principal, target.to_owned(), outcome));
        let change = Told::Target { outcome: outcome.to_owned() };
        self.told.push(NewEvent::new(*now, target.to_owned(), &change)?);
        Ok(())
    }

    /// Nothing is known of the check any more.
    fn tell_reset(&mut self, id: &CheckId, before: Option<&Record>) -> Result<(), Failure> {
        let Some(before) = before else { return Ok(()) };
        if before.status == Status::Unknown && before.reason.is_none() {
            return Ok(());
        }
        let change = Told::Status {
            check: id.check.clone(),
            from: before.status,
            to: Status::Unknown,
            reason: None,
            message: String::new(),
            streak: 0,
        };
        self.told.push(NewEvent::new(self.save.now, id.target.clone(), &change)?);
        Ok(())
    }
}

/// When a change is said to be: now, but always later than the change before, also when the
/// clock was set back.
fn later(before: Timestamp, now: Timestamp) -> Timestamp {
    now.max(before.plus(Duration::from_micros(1)))
}

fn refuse_duplicates(targets: &[Target]) -> Result<(), StoreError> {
    let mut seen = HashSet::new();
    for target in targets {
        if !seen.insert((target.id.as_str(), None)) {
            return Err(StoreError::Duplicate(format!("the target {}", target.id)));
        }
        for check in &target.checks {
            if !seen.insert((target.id.as_str(), Some(check.name.as_str()))) {
                return Err(StoreError::Duplicate(format!("the check {}", target.check_id(check))));
            }
        }
    }
    Ok(())
}

fn same_checks(old: &Target, new: &Target) -> bool {
    old.checks.len() == new.checks.len()
        && new
            .checks
            .iter()
            .all(|check| old.check(&check.name).is_some_and(|before| same_check(before, check)))
}

fn same_check(old: &Check, new: &Check) -> bool {
    same_probe(old, new)
        && old.role == new.role
        && old.interval.map(change::micros) == new.interval.map(change::micros)
        && change::micros(old.timeout) == change::micros(new.timeout)
        && old.thresholds == new.thresholds
}

/// Whether two states of a check watch the same thing in the same way (contract T7).
fn same_probe(old: &Check, new: &Check) -> bool {
    old.kind == new.kind && Some(&old.config) == as_stored(Some(&new.config)).as_ref()
}

/// Something as it comes back from the store: a fraction may lose its last bit on the way, and
/// must not look like a change for it.
fn as_stored<T: Serialize + DeserializeOwned>(new: Option<&T>) -> Option<T> {
    serde_json::from_str(&serde_json::to_string(new?).ok()?).ok()
}
