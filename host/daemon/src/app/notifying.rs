//! How the host tells people what changes (contract E5), and who is told of each result.

use probehost_healer::Healer;
use probehost_healer::ports::{Probing, Records, Restarter};
use probehost_monitor::ports::{Follower, Landed};
use probehost_notify::{HttpWire, Notifier};
use probehost_store::Store;

pub(crate) type HostNotifier = Notifier<Store, HttpWire>;

/// Tells both the healer and the notifier of each result that is recorded.
pub(crate) struct Followers<R, S, P> {
    pub(crate) healer: Healer<R, S, P>,
    pub(crate) notifier: HostNotifier,
}

impl<R: Records, S: Restarter, P: Probing> Follower for Followers<R, S, P> {
    fn landed(&self, landed: Landed) {
        self.notifier.landed(landed.clone());
        self.healer.landed(landed);
    }
}

/// Tells this host from others that share its database, and from itself before a restart.
pub(crate) fn host_name() -> String {
    let start = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let start = start.map(|since| since.as_micros()).unwrap_or_default();
    format!("{}-{start:x}", std::process::id())
}
