//! One probe from start to record, and when each probe runs.
//!
//! [`Monitor`] owns every probe: it holds the one semaphore, the probes in flight and the
//! task of each, from the permit to the durable record. [`Schedule`] decides when, and asks
//! the monitor. What runs a probe, keeps a record and lists the checks comes in by the traits
//! of [`ports`], so that all of this is tested on a clock that the test drives.

mod admission;
mod clock;
mod flight;
mod metrics;
mod monitor;
pub mod ports;
mod result;
mod rollups;
mod schedule;
mod timetable;
mod windows;

pub use clock::Clock;
pub use metrics::Metrics;
pub use monitor::{Launch, Monitor, Settings};
pub use result::{Evidence, LogLine, ProbeCall, ProbeError, ProbeResult, Recording};
pub use rollups::Rollups;
pub use schedule::{REFRESH, Schedule};
pub use windows::Windows;
