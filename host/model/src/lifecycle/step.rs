//! The table: what becomes of a managed target when something happens to it.

use super::Policy;
use super::event::{Effect, Event, Refused, Step};
use super::machine::{Machine, Standing};
use super::record::{AttemptPhase, LifecycleRecord, LifecycleState, Sighting, Verdict};
use super::timer::start_deadline;
use crate::Timestamp;

use LifecycleState::{Offline, Quarantined, Restarting, Running, Unknown, Updating};

/// What `event` comes to at `now`. `chance` is a random number from 0 to 1 that spreads the
/// waits (see [`super::delay`]).
///
/// Save the record if [`Step::save`] says so, and carry out the effects only when that has
/// landed. An event that means nothing in the state (the outcome of a restart that is no
/// longer under way, a sighting from before the restart) changes nothing.
///
/// # Errors
/// What operators and the update manager ask for can be refused; nothing else can.
pub fn step(
    record: &LifecycleRecord,
    event: &Event,
    policy: &Policy,
    now: Timestamp,
    chance: f64,
) -> Result<Step, Refused> {
    let mut machine = Machine::new(record, policy, now, chance);
    match event {
        Event::Liveness(seen) => {
            if seen.at > record.fresh_after {
                machine.record.liveness = seen.clone();
                sighted(&mut machine, seen);
            }
        }
        Event::Readiness(seen) => {
            if seen.at > record.fresh_after {
                machine.record.readiness = seen.clone();
                sighted(&mut machine, seen);
            }
        }
        Event::Tick => tick(&mut machine),
        Event::Resumed => resumed(&mut machine),
        Event::Issue { attempt } => {
            let decided = is_at(record, *attempt, AttemptPhase::Decided);
            if record.state == Restarting && decided {
                machine.issue();
            }
        }
        Event::RestartSucceeded { attempt } => {
            if awaits_outcome(record, *attempt) {
                machine.started();
            }
        }
        Event::RestartFailed { attempt, message } => {
            if awaits_outcome(record, *attempt) {
                machine.attempt_failed(None, message);
            }
        }
        Event::OperatorRestart
        | Event::OperatorQuarantine { .. }
        | Event::OperatorRelease
        | Event::UpdateBegin
        | Event::UpdatePromoted
        | Event::UpdateRolledBack => asked(&mut machine, event)?,
    }
    Ok(machine.finish())
}

fn is_at(record: &LifecycleRecord, number: u64, phase: AttemptPhase) -> bool {
    record.attempt.as_ref().is_some_and(|own| own.number == number && own.phase == phase)
}

/// Whether the runtime's word on the attempt is still waited for. A call that outlived the start
/// budget while nothing could be seen has left the target `unknown`, and is still heard.
fn awaits_outcome(record: &LifecycleRecord, number: u64) -> bool {
    matches!(record.state, Restarting | Unknown) && is_at(record, number, AttemptPhase::Issued)
}

/// A verdict has come, and is in the record.
fn sighted(machine: &mut Machine<'_>, seen: &Sighting) {
    let standing = machine.standing();
    match (machine.record.state, standing) {
        // L1: the first conclusive word.
        (Unknown, Standing::Up) => machine.up(),
        // L5: a restart whose budget ran out while nothing could be seen is judged now. One
        // that the runtime has yet to answer for is left to it, and to the tick.
        (Unknown, Standing::Down) if is_unjudged(&machine.record) => {
            machine.attempt_failed_as_seen();
        }
        (Unknown, Standing::Down) => machine.down(),
        (Unknown, Standing::NotKnown) => {}

        // L2; L11: readiness has no say here, `standing` sees to that.
        (Running, Standing::Down) => machine.down(),
        // T5: never unhealthy for want of knowledge.
        (Running, Standing::NotKnown) => machine.unknown(),
        (Running, Standing::Up) => {}

        // It is back by itself: nothing is to be restarted.
        (Offline, Standing::Up) => machine.up(),
        // T5, C3: what can't be seen is not restarted.
        (Offline, Standing::NotKnown) if machine.is_blind() => machine.unknown(),
        (Offline, Standing::NotKnown | Standing::Down) => {}

        // L2: ready again. Until the runtime is done, what is seen may be the old process.
        (Restarting, _) => {
            if machine.record.phase() == Some(AttemptPhase::Started) && machine.record.is_ready() {
                machine.up();
            }
        }

        // L6: seen and reported, not acted on.
        (Updating, _) => {}

        // L7: by default no probe ends it.
        (Quarantined, _) => quarantine_sighted(machine, seen),
    }
}

fn is_unjudged(record: &LifecycleRecord) -> bool {
    matches!(record.phase(), Some(AttemptPhase::Issued | AttemptPhase::Started))
}

/// With `quarantine_retry`, the first probe from its time on decides: well and ready ends the
/// quarantine, anything else waits for the next (L7).
fn quarantine_sighted(machine: &mut Machine<'_>, seen: &Sighting) {
    let record = &machine.record;
    let due = record.next_attempt_at.filter(|_| machine.policy.quarantine_retry.is_some());
    let Some(due) = due.filter(|due| seen.at >= *due) else { return };
    let fresh = |sighting: &Sighting| sighting.at >= due;
    if record.is_ready() && fresh(&record.liveness) && fresh(&record.readiness) {
        // Its failures still count (L4): if it doesn't stay up it is quarantined again at once.
        machine.up();
    } else if seen.verdict != Verdict::Healthy {
        machine.record.quarantine_probes = machine.record.quarantine_probes.saturating_add(1);
        machine.schedule_quarantine_probe();
    }
}

/// Whatever is due.
fn tick(machine: &mut Machine<'_>) {
    let now = machine.now;
    match (machine.record.state, machine.record.phase()) {
        (Unknown | Updating, _) => {}

        // L4: sustained uptime, and nothing else, forgets the failures.
        (Running, phase) => {
            let since = machine.record.healthy_since.unwrap_or(machine.record.since);
            let unsettled = machine.record.failures > 0 || phase.is_some();
            if unsettled && now.since(since) >= machine.policy.healthy_reset {
                machine.record.failures = 0;
                machine.record.attempt = None;
            }
        }

        // L3. A time further off than the longest wait comes from another policy or a clock
        // that was set back.
        (Offline, _) => match machine.record.next_attempt_at {
            Some(due) if due <= now => machine.decide("restart due"),
            Some(due) if due <= now.plus(machine.policy.cap) => {}
            _ => machine.schedule_or_give_up(),
        },

        // L5, L8.
        (Restarting, Some(phase @ (AttemptPhase::Issued | AttemptPhase::Started))) => {
            if start_deadline(&machine.record, machine.policy).is_some_and(|end| now >= end) {
                match machine.standing() {
                    Standing::Up => machine.up(),
                    Standing::Down => machine.attempt_failed_as_seen(),
                    // Not a failure: nobody has seen it fail. The next word decides.
                    Standing::NotKnown => {
                        machine.unknown();
                        machine.ask(Effect::Probe);
                    }
                }
            } else if phase == AttemptPhase::Started {
                machine.ask(Effect::Probe);
            }
        }
        // L8: decided and not issued.
        (Restarting, _) => machine.ask_to_issue(),

        // L7.
        (Quarantined, _) => match (machine.policy.quarantine_retry, machine.record.next_attempt_at)
        {
            (Some(_), Some(due)) if due <= now => machine.ask(Effect::Probe),
            (Some(_), Some(_)) | (None, None) => {}
            (Some(_), None) | (None, Some(_)) => machine.schedule_quarantine_probe(),
        },
    }
}

/// A host takes the record up (L8).
fn resumed(machine: &mut Machine<'_>) {
    match (machine.record.state, machine.record.phase()) {
        // What is overdue rests on what was seen before the host went away: it is seen again
        // first, and a thousand overdue restarts don't come in one moment.
        (Offline, _) => {
            if machine.record.next_attempt_at.is_none_or(|due| due <= machine.now) {
                machine.schedule_or_give_up();
            }
            machine.ask(Effect::Probe);
        }
        // Issued, and nobody knows whether the runtime got to hear of it: it is not issued
        // again, and has its start budget from now.
        (Restarting, Some(AttemptPhase::Issued | AttemptPhase::Started)) => machine.started(),
        // Never issued.
        (Restarting, _) => machine.ask_to_issue(),
        // No word will come any more of a call that the last host made.
        (Unknown, Some(AttemptPhase::Issued)) => machine.started(),
        (Unknown | Running | Quarantined | Updating, _) => {}
    }
}

/// What operators and the update manager ask for.
fn asked(machine: &mut Machine<'_>, event: &Event) -> Result<(), Refused> {
    let state = machine.record.state;
    match (event, state) {
        (Event::OperatorRestart, Unknown | Running | Offline) => {
            machine.decide("restart by hand");
        }
        (Event::OperatorRestart, Restarting) => {
            let attempt = machine.record.attempt.as_ref().map_or(0, |attempt| attempt.number);
            return Err(Refused::Restarting { attempt });
        }
        (Event::OperatorRestart | Event::OperatorQuarantine { .. }, Quarantined) => {
            return Err(Refused::Quarantined);
        }
        // L6: the update manager alone ends an update.
        (
            Event::OperatorRestart
            | Event::OperatorQuarantine { .. }
            | Event::OperatorRelease
            | Event::UpdateBegin,
            Updating,
        ) => return Err(Refused::Updating),

        (Event::OperatorQuarantine { message }, Unknown | Running | Offline | Restarting) => {
            machine.record.attempt = None;
            machine.quarantine(None, message);
        }
        (Event::OperatorRelease, Quarantined) => machine.release(),
        (Event::OperatorRelease, _) => return Err(Refused::NotQuarantined(state)),

        (Event::UpdateBegin, _) => machine.begin_update(),
        (Event::UpdatePromoted, Updating) => machine.promote(),
        (Event::UpdateRolledBack, Updating) => machine.roll_back(),
        (Event::UpdatePromoted | Event::UpdateRolledBack, _) => {
            return Err(Refused::NotUpdating(state));
        }
        // `step` sends nothing else here.
        _ => {}
    }
    Ok(())
}
