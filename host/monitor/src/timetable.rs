//! When each check is due next: a table without a task or a clock of its own.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Duration;

use probehost_model::{CheckId, Timestamp, next_due, phase_of};
use tokio::time::Instant;

use crate::ports::CheckSeen;

/// This moment, on both clocks: the time of day gives the phases, tokio's clock the timers.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Moment {
    pub(crate) time: Timestamp,
    pub(crate) instant: Instant,
}

/// The checks that have an interval, and when each is due.
#[derive(Debug, Default)]
pub(crate) struct Timetable {
    entries: HashMap<CheckId, Entry>,
    /// Ordered by time, then by id (contract S2).
    due: BTreeSet<(Instant, CheckId)>,
}

#[derive(Debug)]
struct Entry {
    check: Arc<CheckSeen>,
    interval: Duration,
    due: Instant,
}

impl Timetable {
    /// Takes the list of checks as it is now. A check that was there with the same interval
    /// keeps its due time; a new one is due at once when it has no record or one older than its
    /// interval, and at its place in the cadence otherwise (contract S1).
    pub(crate) fn replace(&mut self, checks: Vec<CheckSeen>, now: Moment) {
        let mut before = std::mem::take(&mut self.entries);
        self.due.clear();
        for check in checks {
            let Some(interval) = check.interval else { continue };
            let due = match before.remove(&check.id) {
                Some(entry) if entry.interval == interval => entry.due,
                Some(_) => due_after(&check.id, interval, now),
                None => first_due(&check, interval, now),
            };
            self.due.insert((due, check.id.clone()));
            let id = check.id.clone();
            self.entries.insert(id, Entry { check: Arc::new(check), interval, due });
        }
    }

    /// When the next check is due. None: there is none.
    pub(crate) fn next(&self) -> Option<Instant> {
        self.due.first().map(|(due, _)| *due)
    }

    /// Takes the first check that is due, puts it back at its next place in the cadence, and
    /// says when it was due. Places that have passed meanwhile are not made up for.
    pub(crate) fn take_due(&mut self, now: Moment) -> Option<(Instant, Arc<CheckSeen>)> {
        if self.next()? > now.instant {
            return None;
        }
        let (due, id) = self.due.pop_first()?;
        let entry = self.entries.get_mut(&id)?;
        entry.due = due_after(&id, entry.interval, now);
        self.due.insert((entry.due, id));
        Some((due, Arc::clone(&entry.check)))
    }

    /// How many checks have an interval.
    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }
}

fn first_due(check: &CheckSeen, interval: Duration, now: Moment) -> Instant {
    // A record from the future (the clock was set back) says nothing about how old it is.
    let recent = |last: Timestamp| last <= now.time && now.time.since(last) <= interval;
    if !check.last_attempt_at.is_some_and(recent) {
        return now.instant;
    }
    let place = next_due(now.time, interval, phase_of(&check.id, interval));
    now.instant + place.since(now.time)
}

/// The next place in the cadence, but never sooner than half an interval: a probe at start,
/// or a timer that fired a moment early, is not followed by another at once.
fn due_after(id: &CheckId, interval: Duration, now: Moment) -> Instant {
    let place = next_due(now.time, interval, phase_of(id, interval));
    let wait = place.since(now.time);
    let wait = if wait < interval / 2 { wait + interval } else { wait };
    now.instant + wait
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ports::tests::check;

    const MINUTE: Duration = Duration::from_secs(60);
    const NOW: Timestamp = Timestamp::from_micros(1_764_456_769_123_456);

    fn moment(after: Duration, start: Instant) -> Moment {
        Moment { time: NOW.plus(after), instant: start + after }
    }

    fn taken(table: &mut Timetable, now: Moment) -> Vec<String> {
        std::iter::from_fn(|| table.take_due(now)).map(|(_, check)| check.id.to_string()).collect()
    }

    /// S1, S2: without a record, at once and by ascending id; then once per interval.
    #[tokio::test(start_paused = true)]
    async fn new_checks_are_due_at_once_in_order() {
        let start = Instant::now();
        let mut table = Timetable::default();
        let checks = ["c", "a", "b"].map(|name| check(name, MINUTE)).to_vec();
        table.replace(checks, moment(Duration::ZERO, start));
        assert_eq!(
            taken(&mut table, moment(Duration::ZERO, start)),
            ["a/ping", "b/ping", "c/ping"]
        );
        let mut runs = HashMap::<String, u32>::new();
        for second in 1..=600 {
            for id in taken(&mut table, moment(Duration::from_secs(second), start)) {
                *runs.entry(id).or_default() += 1;
            }
        }
        assert!(runs.values().all(|runs| (9..=10).contains(runs)), "{runs:?}");
    }

    /// S1: a recent record keeps its place in the cadence over a restart.
    #[tokio::test(start_paused = true)]
    async fn a_recent_record_keeps_its_phase() {
        let start = Instant::now();
        let recent = |last: Duration| {
            let mut seen = check("web", MINUTE);
            seen.last_attempt_at = Some(Timestamp::from_micros(
                NOW.as_micros() - i64::try_from(last.as_micros()).unwrap(),
            ));
            seen
        };
        let due = |seen: CheckSeen| {
            let mut table = Timetable::default();
            table.replace(vec![seen], moment(Duration::ZERO, start));
            table.next().unwrap() - start
        };
        let first = due(recent(Duration::from_secs(5)));
        assert!(first > Duration::ZERO && first <= MINUTE);
        assert_eq!(first, due(recent(Duration::from_secs(59))));
        assert_eq!(due(recent(Duration::from_secs(61))), Duration::ZERO);
        let mut ahead = check("web", MINUTE);
        ahead.last_attempt_at = Some(NOW.plus(MINUTE));
        assert_eq!(due(ahead), Duration::ZERO);
    }

    /// S1, S6: a reload leaves untouched checks alone, a changed interval moves the check, and
    /// interval 0 takes it off.
    #[tokio::test(start_paused = true)]
    async fn a_reload_moves_only_what_changed() {
        let start = Instant::now();
        let mut table = Timetable::default();
        let now = moment(Duration::ZERO, start);
        table.replace(vec![check("a", MINUTE), check("b", MINUTE)], now);
        taken(&mut table, now);
        let due = |table: &Timetable, id: &str| {
            table.entries.get(&CheckId::new(id, "ping")).map(|entry| entry.due)
        };
        let before = due(&table, "a");
        let mut off = check("c", MINUTE);
        off.interval = None;
        let later = moment(Duration::from_secs(7), start);
        table.replace(vec![check("a", MINUTE), check("b", 3 * MINUTE), off], later);
        assert_eq!(due(&table, "a"), before);
        assert!(due(&table, "b").unwrap() >= later.instant + MINUTE * 3 / 2);
        assert_eq!(table.len(), 2);
        table.replace(Vec::new(), later);
        assert_eq!(table.next(), None);
    }

    /// S3: places that passed while the host was suspended are not made up for.
    #[tokio::test(start_paused = true)]
    async fn missed_places_are_not_made_up() {
        let start = Instant::now();
        let mut table = Timetable::default();
        table.replace(vec![check("a", MINUTE)], moment(Duration::ZERO, start));
        taken(&mut table, moment(Duration::ZERO, start));
        assert_eq!(taken(&mut table, moment(Duration::from_secs(3600), start)), ["a/ping"]);
    }
}
