//! What holds whatever happens in whatever order, with a host that may die at any point.

use proptest::prelude::*;

use super::*;
use crate::Timestamp;

#[derive(Debug, Clone)]
enum Move {
    See {
        readiness: bool,
        verdict: Verdict,
        late: bool,
    },
    Wait {
        millis: u32,
    },
    WaitUntilDue,
    Outcome {
        succeeded: bool,
    },
    Ask(Event),
    /// The healer sends the second mark once more, late.
    IssueAgain,
    Twice,
}

/// Where the host dies while it handles an event.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Death {
    Never,
    BeforeTheSave,
    AfterTheSave,
    /// After so many effects.
    After(usize),
}

fn moves() -> impl Strategy<Value = Move> {
    let verdict = prop::sample::select(Verdict::ALL.to_vec());
    let asked = prop::sample::select(vec![
        Event::OperatorRestart,
        Event::OperatorQuarantine { message: "by hand".into() },
        Event::OperatorRelease,
        Event::UpdateBegin,
        Event::UpdatePromoted,
        Event::UpdateRolledBack,
    ]);
    prop_oneof![
        8 => (any::<bool>(), verdict, any::<bool>())
            .prop_map(|(readiness, verdict, late)| Move::See { readiness, verdict, late }),
        2 => (0_u32..100_000).prop_map(|millis| Move::Wait { millis }),
        8 => Just(Move::WaitUntilDue),
        4 => any::<bool>().prop_map(|succeeded| Move::Outcome { succeeded }),
        1 => asked.prop_map(Move::Ask),
        1 => Just(Move::IssueAgain),
        1 => Just(Move::Twice),
    ]
}

fn deaths() -> impl Strategy<Value = Death> {
    prop_oneof![
        12 => Just(Death::Never),
        1 => Just(Death::BeforeTheSave),
        1 => Just(Death::AfterTheSave),
        1 => (0_usize..4).prop_map(Death::After),
    ]
}

fn policies() -> impl Strategy<Value = Policy> {
    (1_u32..4, 0.0..=1.0, any::<bool>()).prop_map(|(max_restarts, jitter, retry)| Policy {
        max_restarts,
        jitter,
        quarantine_retry: retry.then_some(std::time::Duration::from_secs(100)),
        ..Policy::default()
    })
}

/// A host, its store and its runtime.
struct Host {
    policy: Policy,
    now: Timestamp,
    saved: LifecycleRecord,
    memory: LifecycleRecord,
    called: Vec<u64>,
    /// Where it dies between the two marks of a restart, and after the second.
    death_at_issue: Death,
}

impl Host {
    fn handle(&mut self, event: &Event, chance: f64, death: Death) -> Result<(), TestCaseError> {
        let before = self.memory.clone();
        let Ok(step) = step(&before, event, &self.policy, self.now, chance) else {
            return Ok(());
        };
        self.hold(&before, event, &step)?;
        if death == Death::BeforeTheSave {
            return self.come_back(chance);
        }
        if step.save {
            prop_assert_eq!(step.record.revision, self.saved.revision + 1);
            let json = serde_json::to_string(&step.record).unwrap();
            self.saved = serde_json::from_str(&json).unwrap();
            prop_assert_eq!(&self.saved, &step.record);
        }
        self.memory = step.record;
        if death == Death::AfterTheSave {
            return self.come_back(chance);
        }
        for (done, effect) in step.effects.iter().enumerate() {
            if death == Death::After(done) {
                return self.come_back(chance);
            }
            match effect {
                Effect::Issue { attempt } => {
                    let death = std::mem::replace(&mut self.death_at_issue, Death::Never);
                    self.handle(&Event::Issue { attempt: *attempt }, chance, death)?;
                }
                Effect::Restart { attempt } => {
                    // L8: never twice; and the second mark is in the store.
                    prop_assert!(!self.called.contains(attempt), "{} twice", attempt);
                    prop_assert_eq!(self.saved.phase(), Some(AttemptPhase::Issued));
                    self.called.push(*attempt);
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn come_back(&mut self, chance: f64) -> Result<(), TestCaseError> {
        self.memory = self.saved.clone();
        self.handle(&Event::Resumed, chance, Death::Never)
    }

    /// What every step keeps to.
    fn hold(
        &self,
        before: &LifecycleRecord,
        event: &Event,
        step: &Step,
    ) -> Result<(), TestCaseError> {
        let after = &step.record;
        let asked = matches!(event, Event::OperatorRestart | Event::OperatorRelease);
        let decided =
            after.phase() == Some(AttemptPhase::Decided) && before.attempts != after.attempts;
        let calls = step.effects.iter().any(|e| matches!(e, Effect::Restart { .. }));

        // The history has no gaps.
        let mut state = before.state;
        for transition in step.transitions() {
            prop_assert_eq!(transition.from, state);
            prop_assert_ne!(transition.from, transition.to);
            state = transition.to;
        }
        prop_assert_eq!(state, after.state);
        prop_assert_eq!(step.save || !step.effects.iter().any(is_durable), true);

        // L6, L7: never while updating or quarantined.
        if matches!(before.state, LifecycleState::Updating | LifecycleState::Quarantined) {
            prop_assert!(!calls);
            prop_assert!(!decided || *event == Event::OperatorRelease);
        }
        prop_assert!(!calls || after.state == LifecycleState::Restarting);
        let left = before.state != after.state;
        match (before.state, event) {
            (LifecycleState::Updating, Event::UpdatePromoted | Event::UpdateRolledBack) => {}
            (LifecycleState::Updating, _) => prop_assert!(!left),
            (LifecycleState::Quarantined, Event::OperatorRelease | Event::UpdateBegin) => {}
            (LifecycleState::Quarantined, Event::Liveness(_) | Event::Readiness(_)) => {
                let probed = self.policy.quarantine_retry.is_some() && after.is_ready();
                prop_assert!(!left || probed);
            }
            (LifecycleState::Quarantined, _) => prop_assert!(!left),
            _ => {}
        }

        // L2, T5: a sighting decides nothing at once, and an inconclusive one leads to no
        // wait for a restart either.
        if let Event::Liveness(seen) | Event::Readiness(seen) = event {
            prop_assert!(!decided && !calls);
            if seen.verdict == Verdict::Unknown && before.state != LifecycleState::Offline {
                prop_assert_ne!(after.state, LifecycleState::Offline);
            }
        }
        // What the host decides by itself follows a conclusive failure: seen, or told by the
        // runtime with nothing inconclusive since.
        if decided && !asked {
            let told = before.phase() == Some(AttemptPhase::Failed);
            let blind = before.liveness.verdict == Verdict::Unknown
                && before.liveness.at > before.fresh_after;
            prop_assert!(before.liveness.verdict == Verdict::Unhealthy || (told && !blind));
            prop_assert_eq!(before.state, LifecycleState::Offline);
            prop_assert!(before.failures < self.policy.max_restarts);
        }

        // L4: only uptime, a release or a promotion forgets.
        if after.failures < before.failures {
            let uptime = before.healthy_since.map(|since| self.now.since(since));
            let settled = *event == Event::Tick
                && before.state == LifecycleState::Running
                && uptime.is_some_and(|uptime| uptime >= self.policy.healthy_reset);
            let vouched = matches!(event, Event::OperatorRelease | Event::UpdatePromoted);
            prop_assert!(settled || vouched);
        }

        // L3: quarantined by the host exactly when max_restarts have not held.
        let gave_up = before.state != LifecycleState::Quarantined
            && after.state == LifecycleState::Quarantined
            && !matches!(event, Event::OperatorQuarantine { .. } | Event::UpdateRolledBack);
        if gave_up {
            prop_assert!(after.failures >= self.policy.max_restarts);
        }
        if after.state == LifecycleState::Offline {
            prop_assert!(after.failures < self.policy.max_restarts);
            if before.next_attempt_at != after.next_attempt_at {
                let wait = after.next_attempt_at.unwrap().since(self.now);
                prop_assert!(self.policy.base <= wait && wait <= self.policy.cap);
            }
        }

        // L11.
        let told = step.effects.iter().find_map(|effect| match effect {
            Effect::Pool { poolable } => Some(*poolable),
            _ => None,
        });
        let changed = is_poolable(before) != is_poolable(after);
        prop_assert_eq!(told, changed.then_some(is_poolable(after)));
        prop_assert!(!is_poolable(after) || after.state == LifecycleState::Running);

        // Nothing waits for ever.
        if matches!(after.state, LifecycleState::Offline | LifecycleState::Restarting) {
            prop_assert!(wake_at(after, &self.policy, self.now).is_some());
        }
        Ok(())
    }
}

fn is_durable(effect: &Effect) -> bool {
    matches!(effect, Effect::Transition(_) | Effect::Audit { .. } | Effect::Restart { .. })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, ..ProptestConfig::default() })]

    /// L2–L8, L11, T5: see [`Host::hold`] and [`Host::handle`].
    #[test]
    fn whatever_happens(
        policy in policies(),
        story in prop::collection::vec((moves(), (deaths(), deaths()), 0.0..=1.0), 1..80),
    ) {
        let start = Timestamp::from_micros(0);
        let record = LifecycleRecord::new(start);
        let mut host = Host {
            policy,
            now: start,
            saved: record.clone(),
            memory: record,
            called: Vec::new(),
            death_at_issue: Death::Never,
        };
        let mut last = Event::Tick;
        for (next, (death, death_at_issue), chance) in story {
            host.death_at_issue = death_at_issue;
            host.now = host.now.plus(std::time::Duration::from_millis(1));
            let event = match next {
                Move::See { readiness, verdict, late } => {
                    let at = if late { host.memory.fresh_after } else { host.now };
                    let seen = Sighting::new(verdict, at, None, "");
                    if readiness { Event::Readiness(seen) } else { Event::Liveness(seen) }
                }
                Move::Wait { millis } => {
                    host.now = host.now.plus(std::time::Duration::from_millis(u64::from(millis)));
                    Event::Tick
                }
                Move::WaitUntilDue => {
                    let due = wake_at(&host.memory, &host.policy, host.now);
                    host.now = due.unwrap_or(host.now).max(host.now);
                    Event::Tick
                }
                Move::Outcome { succeeded } => match host.called.last().copied() {
                    Some(attempt) if succeeded => Event::RestartSucceeded { attempt },
                    Some(attempt) => Event::RestartFailed { attempt, message: "no".into() },
                    None => continue,
                },
                Move::Ask(event) => event,
                Move::IssueAgain => Event::Issue { attempt: host.memory.attempts },
                Move::Twice => last.clone(),
            };
            host.handle(&event, chance, death)?;
            last = event;
        }
        let mut numbers = host.called.clone();
        numbers.dedup();
        prop_assert_eq!(numbers.len(), host.called.len());
        prop_assert!(host.memory.restarts >= host.called.len() as u64);
    }
}
