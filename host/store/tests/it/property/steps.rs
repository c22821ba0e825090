//! What can happen, as random values from small domains, so that things meet.

use probehost_model::{Outcome, Reason, Thresholds, Trigger};
use proptest::prelude::*;

/// The targets of the test: `t0` to `t2`.
pub(crate) const TARGETS: usize = 3;
/// The checks that a target may have: `c0` and `c1`.
pub(crate) const CHECKS: usize = 2;

/// One thing that happens.
#[derive(Debug, Clone)]
pub(crate) enum Step {
    Observe(Seen),
    /// A save of all targets; none stands for a target that the file does not name.
    Sync {
        targets: Vec<Option<TargetState>>,
        ahead: i64,
    },
    SetEnabled {
        target: usize,
        enabled: bool,
        ahead: i64,
    },
    Delete {
        target: usize,
        ahead: i64,
    },
}

/// An observation.
#[derive(Debug, Clone)]
pub(crate) struct Seen {
    pub(crate) target: usize,
    pub(crate) check: usize,
    /// How many changes of the target ago the probe began.
    pub(crate) changes_ago: usize,
    /// How much later than the last attempt it ended, in microseconds.
    pub(crate) later: i64,
    pub(crate) subject: u8,
    pub(crate) outcome: Outcome,
    pub(crate) thresholds: Thresholds,
    pub(crate) trigger: Trigger,
    pub(crate) denied: usize,
}

/// A target as the file has it.
#[derive(Debug, Clone)]
pub(crate) struct TargetState {
    pub(crate) enabled: bool,
    pub(crate) label: u8,
    pub(crate) checks: Vec<Option<CheckState>>,
}

/// A check as the file has it.
#[derive(Debug, Clone)]
pub(crate) struct CheckState {
    pub(crate) kind: u8,
    pub(crate) config: u8,
    pub(crate) interval: Option<u8>,
    pub(crate) failure: u32,
}

pub(crate) fn step() -> impl Strategy<Value = Step> {
    // The clock of saves stands still, runs, or is set back.
    let ahead = || prop_oneof![4 => 1_i64..50, 1 => Just(0), 1 => -50_i64..0];
    prop_oneof![
        16 => seen().prop_map(Step::Observe),
        3 => (prop::collection::vec(mostly(target()), TARGETS), ahead())
            .prop_map(|(targets, ahead)| Step::Sync { targets, ahead }),
        2 => (0..TARGETS, prop::bool::weighted(0.7), ahead())
            .prop_map(|(target, enabled, ahead)| Step::SetEnabled { target, enabled, ahead }),
        1 => (0..TARGETS, ahead()).prop_map(|(target, ahead)| Step::Delete { target, ahead }),
    ]
}

fn seen() -> impl Strategy<Value = Seen> {
    let changes_ago = prop_oneof![8 => Just(0_usize), 1 => Just(1), 1 => 2_usize..4];
    let later = prop_oneof![6 => 1_i64..20, 1 => Just(0), 1 => -20_i64..0];
    let threshold = || 1_u32..4;
    let thresholds = (threshold(), threshold())
        .prop_map(|(failure, inconclusive)| Thresholds { failure, inconclusive });
    let what = (0..TARGETS, 0..CHECKS, changes_ago, later, 0_u8..3);
    (what, outcome(), thresholds, prop::sample::select(Trigger::ALL.to_vec()), 0_usize..3).prop_map(
        |((target, check, changes_ago, later, subject), outcome, thresholds, trigger, denied)| {
            Seen {
                target,
                check,
                changes_ago,
                later,
                subject,
                outcome,
                thresholds,
                trigger,
                denied,
            }
        },
    )
}

fn outcome() -> impl Strategy<Value = Outcome> {
    prop_oneof![
        2 => Just(Outcome::Pass),
        3 => (prop::sample::select(Reason::ALL.to_vec()), "[a-z'\"\\\\ ü]{0,8}")
            .prop_map(|(reason, message)| Outcome::fail(reason, &message)),
        2 => "[a-z'\"]{1,8}".prop_map(|error| Outcome::inconclusive(&error)),
    ]
}

fn target() -> impl Strategy<Value = TargetState> {
    (prop::bool::weighted(0.8), 0_u8..2, prop::collection::vec(mostly(check()), CHECKS))
        .prop_map(|(enabled, label, checks)| TargetState { enabled, label, checks })
}

fn check() -> impl Strategy<Value = CheckState> {
    (0_u8..2, 0_u8..2, prop::option::of(1_u8..3), 1_u32..3).prop_map(
        |(kind, config, interval, failure)| CheckState { kind, config, interval, failure },
    )
}

fn mostly<T: std::fmt::Debug>(
    strategy: impl Strategy<Value = T>,
) -> impl Strategy<Value = Option<T>> {
    prop::option::weighted(0.85, strategy)
}
