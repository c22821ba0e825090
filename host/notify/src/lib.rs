//! Tells people what changes (contract E5): who is told of which event, and the delivery.
//!
//! The planner reads the events that the store has committed, applies the rules and commits what
//! is to be delivered; one task for each sink delivers it. Neither is known to the probes, so a
//! sink that is slow or down stops nothing. docs/notifications.md is the page for operators.

mod delivering;
mod detector;
mod inner;
mod mail;
mod maintenance;
mod metrics;
mod notifier;
mod planner;
mod planning;
pub mod ports;
mod problem;
mod render;
mod sign;
mod wire;

pub use delivering::LIMIT;
pub use detector::{Detector, OwnFault};
pub use inner::{Options, SinkState};
pub use maintenance::open_until;
pub use metrics::Metrics;
pub use notifier::{Notifier, trial};
pub use wire::{HttpWire, describe};
