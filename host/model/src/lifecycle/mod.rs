//! The lifecycle of a managed target (contract L): one pure table, `state × event`, that says
//! what becomes of the durable record and what there is to do.
//!
//! [`step`] is that table. It never restarts anything: it gives back the next
//! [`LifecycleRecord`] and a list of [`Effect`]s. Whoever drives it (the healer) keeps one rule:
//! **save the record first, and carry out the effects only if the save landed.** The store
//! compares [`LifecycleRecord::revision`] with what it replaces, so of two that step the same
//! record only one lands.
//!
//! # A restart is never issued twice
//!
//! A restart is an [`Attempt`] with a number that is never used again, and passes two marks:
//!
//! 1. `decided`: the record says that a restart is wanted. The runtime has not been called,
//!    and is not called on the strength of this mark.
//! 2. `issued`: saved *before* the runtime is called. [`Effect::Restart`] comes only from the
//!    step that leads from the first mark to the second, so at most one save in the life of a
//!    number can carry it.
//!
//! After a crash the record tells the two apart. `decided`: it was never issued, and is issued
//! now. `issued`: the call may have gone out, and a runtime can't be asked to forget it; the host
//! waits for the start budget, and only evidence that the target is still down ends the
//! attempt. A crash between the second save and the call costs one start budget; a
//! second restart of a target that is just starting would cost more.
//!
//! ```
//! use probehost_model::Timestamp;
//! use probehost_model::lifecycle::{
//!     Effect, Event, LifecycleRecord, LifecycleState, Policy, Sighting, Verdict, step,
//! };
//!
//! let policy = Policy { jitter: 0.0, ..Policy::default() };
//! let at = |second: i64| Timestamp::from_micros(second * 1_000_000);
//! let record = LifecycleRecord::new(at(0));
//! let down = Event::Liveness(Sighting::new(Verdict::Unhealthy, at(1), None, "exited"));
//! let offline = step(&record, &down, &policy, at(1), 0.5)?.record;
//! assert_eq!(offline.state, LifecycleState::Offline);
//! assert_eq!(offline.next_attempt_at, Some(at(2)));
//!
//! let decided = step(&offline, &Event::Tick, &policy, at(2), 0.5)?;
//! assert!(decided.effects.contains(&Effect::Issue { attempt: 1 }));
//! let issued = step(&decided.record, &Event::Issue { attempt: 1 }, &policy, at(2), 0.5)?;
//! assert!(issued.effects.contains(&Effect::Restart { attempt: 1 }));
//! # Ok::<(), probehost_model::lifecycle::Refused>(())
//! ```

mod backoff;
mod event;
mod machine;
mod policy;
mod pool;
mod ranges;
mod record;
mod step;
mod timer;
mod verdict;

#[cfg(test)]
mod properties;
#[cfg(test)]
mod table;
#[cfg(test)]
mod tests;

pub use backoff::delay;
pub use event::{Effect, Event, LifecycleTransition, Refused, Step};
pub use policy::{PartialPolicy, Policy, PolicyError};
pub use pool::{PoolMember, PoolSnapshot, UpdateVerdict, is_poolable, update_verdict};
pub use record::{
    Attempt, AttemptPhase, LifecycleRecord, LifecycleState, Sighting, Update, Verdict,
};
pub use step::step;
pub use timer::{START_PROBE_EVERY, start_deadline, wake_at};
pub use verdict::{CheckView, sight};
