//! Whole stories: a target goes down, and what follows, second by second.

use std::time::Duration;

use super::*;
use crate::{Action, Reason, Timestamp};
use LifecycleState::{Offline, Quarantined, Restarting, Running, Unknown, Updating};
use Verdict::{Healthy, Unhealthy};

fn at(second: i64) -> Timestamp {
    Timestamp::from_micros(second * 1_000_000)
}

/// A target and its clock; effects that lead to events are carried out as a healer does.
struct Story {
    record: LifecycleRecord,
    policy: Policy,
    second: i64,
    history: Vec<(i64, LifecycleState)>,
    restarts: Vec<i64>,
    pool: Vec<bool>,
    /// Whether the runtime answers a restart.
    answers: bool,
}

impl Story {
    fn new() -> Self {
        Self {
            record: LifecycleRecord::new(at(0)),
            policy: Policy { jitter: 0.0, ..Policy::default() },
            second: 0,
            history: Vec::new(),
            restarts: Vec::new(),
            pool: Vec::new(),
            answers: true,
        }
    }

    /// One that is live and ready since the second 1.
    fn running() -> Self {
        let mut story = Self::new();
        story.see(1, Healthy, Healthy);
        story.history.clear();
        story.pool.clear();
        story
    }

    fn send(&mut self, event: &Event) -> Vec<Effect> {
        let step = step(&self.record, event, &self.policy, at(self.second), 0.0).unwrap();
        self.history.extend(step.transitions().map(|t| (t.at.as_micros() / 1_000_000, t.to)));
        self.record = step.record;
        for effect in &step.effects {
            match effect {
                Effect::Issue { attempt } => drop(self.send(&Event::Issue { attempt: *attempt })),
                Effect::Restart { attempt } => {
                    self.restarts.push(self.second);
                    if self.answers {
                        self.send(&Event::RestartSucceeded { attempt: *attempt });
                    }
                }
                Effect::Pool { poolable } => self.pool.push(*poolable),
                Effect::Probe | Effect::Transition(_) | Effect::Audit { .. } => {}
            }
        }
        step.effects
    }

    /// Time passes up to `second`, with a tick whenever one is due.
    fn until(&mut self, second: i64) {
        while self.second < second {
            self.second += 1;
            let due = wake_at(&self.record, &self.policy, at(self.second - 1));
            if due.is_some_and(|due| due <= at(self.second)) {
                self.send(&Event::Tick);
            }
        }
    }

    fn live(&mut self, second: i64, verdict: Verdict) {
        self.until(second);
        let reason = (verdict == Unhealthy).then_some(Reason::Stopped);
        self.send(&Event::Liveness(Sighting::new(verdict, at(second), reason, "seen")));
    }

    fn see(&mut self, second: i64, liveness: Verdict, readiness: Verdict) {
        self.live(second, liveness);
        self.send(&Event::Readiness(Sighting::new(readiness, at(second), None, "")));
    }

    fn states(&self) -> Vec<LifecycleState> {
        self.history.iter().map(|(_, state)| *state).collect()
    }
}

/// L2, L11: killed, restarted after the first wait, ready, in the pool again.
#[test]
fn a_killed_target_heals() {
    let mut story = Story::running();
    story.live(10, Unhealthy);
    story.see(13, Healthy, Healthy);
    assert_eq!(story.history, [(10, Offline), (11, Restarting), (13, Running)]);
    assert_eq!((story.restarts, story.pool), (vec![11], vec![false, true]));
    assert_eq!((story.record.restarts, story.record.failures), (1, 0));
}

/// L3: a target that never comes up has its restarts at the times of the backoff, and is
/// quarantined when the last of them has failed, not sooner and not later.
#[test]
fn a_crash_loop_ends_in_quarantine() {
    let mut story = Story::running();
    story.live(10, Unhealthy);
    for second in 11..1000 {
        story.live(second, Unhealthy);
    }
    // Each wait is twice the one before; between them a start budget of 60 s.
    assert_eq!(story.restarts, [11, 73, 137, 205, 281]);
    assert_eq!(story.history.last(), Some(&(341, Quarantined)));
    assert_eq!(story.record.failures, story.policy.max_restarts);
    assert_eq!(story.record.reason, Some(Reason::Stopped));
    assert_eq!(story.record.message, "5 restarts in a row did not hold: seen");
}

/// L4: a target that becomes ready and dies again climbs the backoff, too.
#[test]
fn flapping_climbs_the_backoff() {
    let mut story = Story::running();
    let mut waits = Vec::new();
    let mut second = 10;
    for _ in 0..6 {
        story.live(second, Unhealthy);
        if story.record.state == Offline {
            waits.push(story.record.next_attempt_at.unwrap().since(at(second)).as_secs());
            second += 30;
            story.see(second, Healthy, Healthy);
            assert_eq!(story.record.state, Running);
            second += 30;
        }
    }
    assert_eq!(waits, [1, 2, 4, 8, 16]);
    assert_eq!((story.record.state, story.restarts.len()), (Quarantined, 5));
}

/// L4: uptime without a break forgets the failures; a moment short of it does not.
#[test]
fn sustained_uptime_forgets() {
    let flap = |uptime: i64| {
        let mut story = Story::running();
        story.live(10, Unhealthy);
        story.see(20, Healthy, Healthy);
        story.live(20 + uptime, Unhealthy);
        story.record.failures
    };
    assert_eq!((flap(599), flap(601)), (1, 0));
}

/// L5: a slow starter has its budget; one that is live and never ready has failed after it.
#[test]
fn the_start_budget() {
    let mut story = Story::running();
    story.live(10, Unhealthy);
    story.see(70, Healthy, Healthy);
    assert_eq!(story.history, [(10, Offline), (11, Restarting), (70, Running)]);

    let mut story = Story::running();
    story.live(10, Unhealthy);
    for second in 12..=71 {
        story.see(second, Healthy, Unhealthy);
    }
    story.until(72);
    assert_eq!(story.history[..3], [(10, Offline), (11, Restarting), (71, Offline)]);
    assert_eq!(story.record.failures, 1);
}

/// L2: what a probe saw before the restart, or while the runtime was at it, is not taken for
/// the restarted target.
#[test]
fn the_old_process_is_not_the_new_one() {
    let mut story = Story::running();
    story.answers = false;
    story.second = 10;
    story.send(&Event::OperatorRestart);
    story.see(11, Healthy, Healthy);
    assert_eq!(story.record.phase(), Some(AttemptPhase::Issued));
    story.second = 20;
    story.send(&Event::RestartSucceeded { attempt: 1 });
    for event in [Event::Liveness, Event::Readiness] {
        story.send(&event(Sighting::new(Healthy, at(20), None, "")));
    }
    assert_eq!(story.record.state, Restarting);
    story.see(21, Healthy, Healthy);
    assert_eq!(story.states(), [Restarting, Running]);
}

/// T5, C3: the engine is gone: unknown, nothing restarted; back: running.
#[test]
fn an_engine_that_is_gone_restarts_nothing() {
    let mut story = Story::running();
    story.see(10, Verdict::Unknown, Verdict::Unknown);
    story.until(10_000);
    story.see(10_001, Healthy, Healthy);
    assert_eq!(story.states(), [Unknown, Running]);
    assert!(story.restarts.is_empty());
    assert_eq!(story.pool, [false, true]);

    // The same for one that was about to be restarted.
    let mut story = Story::running();
    story.live(10, Unhealthy);
    story.live(10, Verdict::Unknown);
    story.until(10_000);
    assert_eq!((story.states(), story.restarts), (vec![Offline, Unknown], vec![]));
}

/// T5: the engine goes away in the middle of a restart: the failed call counts, and nothing
/// more is restarted until the target is seen again.
#[test]
fn an_engine_that_goes_away_while_it_restarts() {
    let mut story = Story::running();
    story.answers = false;
    story.live(10, Unhealthy);
    story.live(12, Verdict::Unknown);
    story.send(&Event::RestartFailed { attempt: 1, message: "no socket".into() });
    story.until(10_000);
    assert_eq!(story.states(), [Offline, Restarting, Unknown]);
    assert_eq!((story.restarts.as_slice(), story.record.failures), ([11].as_slice(), 1));
    // Seen again, and down: it goes on where it was, with the second wait.
    story.live(10_001, Unhealthy);
    assert_eq!(story.record.next_attempt_at, Some(at(10_003)));
}

/// L5: a call that hangs longer than the budget, with nothing seen, is judged by what is
/// seen next, and its late answer is still heard.
#[test]
fn a_call_that_hangs() {
    let mut story = Story::running();
    story.answers = false;
    story.live(10, Unhealthy);
    story.until(100);
    assert_eq!(story.states(), [Offline, Restarting, Unknown]);
    let late = step(
        &story.record,
        &Event::RestartFailed { attempt: 1, message: "cut".into() },
        &story.policy,
        at(100),
        0.0,
    )
    .unwrap();
    assert_eq!((late.record.state, late.record.failures), (Unknown, 1));
    story.live(101, Unhealthy);
    assert_eq!((story.record.state, story.record.failures), (Offline, 1));
}

/// L11: readiness alone drains, and never restarts.
#[test]
fn readiness_alone_never_restarts() {
    let mut story = Story::running();
    story.see(10, Healthy, Unhealthy);
    story.until(100_000);
    assert_eq!((story.states(), story.restarts.len()), (vec![], 0));
    assert_eq!(story.pool, [false]);
    story.see(100_001, Healthy, Healthy);
    assert_eq!(story.pool, [false, true]);
}

/// L8: host killed at each mark of a restart; the record says which it was.
#[test]
fn a_host_that_dies_goes_on() {
    let policy = Policy { jitter: 0.0, ..Policy::default() };
    let go = |record: &LifecycleRecord, event: &Event, second| {
        step(record, event, &policy, at(second), 0.0).unwrap()
    };
    let mut story = Story::running();
    story.live(10, Unhealthy);

    // Offline, its restart not due: it keeps its time.
    let back = go(&story.record, &Event::Resumed, 10);
    assert_eq!(back.record.next_attempt_at, Some(at(11)));
    // Overdue: it is seen first.
    let back = go(&story.record, &Event::Resumed, 500);
    assert_eq!(back.record.next_attempt_at, Some(at(501)));
    assert_eq!(back.effects, [Effect::Probe]);

    // Decided: never issued, so it is issued now.
    let decided = go(&story.record, &Event::Tick, 11).record;
    let back = go(&decided, &Event::Resumed, 500);
    assert_eq!((back.save, back.effects), (false, vec![Effect::Issue { attempt: 1 }]));

    // Issued: perhaps called, so not again; a budget from now, and the target seen.
    let issued = go(&decided, &Event::Issue { attempt: 1 }, 11).record;
    let back = go(&issued, &Event::Resumed, 500);
    assert_eq!(back.effects, [Effect::Probe]);
    assert_eq!(start_deadline(&back.record, &policy), Some(at(560)));
    for late in [Event::Issue { attempt: 1 }, Event::Tick, Event::Resumed] {
        let effects = go(&back.record, &late, 501).effects;
        assert!(!effects.contains(&Effect::Restart { attempt: 1 }));
    }
}

/// L6: restarts are suppressed, readiness is reported, and the verdict follows the budget.
#[test]
fn an_update_has_its_verdict() {
    let mut story = Story::running();
    let verdict = |story: &Story| update_verdict(&story.record, &story.policy, at(story.second));
    assert_eq!(verdict(&story), None);
    story.second = 10;
    story.send(&Event::UpdateBegin);
    assert_eq!(verdict(&story), Some(UpdateVerdict::Wait));
    story.see(11, Unhealthy, Unhealthy);
    story.until(69);
    assert_eq!(verdict(&story), Some(UpdateVerdict::Wait));
    story.until(70);
    assert_eq!(verdict(&story), Some(UpdateVerdict::Rollback));
    // Not known is no reason to roll back.
    story.see(71, Verdict::Unknown, Verdict::Unknown);
    assert_eq!(verdict(&story), Some(UpdateVerdict::Wait));
    story.see(72, Healthy, Healthy);
    assert_eq!(verdict(&story), Some(UpdateVerdict::Promote));
    story.until(1000);
    assert_eq!((story.states(), story.restarts.len()), (vec![Updating], 0));
    story.send(&Event::UpdatePromoted);
    assert_eq!((story.states(), story.pool), (vec![Updating, Running], vec![false, true]));
}

/// L6, L7: a rollback gives the old version a start budget without a restart of ours, and
/// puts a quarantined target back into quarantine; a promotion ends it.
#[test]
fn updates_end() {
    let mut story = Story::running();
    story.send(&Event::UpdateBegin);
    story.send(&Event::UpdateRolledBack);
    story.see(5, Healthy, Healthy);
    assert_eq!(story.states(), [Updating, Restarting, Running]);
    assert_eq!((story.restarts.len(), story.record.restarts), (0, 0));

    let mut story = Story::running();
    story.send(&Event::OperatorQuarantine { message: "odd answers".into() });
    story.send(&Event::UpdateBegin);
    story.send(&Event::UpdateRolledBack);
    story.see(3, Healthy, Healthy);
    story.send(&Event::UpdateBegin);
    story.see(5, Healthy, Healthy);
    story.send(&Event::UpdatePromoted);
    assert_eq!(story.states(), [Quarantined, Updating, Quarantined, Updating, Running]);
}

/// L7: a release restarts at once, with all its restarts again.
#[test]
fn a_release_restarts() {
    let mut story = Story::running();
    story.live(10, Unhealthy);
    (10..1000).for_each(|second| story.live(second, Unhealthy));
    assert_eq!(story.record.state, Quarantined);
    story.see(1001, Healthy, Healthy);
    story.until(100_000);
    assert_eq!((story.record.state, story.restarts.len()), (Quarantined, 5));
    let effects = story.send(&Event::OperatorRelease);
    let released =
        |effect: &Effect| matches!(effect, Effect::Audit { action: Action::Release, .. });
    assert!(effects.iter().any(released));
    assert_eq!((story.restarts.len(), story.record.failures), (6, 0));
    story.see(100_005, Healthy, Healthy);
    assert_eq!(story.record.state, Running);
}

/// L7: `quarantine_retry` probes at growing waits, restarts nothing, and lets go of a target
/// that is well; its failures still count until it has stayed up (L4).
#[test]
fn quarantine_retry() {
    let mut story = Story::running();
    story.policy.quarantine_retry = Some(Duration::from_secs(100));
    story.policy.max_restarts = 1;
    story.live(10, Unhealthy);
    (11..=71).for_each(|second| story.live(second, Unhealthy));
    assert_eq!((story.record.state, story.record.since), (Quarantined, at(71)));
    let due = |story: &Story| story.record.next_attempt_at.unwrap().as_micros() / 1_000_000;
    assert_eq!(due(&story), 171);
    story.see(150, Healthy, Healthy);
    assert_eq!(story.record.state, Quarantined);
    story.until(170);
    assert!(!story.send(&Event::Tick).contains(&Effect::Probe));
    story.second = 171;
    assert!(story.send(&Event::Tick).contains(&Effect::Probe));
    story.see(172, Unhealthy, Unhealthy);
    assert_eq!(due(&story), 372);
    story.see(373, Healthy, Healthy);
    assert_eq!((story.record.state, story.record.failures), (Running, 1));
    assert_eq!(story.restarts.len(), 1);
    story.live(380, Unhealthy);
    assert_eq!(story.states().split_off(story.history.len() - 2), [Offline, Quarantined]);
}

/// L2: a target that comes back by itself is not restarted.
#[test]
fn back_by_itself() {
    let mut story = Story::running();
    story.live(10, Unhealthy);
    story.live(10, Healthy);
    story.until(100);
    assert_eq!((story.states(), story.restarts.len()), (vec![Offline, Running], 0));
}

/// A2: a probe that only repeats what is known is not worth a write.
#[test]
fn repeating_is_not_saved() {
    let mut story = Story::running();
    let revision = story.record.revision;
    (2..50).for_each(|second| story.see(second, Healthy, Healthy));
    assert_eq!(story.record.revision, revision);
    assert_eq!(story.record.liveness.at, at(49));
}

/// L11: the snapshot holds every target in order, and says how long it counts.
#[test]
fn the_snapshot_expires() {
    let (up, down) = (Story::running().record, LifecycleRecord::new(at(0)));
    let snapshot = PoolSnapshot::new(at(7), Duration::from_secs(30), [("b", &up), ("a", &down)]);
    let members: Vec<_> = snapshot.members.iter().map(|m| (&*m.target, m.poolable)).collect();
    assert_eq!((members, snapshot.expires_at), (vec![("a", false), ("b", true)], at(37)));
}

/// L7, L6: what is refused says what to do.
#[test]
fn refusals_say_what_to_do() {
    let texts = [
        Refused::Restarting { attempt: 3 },
        Refused::Quarantined,
        Refused::NotQuarantined(Running),
        Refused::Updating,
        Refused::NotUpdating(Offline),
    ]
    .map(|refused| refused.to_string());
    assert_eq!(
        texts,
        [
            "restart 3 is under way; wait for its end, or quarantine the target",
            "the target is quarantined; release it, and it is restarted",
            "the target is running, not quarantined: there is nothing to release",
            "an update is under way; finish it first, as promoted or as rolled back",
            "the target is offline, not updating: begin an update first",
        ]
    );
}

/// L3, L8: a record that a clock from the future wrote is taken up as it was, so long ago as it was:
/// the restart is due as soon after as it would have been.
#[test]
fn a_record_from_the_future_is_taken_up_now() {
    let down = |second| Event::Liveness(Sighting::new(Unhealthy, at(second), None, "down"));
    let policy = Policy { jitter: 0.0, ..Policy::default() };
    let hour = 3600;
    let mut record = LifecycleRecord::new(at(hour));
    record = step(&record, &down(hour + 5), &policy, at(hour + 6), 0.5).unwrap().record;
    assert_eq!((record.state, record.next_attempt_at), (Offline, Some(at(hour + 7))));

    assert_eq!(record.clone().taken_up(at(hour + 6)), record, "nothing is ahead");
    let taken = record.clone().taken_up(at(10));
    assert_eq!((taken.since, taken.next_attempt_at), (at(10), Some(at(11))));
    assert_eq!((taken.liveness.at, taken.fresh_after), (at(9), at(4)));
    assert_eq!((taken.revision, taken.failures), (record.revision, record.failures));
    // What is seen from now on counts.
    let again = step(&taken, &down(12), &policy, at(12), 0.5).unwrap().record;
    assert_eq!(again.liveness.at, at(12));
}
