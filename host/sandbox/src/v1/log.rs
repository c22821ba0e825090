//! The `log` interface.

use probehost_capability::log::Level;

use super::bindings::probehost::plugin::log as wit;
use crate::state::State;

impl wit::Host for State {
    fn write(&mut self, level: wit::Level, message: String) {
        // Without a run nobody reads it: a plugin that describes itself or plans has no log.
        let Some(granted) = &self.granted else { return };
        let level = match level {
            wit::Level::Debug => Level::Debug,
            wit::Level::Info => Level::Info,
            wit::Level::Warn => Level::Warn,
        };
        granted.run.log(level, &message);
    }
}
