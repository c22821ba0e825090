//! Puts the parts together: from a config file to a host that probes and answers.

mod error;
mod kinds;
mod listing;
mod planning;
mod prober;
mod serving;

pub use kinds::Kinds;
pub use planning::Planned;
pub use prober::SandboxProber;

pub(crate) use error::AppError;
pub(crate) use kinds::{Setup, clamp_text};
pub(crate) use listing::{Known, check_seen};
pub(crate) use serving::Host;
