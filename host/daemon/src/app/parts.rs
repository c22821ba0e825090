//! The parts of a host, as it puts them together.

use std::sync::Arc;

use probehost_healer::Healer;
use probehost_monitor::{Monitor, Schedule};
use probehost_store::Store;

use super::SandboxProber;
use super::healing::Restarts;
use super::listing::StoreListing;

pub(crate) type HostMonitor = Monitor<Arc<SandboxProber>, Store>;
pub(crate) type HostSchedule = Schedule<Arc<SandboxProber>, Store, StoreListing>;
pub(crate) type HostHealer = Healer<Store, Restarts, HostMonitor>;
