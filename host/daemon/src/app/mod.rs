//! Puts the parts together: from a config file to a host that probes and answers.

mod changing;
mod error;
mod faults;
mod granting;
mod healing;
mod housekeeping;
mod kinds;
mod listing;
mod notifying;
mod parts;
mod planning;
mod prober;
mod reloading;
mod rolling;
mod saving;
mod serving;
mod set_back;
mod usage;

pub use error::AppError;
pub(crate) use faults::{FaultRecord, Faults};
pub(crate) use granting::{Allowed, Reach, Reached, reach};
pub use kinds::{Kinds, Setup};
pub use listing::check_seen;
pub use planning::Planned;
pub use prober::SandboxProber;

pub(crate) use changing::{ChangeError, Saver};
pub(crate) use kinds::clamp_text;
pub(crate) use listing::Known;
pub(crate) use notifying::HostNotifier;
pub(crate) use parts::HostHealer;
pub(crate) use reloading::ReloadState;
pub(crate) use serving::{Host, store_options};
pub(crate) use set_back::CLOCK_TOLERANCE;
pub(crate) use usage::Usage;
