//! What the store has to hold, told by the rules of the model and a few maps.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use probehost_model::{
    Action, AuditEntry, Check, CheckId, Observation, Outcome, Record, Refusal, Role, Source,
    Status, Target, Thresholds, Timestamp, Transition, Trigger, advance, reset,
};
use probehost_store::{Recorded, SaveReport, Store, StoreError, StoredTarget, Write};

use super::steps::{CheckState, Seen, Step, TargetState};

/// Who saves.
const PRINCIPAL: &str = "file";

/// A step made concrete: what is asked of the store.
#[derive(Debug)]
pub(crate) enum Asked {
    Record(Write),
    Sync(Vec<Target>, HashMap<CheckId, String>, Timestamp),
    SetEnabled(String, bool, Timestamp),
    Delete(String, Timestamp),
}

/// What is answered. Ids of transitions are left out: they are compared by their order.
#[derive(Debug, PartialEq)]
pub(crate) enum Answer {
    Applied { from: Status, before: Option<probehost_model::Reason>, record: Record, changed: bool },
    Refused(Refusal),
    Saved(SaveReport),
    NoSuchTarget,
}

impl Asked {
    /// Puts it into the store's queue.
    pub(crate) fn submit(&self, store: &Store) -> Pin<Box<dyn Future<Output = Answer>>> {
        let saved = |result: Result<SaveReport, StoreError>| match result {
            Ok(report) => Answer::Saved(report),
            Err(StoreError::NoSuchTarget(_)) => Answer::NoSuchTarget,
            Err(error) => panic!("{error}"),
        };
        match self {
            Self::Record(write) => {
                let answer = store.record(write.clone());
                Box::pin(async move {
                    match answer.await.unwrap() {
                        Recorded::Applied { from, reason_before, record, transition_id } => {
                            let changed = transition_id.is_some();
                            Answer::Applied {
                                from,
                                before: reason_before,
                                record: *record,
                                changed,
                            }
                        }
                        Recorded::Refused(refusal) => Answer::Refused(refusal),
                    }
                })
            }
            Self::Sync(targets, subjects, now) => {
                let answer =
                    store.sync_file_targets(targets.clone(), subjects.clone(), *now, PRINCIPAL);
                Box::pin(async move { saved(answer.await) })
            }
            Self::SetEnabled(target, enabled, now) => {
                let answer = store.set_enabled(target, *enabled, *now, PRINCIPAL);
                Box::pin(async move { saved(answer.await) })
            }
            Self::Delete(target, now) => {
                let answer = store.delete_target(target, *now, PRINCIPAL);
                Box::pin(async move { saved(answer.await) })
            }
        }
    }
}

/// What the store has to hold.
#[derive(Default)]
pub(crate) struct Reference {
    /// Also the deleted ones, which are told apart by the second value.
    targets: BTreeMap<String, (Target, bool)>,
    records: BTreeMap<CheckId, Record>,
    /// Every `updated_at` that a target had, oldest first.
    changes: BTreeMap<String, Vec<Timestamp>>,
    /// The clock of saves.
    clock: i64,
    /// What was added since the last comparison, with ids of 0.
    pub(crate) transitions: Vec<Transition>,
    pub(crate) audit: Vec<AuditEntry>,
    /// The last ids of the comparison before.
    pub(crate) last_transition: i64,
    pub(crate) last_audit: i64,
}

pub(crate) fn without_id(transition: Transition) -> Transition {
    Transition { id: 0, ..transition }
}

impl Reference {
    /// What the store has to answer to [`Store::targets`].
    pub(crate) fn targets(&self) -> Vec<StoredTarget> {
        let live = self.targets.values().filter(|(_, deleted)| !deleted);
        live.map(|(target, _)| StoredTarget {
            target: target.clone(),
            records: target
                .checks
                .iter()
                .filter_map(|check| {
                    let record = self.records.get(&target.check_id(check))?;
                    Some((check.name.clone(), record.clone()))
                })
                .collect(),
        })
        .collect()
    }

    /// A step as seen from now.
    pub(crate) fn ask(&mut self, step: &Step) -> Asked {
        match step {
            Step::Observe(seen) => Asked::Record(self.observation(seen)),
            Step::Sync { targets, ahead } => {
                let now = self.tick(*ahead);
                let targets: Vec<Target> = (0..)
                    .zip(targets)
                    .filter_map(|(number, state)| Some(target(number, state.as_ref()?)))
                    .collect();
                let checks = targets.iter().flat_map(|target| {
                    target.checks.iter().map(|check| (target.check_id(check), check))
                });
                let subjects = checks
                    .map(|(id, check)| (id, format!("subject of {}", check.config)))
                    .collect();
                Asked::Sync(targets, subjects, now)
            }
            Step::SetEnabled { target, enabled, ahead } => {
                Asked::SetEnabled(format!("t{target}"), *enabled, self.tick(*ahead))
            }
            Step::Delete { target, ahead } => {
                Asked::Delete(format!("t{target}"), self.tick(*ahead))
            }
        }
    }

    fn tick(&mut self, ahead: i64) -> Timestamp {
        self.clock += ahead;
        Timestamp::from_micros(self.clock)
    }

    fn observation(&self, seen: &Seen) -> Write {
        let check = CheckId::new(&format!("t{}", seen.target), &format!("c{}", seen.check));
        let changes = self.changes.get(&check.target).map_or(&[][..], Vec::as_slice);
        let seen_updated_at = changes.iter().rev().nth(seen.changes_ago).or(changes.last());
        let last = self.records.get(&check).and_then(|record| record.last_attempt_at);
        let last = last.map_or(100, Timestamp::as_micros);
        Write {
            check,
            seen_updated_at: seen_updated_at.copied().unwrap_or(Timestamp::from_micros(0)),
            observation: Observation {
                at: Timestamp::from_micros(last + seen.later),
                subject: format!("host-{}", seen.subject),
                outcome: seen.outcome.clone(),
            },
            thresholds: seen.thresholds,
            trigger: seen.trigger,
            principal: Cow::Borrowed("ada"),
            denied: (0..seen.denied).map(|number| format!("tcp://denied:{number}")).collect(),
        }
    }

    /// Does it, and says what the store has to answer.
    pub(crate) fn answer(&mut self, asked: &Asked) -> Answer {
        match asked {
            Asked::Record(write) => self.record(write),
            Asked::Sync(targets, subjects, now) => self.sync(targets, subjects, *now),
            Asked::SetEnabled(id, enabled, now) => match self.targets.get(id) {
                Some((target, false)) => {
                    let changed = Target { enabled: *enabled, ..target.clone() };
                    let mut report = SaveReport::default();
                    self.update(&changed, &HashMap::new(), *now, &mut report);
                    Answer::Saved(report)
                }
                _ => Answer::NoSuchTarget,
            },
            Asked::Delete(id, now) => match self.targets.get(id) {
                Some((_, false)) => {
                    let mut report = SaveReport::default();
                    self.delete(id, *now, &mut report);
                    Answer::Saved(report)
                }
                _ => Answer::NoSuchTarget,
            },
        }
    }

    fn record(&mut self, write: &Write) -> Answer {
        let standing = self.targets.get(&write.check.target).is_some_and(|(target, deleted)| {
            !deleted
                && target.enabled
                && target.updated_at == write.seen_updated_at
                && target.check(&write.check.check).is_some()
        });
        if !standing {
            return Answer::Refused(Refusal::Changed);
        }
        let prior = self.records.get(&write.check);
        let record = match advance(prior, &write.observation, write.thresholds) {
            Ok(record) => record,
            Err(refusal) => return Answer::Refused(refusal),
        };
        let from = prior.map_or(Status::Unknown, |prior| prior.status);
        let before = prior.and_then(|prior| prior.reason);
        let changed = from != record.status;
        for call in &write.denied {
            self.tell(write, from, record.status, Action::CapabilityDenied, call.clone());
        }
        if changed || write.trigger == Trigger::Manual {
            let by_hand = write.trigger == Trigger::Manual;
            let action = if by_hand { Action::Probe } else { Action::Transition };
            let outcome = match &write.observation.outcome {
                Outcome::Pass => "pass".to_owned(),
                Outcome::Fail(failure) => format!("fail {}: {}", failure.reason, failure.message()),
                Outcome::Inconclusive { error } => format!("inconclusive: {error}"),
            };
            self.tell(write, from, record.status, action, outcome);
        }
        if changed {
            self.transitions.push(Transition {
                id: 0,
                at: write.observation.at,
                check: write.check.clone(),
                from,
                to: record.status,
                reason: record.reason,
                message: record.message.clone(),
                streak: record.streak,
                trigger: write.trigger,
            });
        }
        self.records.insert(write.check.clone(), record.clone());
        Answer::Applied { from, before, record, changed }
    }

    fn tell(&mut self, write: &Write, from: Status, to: Status, action: Action, outcome: String) {
        self.audit.push(AuditEntry {
            id: 0,
            at: write.observation.at,
            principal: write.principal.to_string(),
            action,
            trigger: Some(write.trigger),
            target: write.check.target.clone(),
            check: Some(write.check.check.clone()),
            from: Some(from.to_string()),
            to: Some(to.to_string()),
            outcome,
        });
    }

    fn sync(
        &mut self,
        targets: &[Target],
        subjects: &HashMap<CheckId, String>,
        now: Timestamp,
    ) -> Answer {
        let mut report = SaveReport::default();
        for target in targets {
            match self.targets.get(&target.id) {
                Some((_, false)) => self.update(target, subjects, now, &mut report),
                _ => {
                    if target.enabled {
                        report.added.extend(target.checks.iter().map(|c| target.check_id(c)));
                    }
                    self.put(target, now);
                    report.created.push(target.id.clone());
                    self.tell_change(&target.id, "created", now);
                }
            }
        }
        let gone: Vec<String> = self
            .targets
            .iter()
            .filter(|(id, (_, deleted))| !deleted && targets.iter().all(|t| t.id != **id))
            .map(|(id, _)| id.clone())
            .collect();
        for id in gone {
            self.delete(&id, now, &mut report);
        }
        Answer::Saved(report)
    }

    fn update(
        &mut self,
        new: &Target,
        subjects: &HashMap<CheckId, String>,
        now: Timestamp,
        report: &mut SaveReport,
    ) {
        let (old, _) = self.targets[&new.id].clone();
        let but_time = Target { updated_at: old.updated_at, ..new.clone() };
        if but_time == old {
            return;
        }
        for check in &old.checks {
            if new.check(&check.name).is_none() {
                self.records.remove(&old.check_id(check));
            }
        }
        for check in new.checks.iter().filter(|_| new.enabled) {
            let id = new.check_id(check);
            match old.check(&check.name) {
                None => report.added.push(id),
                Some(before) if (&before.kind, &before.config) != (&check.kind, &check.config) => {
                    self.records.insert(id.clone(), reset(&subjects[&id]));
                    report.reset.push(id);
                }
                Some(_) => {}
            }
        }
        self.put(new, now);
        report.changed.push(new.id.clone());
        if (Target { enabled: old.enabled, ..but_time }) != old {
            self.tell_change(&new.id, "changed", now);
        }
        if new.enabled != old.enabled {
            let outcome = if new.enabled { "enabled" } else { "disabled" };
            self.tell_change(&new.id, outcome, now);
        }
    }

    fn delete(&mut self, id: &str, now: Timestamp, report: &mut SaveReport) {
        let (target, _) = self.targets[id].clone();
        self.records.retain(|check, _| check.target != id);
        self.put(&target, now);
        self.targets.get_mut(id).unwrap().1 = true;
        report.deleted.push(id.to_owned());
        self.tell_change(id, "deleted", now);
    }

    /// Stores a target as changed now, or just after its last change when the clock stands
    /// before that.
    fn put(&mut self, target: &Target, now: Timestamp) {
        let changes = self.changes.entry(target.id.clone()).or_default();
        let updated_at = match changes.last() {
            Some(last) if *last >= now => Timestamp::from_micros(last.as_micros() + 1),
            _ => now,
        };
        changes.push(updated_at);
        let target = Target { updated_at, ..target.clone() };
        self.targets.insert(target.id.clone(), (target, false));
    }

    fn tell_change(&mut self, target: &str, outcome: &str, now: Timestamp) {
        self.audit.push(AuditEntry {
            id: 0,
            at: now,
            principal: PRINCIPAL.to_owned(),
            action: Action::TargetChanged,
            trigger: None,
            target: target.to_owned(),
            check: None,
            from: None,
            to: None,
            outcome: outcome.to_owned(),
        });
    }
}

fn target(number: usize, state: &TargetState) -> Target {
    Target {
        id: format!("t{number}"),
        name: format!("Target {number}"),
        labels: BTreeMap::from([("label".to_owned(), state.label.to_string())]),
        enabled: state.enabled,
        source: Source::File,
        updated_at: Timestamp::from_micros(0),
        managed: None,
        checks: (0..)
            .zip(&state.checks)
            .filter_map(|(number, state)| Some(check(number, state.as_ref()?)))
            .collect(),
    }
}

fn check(number: usize, state: &CheckState) -> Check {
    Check {
        name: format!("c{number}"),
        kind: format!("kind-{}", state.kind),
        role: Role::Liveness,
        config: serde_json::json!({ "version": state.config }),
        interval: state.interval.map(|minutes| Duration::from_secs(60 * u64::from(minutes))),
        timeout: Duration::from_secs(10),
        thresholds: Thresholds { failure: state.failure, inconclusive: 2 },
    }
}
