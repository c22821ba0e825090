//! Own faults: many targets that fail the same way at once are told as one.

use std::collections::BTreeSet;
use std::time::Duration;

use probehost_model::notify::NotificationKind;
use probehost_model::{Reason, Timestamp, sanitize};
use probehost_store::ProblemKey;

use super::{Context, Planner};
use crate::detector::{After, OwnFault};
use crate::problem::{Problem, Telling};

/// How often it is looked what became of one.
pub(super) const LOOK: Duration = Duration::from_secs(1);

/// How long it may take until what passes again is well again: the healer may have to see to it.
const LAST_EVENTS: Duration = Duration::from_mins(2);

/// Names that a message about many lists.
const NAMED: usize = 5;

/// One that stands.
#[derive(Debug, Clone, Copy)]
pub(super) struct Fault {
    /// When the first target began to fail that way.
    since: Timestamp,
    /// From when on results say whether it still stands: since it began, or since this host runs.
    watched: Timestamp,
    /// Since when most are well again.
    easing: Option<Timestamp>,
}

impl Planner {
    /// After a start: own faults that were told, or of which there are targets that were not.
    pub(super) fn resume_faults(&mut self, now: Timestamp) {
        for (key, problem) in &self.problems {
            let Some(reason) = problem.reason else { continue };
            if key.target.is_empty() || problem.grouped {
                let fault = Fault { since: problem.since, watched: now, easing: None };
                let known = self.faults.entry(reason).or_insert(fault);
                known.since = known.since.min(problem.since);
            }
        }
    }

    /// Whether the problem is one of the many of an own fault.
    pub(super) fn is_of_fault(
        &self,
        problem: &Problem,
        key: &ProblemKey,
        context: &Context<'_>,
    ) -> bool {
        let Some(reason) = problem.reason.filter(|_| !key.target.is_empty()) else { return false };
        let onset = context.detector.onset(&key.target, &key.check).unwrap_or(problem.since);
        self.faults.get(&reason).is_some_and(|fault| onset.max(problem.since) >= fault.since)
    }

    pub(super) fn judge_faults(&mut self, context: &Context<'_>) {
        // While everything that stands was told, there is nothing that could be told otherwise.
        if self.faults.is_empty() && self.problems.values().all(|problem| problem.told.is_some()) {
            return;
        }
        let Context { settings, detector, now } = context;
        for fault in detector.judge(*now, settings.own_fault_min as usize, settings.group_wait) {
            let new = Fault { since: fault.since, watched: fault.since, easing: None };
            self.faults.entry(fault.reason).or_insert(new);
        }
        if self.faults.is_empty() {
            return;
        }
        self.join(context);
        for reason in self.faults.keys().copied().collect::<Vec<_>>() {
            self.tell_many(reason, context);
            self.ease(reason, context);
        }
    }

    /// Problems that nobody was told of, and that are of an own fault, become part of it.
    fn join(&mut self, context: &Context<'_>) {
        let joining = self.problems.iter().filter(|(key, problem)| {
            problem.told.is_none() && !problem.grouped && self.is_of_fault(problem, key, context)
        });
        for key in joining.map(|(key, _)| key.clone()).collect::<Vec<_>>() {
            if self.released(&key, context) {
                continue;
            }
            if let Some(problem) = self.problems.get_mut(&key) {
                problem.grouped = true;
                self.changed.insert(key);
            }
        }
    }

    /// Whether most are well again, and this one has failed since.
    fn released(&self, key: &ProblemKey, context: &Context<'_>) -> bool {
        let reason = self.problems.get(key).and_then(|problem| problem.reason);
        let fault = reason.and_then(|reason| self.faults.get(&reason));
        fault.and_then(|fault| fault.easing).is_some_and(|easing| {
            let after = context.detector.after(&key.target, &key.check, easing, context.now);
            after == After::Failing
        })
    }

    /// The problems that are part of it.
    fn members(&self, reason: Reason) -> Vec<ProblemKey> {
        let members = self.problems.iter().filter(|(key, problem)| {
            problem.grouped && problem.reason == Some(reason) && !key.target.is_empty()
        });
        members.map(|(key, _)| key.clone()).collect()
    }

    /// Tells each sink once that would have been told of one of the many alone.
    fn tell_many(&mut self, reason: Reason, context: &Context<'_>) {
        let Some(fault) = self.faults.get(&reason).copied() else { return };
        let members = self.members(reason);
        let told: BTreeSet<&String> = members
            .iter()
            .filter(|key| {
                let known = self.targets.get(&key.target).and_then(Option::as_ref);
                context.maintenance(&key.target, known, context.now).is_none()
            })
            .map(|key| &key.sink)
            .collect();
        for sink in told {
            let key = ProblemKey {
                sink: sink.clone(),
                target: String::new(),
                check: reason.as_str().to_owned(),
            };
            if self.problems.contains_key(&key) {
                continue;
            }
            let of_sink: Vec<&ProblemKey> = members.iter().filter(|m| m.sink == *sink).collect();
            let (failing, of) = context.detector.share(reason, fault.since);
            let fault = OwnFault { reason, since: fault.since, failing, of };
            let first = of_sink.iter().filter_map(|key| self.problems.get(*key)).next();
            let message = said(fault, &of_sink, first.map_or("", |first| &first.message));
            let repeats = of_sink.iter().filter_map(|key| self.problems.get(*key)?.repeat);
            let mut problem = Problem {
                state: "unhealthy".to_owned(),
                from: "healthy".to_owned(),
                reason: Some(reason),
                message,
                since: fault.since,
                at: context.now,
                event: None,
                told: None,
                told_at: None,
                repeat: repeats.min(),
                grouped: false,
            };
            self.deliver(&key, NotificationKind::Group, &problem, context.now);
            problem.tell(context.now);
            self.problems.insert(key.clone(), problem);
            self.changed.insert(key);
        }
    }

    /// Looks whether most are well again; then each of the others is told alone once it has failed
    /// since, and when there is none left that may be one of the many, it is over.
    fn ease(&mut self, reason: Reason, context: &Context<'_>) {
        let Some(mut fault) = self.faults.get(&reason).copied() else { return };
        let now = context.now;
        let members = self.members(reason);
        let (failing, of) = context.detector.share(reason, fault.watched);
        // After a start nothing is heard of most of them for a while.
        let heard = of * 2 >= members.iter().map(|key| &key.target).collect::<BTreeSet<_>>().len();
        fault.easing = match fault.easing {
            None if heard && failing * 4 < of.max(1) => Some(now),
            Some(_) if failing * 2 >= of.max(1) => None,
            easing => easing,
        };
        self.faults.insert(reason, fault);
        let Some(easing) = fault.easing else { return };
        let mut left = 0;
        let mut alone = 0;
        for key in members {
            let known = self.targets.get(&key.target).and_then(Option::as_ref);
            let enabled = known.is_some_and(|known| known.enabled);
            match context.detector.after(&key.target, &key.check, easing, now) {
                After::Open if enabled => left += 1,
                // The event that says so is on its way.
                After::Well if now.since(easing) <= LAST_EVENTS => left += 1,
                After::Open | After::Well | After::Lost => {}
                After::Failing => {
                    if let Some(problem) = self.problems.get_mut(&key) {
                        problem.grouped = false;
                        self.changed.insert(key);
                        alone += 1;
                    }
                }
            }
        }
        if left > 0 || alone > 0 {
            return;
        }
        self.close(reason, now);
    }

    /// It is over: whoever was told of it is told so.
    fn close(&mut self, reason: Reason, now: Timestamp) {
        self.faults.remove(&reason);
        let of_fault = |key: &&ProblemKey| key.target.is_empty() && key.check == reason.as_str();
        for key in self.problems.keys().filter(of_fault).cloned().collect::<Vec<_>>() {
            let Some(problem) = self.problems.remove(&key) else { continue };
            let telling = Telling {
                kind: NotificationKind::Recovery,
                at: now,
                event: None,
                from: problem.state,
                to: "healthy".to_owned(),
                reason: None,
                message: "most of the targets that failed together are well again; what still \
                          fails is told by itself"
                    .to_owned(),
                since: problem.since,
            };
            self.tell(&key, telling);
            self.changed.insert(key);
        }
        // Those of which nothing was heard for long stand by themselves from now on.
        for key in self.members(reason) {
            if let Some(problem) = self.problems.get_mut(&key) {
                problem.grouped = false;
                self.changed.insert(key);
            }
        }
    }
}

/// What is told of many.
fn said(fault: OwnFault, members: &[&ProblemKey], example: &str) -> String {
    let OwnFault { reason, failing, of, .. } = fault;
    let guess = match reason {
        Reason::Network | Reason::Timeout | Reason::Tls => {
            "probably probehost's own network or resolver"
        }
        _ => "probably one cause",
    };
    let names: BTreeSet<&str> = members.iter().map(|key| key.target.as_str()).collect();
    let few: Vec<&str> = names.iter().take(NAMED).copied().collect();
    let few = few.join(", ");
    let count = failing.max(names.len());
    let of = of.max(count);
    sanitize(&format!(
        "{guess}: {count} of {of} targets fail with {reason}, among them {few}; one says: {example}"
    ))
}
