//! How a managed target is restarted (contract L9): by the container engine, or by a command that
//! the operator named.
//!
//! This is the one thing here that changes something, so plugins have no way to it: nothing of it is
//! in [`Capabilities`](crate::Capabilities), which is all that they are ever given.

mod command;
mod container;
mod error;
mod output;

use std::time::Duration;

use probehost_model::Runtime;

pub use error::{End, RestartError, Said};

use crate::container::Engine;
use crate::process::Commands;
use crate::process::programs::Programs;
use crate::secrets::Secrets;

/// Restarts targets.
#[derive(Debug)]
pub struct Runtimes {
    engine: Engine,
    programs: Programs,
}

impl Runtimes {
    /// With this engine for containers, and these commands, whose environments name secrets of
    /// `secrets`.
    #[must_use]
    pub const fn new(engine: Engine, commands: Commands, secrets: Secrets) -> Self {
        Self { engine, programs: Programs::new(commands, secrets) }
    }

    /// Restarts a target, and comes back when the engine has said that it is done, or the command
    /// has ended with exit code 0. That the target is well again is for its checks to find.
    ///
    /// A container that is paused runs afterwards. It gets 10 s to stop before it is killed, less
    /// where that is more than half of `limit`.
    ///
    /// It takes at most `limit`. Then, or when this is dropped, a command is killed with all that it
    /// has started in its process group; an engine is asked no more, and may still do what it was
    /// asked for. What a command that has ended leaves running goes on: it may be the target.
    ///
    /// # Errors
    ///
    /// [`RestartError`], which names container and engine, or the command.
    pub async fn restart(&self, runtime: &Runtime, limit: Duration) -> Result<(), RestartError> {
        match runtime {
            Runtime::Container(name) => container::restart(&self.engine, name, limit).await,
            Runtime::Command(name) => command::run(&self.programs, name, limit).await,
        }
    }
}
