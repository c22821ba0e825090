//! Restarts (contract L9), by a real container engine and by real programs.

// Helpers of tests may fail as tests do.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

mod commands;
mod containers;
mod engines;

use std::time::Duration;

use probehost_capability::process::Commands;
use probehost_capability::runtime::{RestartError, Runtimes};
use probehost_capability::secrets::Secrets;
use probehost_model::Runtime;

/// More time than a test takes.
const AMPLE: Duration = Duration::from_secs(60);

/// Restarts a container of this engine.
async fn restart(engine: &str, name: &str, limit: Duration) -> Result<(), RestartError> {
    let none = Secrets::new([], |_| None);
    let runtimes = Runtimes::new(engine.parse().unwrap(), Commands::new(), none);
    runtimes.restart(&Runtime::Container(name.to_owned()), limit).await
}
