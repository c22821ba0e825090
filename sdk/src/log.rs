//! Lines for the log that the host keeps with a probe's result. At most 64 lines in a run.

#[cfg(target_arch = "wasm32")]
use crate::bindings::probehost::plugin::log::write;
#[cfg(not(target_arch = "wasm32"))]
use crate::native::log::write;

pub use crate::bindings::probehost::plugin::log::Level;

/// What only the plugin's author wants to know.
pub fn debug(message: &str) {
    write(Level::Debug, message);
}

/// What helps to understand a result.
pub fn info(message: &str) {
    write(Level::Info, message);
}

/// What is odd, though the check goes on.
pub fn warn(message: &str) {
    write(Level::Warn, message);
}
