//! What time brings: waits that are over, windows that end, reminders.

use probehost_model::Timestamp;
use probehost_model::notify::NotificationKind;
use probehost_store::ProblemKey;

use super::{Context, Planner};

impl Planner {
    /// Tells what is to be told by now, and gives when something may have to be told next, without
    /// an event that asks for it.
    pub(crate) fn settle(&mut self, context: &Context<'_>) -> Option<Timestamp> {
        self.judge_faults(context);
        let mut next: Option<Timestamp> = None;
        let mut at = |time: Timestamp| next = Some(next.map_or(time, |next| next.min(time)));
        if !self.faults.is_empty() {
            at(context.now.plus(super::faults::LOOK));
        }
        let keys: Vec<ProblemKey> = self.problems.keys().cloned().collect();
        // In the order in which they came to be, whatever their names are.
        let mut keys: Vec<_> = keys
            .into_iter()
            .filter_map(|key| Some((self.problems.get(&key)?.event.unwrap_or(0), key)))
            .collect();
        keys.sort();
        for (_, key) in keys {
            let Some(problem) = self.problems.get(&key) else { continue };
            let news = problem.is_news();
            if !news && problem.repeats_at().is_none() || problem.grouped {
                continue;
            }
            let known = self.targets.get(&key.target).and_then(Option::as_ref);
            if let Some(until) = context.maintenance(&key.target, known, context.now) {
                at(until);
                continue;
            }
            // It is not watched now, so nothing is said of it; what still stands is told when it is.
            if known.is_some_and(|known| !known.enabled) {
                continue;
            }
            let kind = if news {
                if let Some(until) = self.waits_until(&key, context) {
                    at(until);
                    continue;
                }
                NotificationKind::Problem
            } else if problem.is_repeated(context.now) {
                NotificationKind::Reminder
            } else {
                problem.repeats_at().into_iter().for_each(&mut at);
                continue;
            };
            let mut problem = problem.clone();
            self.deliver(&key, kind, &problem, context.now);
            problem.tell(context.now);
            problem.repeats_at().into_iter().for_each(&mut at);
            self.problems.insert(key.clone(), problem);
            self.changed.insert(key);
        }
        next
    }

    /// Until when a new problem is held back, to see whether most others fail too. Not where there
    /// are too few targets for that, nor for one of which the sink was told something already.
    fn waits_until(&self, key: &ProblemKey, context: &Context<'_>) -> Option<Timestamp> {
        let problem = self.problems.get(key)?;
        let few = context.detector.targets() < context.settings.own_fault_min as usize;
        if few || problem.told.is_some() || key.target.is_empty() {
            return None;
        }
        let onset = context.detector.onset(&key.target, &key.check);
        let begun = onset.map_or(problem.since, |onset| onset.min(problem.since));
        let until = begun.plus(context.settings.group_wait);
        (until > context.now).then_some(until)
    }
}
