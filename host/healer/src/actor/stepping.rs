//! One step of a lifecycle: decided by the table, saved, and only then done.

use std::borrow::Cow;

use probehost_model::lifecycle::{Effect, Event, LifecycleState, Refused, Step, step};
use probehost_model::{SYSTEM_PRINCIPAL, Timestamp, Trigger};
use probehost_store::{LifecycleAudit, LifecycleWrite, StoreError};
use tracing::{info, warn};

use super::Actor;
use crate::ports::{Probing, Records, Restarter};

/// How often a step is tried that another host was faster with.
const TRIES: usize = 5;

/// Why a step was not made.
pub(super) enum Failed {
    Refused(Refused),
    Store(StoreError),
    Gone,
}

/// Who asked for a step.
pub(super) struct By {
    pub(super) principal: Cow<'static, str>,
    pub(super) trigger: Option<Trigger>,
}

impl By {
    pub(super) const HOST: Self =
        Self { principal: Cow::Borrowed(SYSTEM_PRINCIPAL), trigger: None };
}

impl<S: Records, R: Restarter, P: Probing> Actor<S, R, P> {
    /// One event and all that follows from it at once.
    pub(super) async fn advance(&mut self, event: &Event, by: By) -> Result<(), Failed> {
        let issue = self.step(event, by).await?;
        let Some(attempt) = issue else { return Ok(()) };
        match self.step(&Event::Issue { attempt }, By::HOST).await {
            // The decision stands, and its restart is issued when the store takes that.
            Err(Failed::Store(error)) => self.hold(&error),
            done => drop(done?),
        }
        Ok(())
    }

    /// One step: decided, saved, and only then done. Gives the restart that is to be issued.
    async fn step(&mut self, event: &Event, by: By) -> Result<Option<u64>, Failed> {
        for _ in 0..TRIES {
            let now = self.shared.clock.now();
            let chance = (self.shared.chance)();
            let policy = self.configuration.managed.policy;
            let made = step(&self.record, event, &policy, now, chance).map_err(Failed::Refused)?;
            if !made.save {
                self.record = made.record.clone();
                return Ok(self.carry_out(made.effects));
            }
            let write = self.write(&made, now, &by);
            if self.shared.records.save(write).await.map_err(Failed::Store)? {
                self.tell(&made);
                self.record = made.record;
                self.publish();
                return Ok(self.carry_out(made.effects));
            }
            // Another host was faster, or the target is not what it was.
            let stored = self.shared.records.one(self.id()).await.map_err(Failed::Store)?;
            self.record = stored.ok_or(Failed::Gone)?;
            self.publish();
        }
        // Tried again after a pause, as after any other fault of the store.
        Err(Failed::Store(StoreError::Overtaken(self.id().to_owned())))
    }

    fn write(&self, made: &Step, at: Timestamp, by: &By) -> LifecycleWrite {
        let mut audit = Vec::new();
        let mut poolable = None;
        for effect in &made.effects {
            match effect {
                Effect::Audit { action, attempt, outcome } => {
                    let outcome = match attempt {
                        Some(attempt) => format!("restart {attempt}: {outcome}"),
                        None => outcome.clone(),
                    };
                    audit.push(LifecycleAudit { action: *action, outcome });
                }
                Effect::Pool { poolable: now } => poolable = Some(*now),
                _ => {}
            }
        }
        LifecycleWrite {
            target: self.id().to_owned(),
            record: made.record.clone(),
            transitions: made.transitions().cloned().collect(),
            audit,
            poolable,
            at,
            principal: by.principal.clone(),
            trigger: by.trigger,
        }
    }

    /// The log of what has just been saved.
    fn tell(&self, made: &Step) {
        for made in made.transitions() {
            let (from, to, failures) = (made.from, made.to, made.failures);
            let reason = made.reason.map(|reason| reason.as_str()).unwrap_or_default();
            let (target, message) = (self.id(), made.message.as_str());
            match to {
                LifecycleState::Running | LifecycleState::Updating => {
                    info!(target, %from, %to, "lifecycle changed");
                }
                _ => warn!(target, %from, %to, reason, message, failures, "lifecycle changed"),
            }
        }
    }

    fn carry_out(&mut self, effects: Vec<Effect>) -> Option<u64> {
        let mut issue = None;
        for effect in effects {
            match effect {
                Effect::Issue { attempt } => issue = Some(attempt),
                Effect::Restart { attempt } => self.restart(attempt),
                Effect::Probe => self.probe(),
                // Saved with the record.
                Effect::Transition(_) | Effect::Audit { .. } | Effect::Pool { .. } => {}
            }
        }
        issue
    }
}
