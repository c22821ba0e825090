//! Drives the lifecycle of managed targets (contract L): restarts what is down, and stops when
//! that does not help.
//!
//! What becomes of a target is decided by one pure table, [`probehost_model::lifecycle::step`].
//! Here is who feeds it: one task for each managed target, which takes what the monitor
//! recorded, what people ask for, the outcome of restarts and the passing of time, one after
//! the other. Each step is saved before anything is done, and nothing is done for a step that
//! did not land; so a restart is never issued twice, neither after a crash nor by two hosts on
//! one database.
//!
//! What restarts a target and what probes it come in by the traits of [`ports`], so that all of
//! this is tested on a clock that the test drives.

mod actor;
mod error;
mod healer;
mod instance;
pub mod ports;
mod sightings;

pub use error::AskError;
pub use healer::{Healer, Settings};
pub use instance::{Ask, Instance};
