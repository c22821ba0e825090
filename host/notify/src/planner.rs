//! From events, results and time to what is to be told (contract E5). Does no I/O: what it needs
//! to know of targets is given to it, and what it wants written comes out as a plan.

mod faults;
mod known;
mod settling;

use std::collections::{BTreeMap, BTreeSet, HashMap};

use probehost_model::lifecycle::LifecycleState;
use probehost_model::notify::{Notification, NotificationKind, ProblemState, Settings};
use probehost_model::{Change, ChangeEvent, Reason, Status, Target, Timestamp};
use probehost_store::{NewDelivery, NotifyPlan, NotifyState, ProblemKey, ProblemRow};

use crate::detector::Detector;
use crate::maintenance::open_until;
use crate::problem::{Problem, Telling};
use faults::Fault;
use known::Known;

/// What is planned so far, and what is known of those that it is about.
#[derive(Debug, Default)]
pub(crate) struct Planner {
    revision: i64,
    cursor: i64,
    problems: BTreeMap<ProblemKey, Problem>,
    /// None: there is no such target any more.
    targets: HashMap<String, Option<Known>>,
    faults: BTreeMap<Reason, Fault>,
    /// What the next plan has to write.
    changed: BTreeSet<ProblemKey>,
    deliveries: Vec<NewDelivery>,
}

/// By what a plan is made.
pub(crate) struct Context<'a> {
    pub(crate) settings: &'a Settings,
    pub(crate) detector: &'a Detector,
    pub(crate) now: Timestamp,
}

impl Context<'_> {
    /// Until when the target is in maintenance, when it is at `at`.
    fn maintenance(&self, target: &str, known: Option<&Known>, at: Timestamp) -> Option<Timestamp> {
        let none = BTreeMap::new();
        let labels = known.map_or(&none, |known| &known.labels);
        let windows = self.settings.maintenance.iter();
        let of_target = windows.filter(|window| window.of.has(target, labels));
        of_target.filter_map(|window| open_until(window, at)).max()
    }
}

impl Planner {
    /// As it is stored. Rows that can't be read are of another version, and are dropped.
    pub(crate) fn load(state: NotifyState, now: Timestamp) -> Self {
        let mut planner =
            Self { revision: state.revision, cursor: state.cursor, ..Self::default() };
        for row in state.problems {
            match serde_json::from_str(&row.data) {
                Ok(problem) => drop(planner.problems.insert(row.key, problem)),
                Err(error) => {
                    tracing::warn!(target = row.key.target, %error, "a problem can't be read");
                    planner.changed.insert(row.key);
                }
            }
        }
        planner.resume_faults(now);
        planner
    }

    /// The last event that is planned.
    pub(crate) const fn cursor(&self) -> i64 {
        self.cursor
    }

    /// Those of these targets that have to be looked up before the events are planned: unknown
    /// ones, and those that one of the events changes.
    pub(crate) fn unknown_of(&self, events: &[ChangeEvent]) -> BTreeSet<String> {
        let mut wanted: BTreeSet<String> = BTreeSet::new();
        for event in events {
            let changed = matches!(event.change, Change::Target { .. });
            if changed || !self.targets.contains_key(&event.target) {
                wanted.insert(event.target.clone());
            }
        }
        let standing = self.problems.keys().map(|key| &key.target);
        let unknown = standing.filter(|id| !id.is_empty() && !self.targets.contains_key(*id));
        wanted.extend(unknown.cloned());
        wanted
    }

    /// What there is of a target now.
    pub(crate) fn know(&mut self, id: String, target: Option<Target>) {
        self.targets.insert(id, target.map(Known::from));
    }

    /// Takes up events, which come in order.
    pub(crate) fn take_up(&mut self, events: &[ChangeEvent], context: &Context<'_>) {
        for event in events {
            match &event.change {
                Change::Status { check, from, to, reason, message, .. } => {
                    let state = ProblemState::of_status(*to);
                    let seen = Seen { event, check, reason: *reason, message };
                    let (from, to, well) = (from.as_str(), to.as_str(), *to == Status::Healthy);
                    self.changed_to(&seen, state, (from, to, well), context);
                }
                Change::Lifecycle { from, to, reason, message, .. } => {
                    let state = ProblemState::of_lifecycle(*to);
                    let seen = Seen { event, check: "", reason: *reason, message };
                    let well = *to == LifecycleState::Running;
                    self.changed_to(&seen, state, (from.as_str(), to.as_str(), well), context);
                }
                Change::Target { .. } => self.drop_what_is_gone(&event.target),
                Change::Pool { .. } => {}
            }
            self.cursor = event.id;
        }
    }

    /// Something went from one state to another, or only its reason changed.
    fn changed_to(
        &mut self,
        seen: &Seen<'_>,
        state: Option<ProblemState>,
        (from, to, well): (&str, &str, bool),
        context: &Context<'_>,
    ) {
        if well {
            if from != to {
                self.recover(seen, to, context);
            }
            return;
        }
        let target = &seen.event.target;
        let sinks = match (self.targets.get(target), state) {
            (Some(Some(known)), Some(state)) if from != to => {
                known.told(target, seen.check, state, context.settings)
            }
            _ => BTreeMap::new(),
        };
        // What is known of it already, or told of it from now on.
        for (key, problem) in &mut self.problems {
            if key.target == *target && key.check == seen.check && problem.state == to {
                problem.reason = seen.reason;
                seen.message.clone_into(&mut problem.message);
                self.changed.insert(key.clone());
            }
        }
        for (sink, repeat) in sinks {
            let key = ProblemKey { sink, target: target.clone(), check: seen.check.to_owned() };
            let before = self.problems.get(&key);
            if before.is_some_and(|before| before.state == to) {
                continue;
            }
            let problem = Problem {
                state: to.to_owned(),
                from: before.map_or(from, |before| before.state.as_str()).to_owned(),
                reason: seen.reason,
                message: seen.message.to_owned(),
                since: before.map_or(seen.event.at, |before| before.since),
                at: seen.event.at,
                event: Some(seen.event.id),
                told: before.and_then(|before| before.told.clone()),
                told_at: before.and_then(|before| before.told_at),
                repeat: repeat.map(|span| i64::try_from(span.as_micros()).unwrap_or(i64::MAX)),
                grouped: before.is_some_and(|before| before.grouped),
            };
            self.problems.insert(key.clone(), problem);
            self.changed.insert(key);
        }
    }

    /// It is well again: told to those who were told of the problem, and to those who would have
    /// been had it lasted a little longer. One of many that failed together, or in a maintenance
    /// window, was none.
    fn recover(&mut self, seen: &Seen<'_>, to: &str, context: &Context<'_>) {
        let over: Vec<ProblemKey> = self
            .problems
            .keys()
            .filter(|key| key.target == seen.event.target && key.check == seen.check)
            .cloned()
            .collect();
        for key in over {
            let Some(problem) = self.problems.remove(&key) else { continue };
            self.changed.insert(key.clone());
            let known = self.targets.get(&key.target).and_then(Option::as_ref);
            let in_maintenance =
                || context.maintenance(&key.target, known, seen.event.at).is_some();
            if problem.told.is_none() {
                if problem.grouped || self.is_of_fault(&problem, &key, context) || in_maintenance()
                {
                    continue;
                }
                self.deliver(&key, NotificationKind::Problem, &problem, context.now);
            }
            let telling = Telling {
                kind: NotificationKind::Recovery,
                at: seen.event.at,
                event: Some(seen.event.id),
                from: problem.state,
                to: to.to_owned(),
                reason: None,
                message: String::new(),
                since: problem.since,
            };
            self.tell(&key, telling);
        }
    }

    /// Drops problems of what is not there any more: the target, a check of it, its lifecycle.
    fn drop_what_is_gone(&mut self, target: &str) {
        let known = self.targets.get(target).and_then(Option::as_ref);
        let gone = self
            .problems
            .keys()
            .filter(|key| key.target == target && known.is_none_or(|known| !known.has(&key.check)));
        for key in gone.cloned().collect::<Vec<_>>() {
            self.problems.remove(&key);
            self.changed.insert(key);
        }
    }

    /// Drops problems of sinks that nobody is told by any more.
    pub(crate) fn drop_sinks(&mut self, settings: &Settings) {
        let gone = self.problems.keys().filter(|key| !settings.sinks.contains_key(&key.sink));
        for key in gone.cloned().collect::<Vec<_>>() {
            self.problems.remove(&key);
            self.changed.insert(key);
        }
    }

    /// A message about a problem as it stands.
    fn deliver(
        &mut self,
        key: &ProblemKey,
        kind: NotificationKind,
        problem: &Problem,
        now: Timestamp,
    ) {
        let telling = Telling {
            kind,
            at: if kind == NotificationKind::Reminder { now } else { problem.at },
            event: problem.event,
            from: problem.from.clone(),
            to: problem.state.clone(),
            reason: problem.reason,
            message: problem.message.clone(),
            since: problem.since,
        };
        self.tell(key, telling);
    }

    fn tell(&mut self, key: &ProblemKey, telling: Telling) {
        let Telling { kind, at, event, from, to, reason, message, since } = telling;
        let known = self.targets.get(&key.target).and_then(Option::as_ref);
        let many = key.target.is_empty();
        let notification = Notification {
            kind,
            at,
            target: (!many).then(|| key.target.clone()),
            name: match known {
                Some(known) => known.name.clone(),
                None if many => "many targets".to_owned(),
                None => key.target.clone(),
            },
            labels: known.map(|known| known.labels.clone()).unwrap_or_default(),
            check: (!many && !key.check.is_empty()).then(|| key.check.clone()),
            from,
            to,
            reason,
            message,
            since,
        };
        // A record of texts and numbers can be written.
        let message = serde_json::to_string(&notification).unwrap_or_default();
        let check = if many { String::new() } else { key.check.clone() };
        let key = ProblemKey { check, ..key.clone() };
        self.deliveries.push(NewDelivery { key, kind, event, message });
    }

    /// What is to be written, when there is anything since `cursor` was the last planned event.
    pub(crate) fn plan(&mut self, cursor: i64, now: Timestamp) -> Option<NotifyPlan> {
        if self.cursor == cursor && self.changed.is_empty() && self.deliveries.is_empty() {
            return None;
        }
        let (mut put, mut gone) = (Vec::new(), Vec::new());
        for key in std::mem::take(&mut self.changed) {
            match self.problems.get(&key).map(serde_json::to_string) {
                Some(Ok(data)) => put.push(ProblemRow { key, data }),
                Some(Err(_)) | None => gone.push(key),
            }
        }
        let deliveries = std::mem::take(&mut self.deliveries);
        let (revision, cursor) = (self.revision, self.cursor);
        Some(NotifyPlan { revision, cursor, put, gone, deliveries, at: Some(now) })
    }

    /// The plan has landed.
    pub(crate) const fn landed(&mut self) {
        self.revision += 1;
    }

    /// Nobody is told of anything up to that event.
    pub(crate) const fn skip_to(&mut self, event: i64) {
        self.cursor = event;
    }
}

/// What an event says of a check, or of a target as a whole.
struct Seen<'a> {
    event: &'a ChangeEvent,
    check: &'a str,
    reason: Option<Reason>,
    message: &'a str,
}

#[cfg(test)]
mod tests;
