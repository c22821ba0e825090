//! The `process` capability of WIT version 1: programs that the operator named.
//!
//! A plugin says a name, and nothing else: what runs, with which arguments, environment and folder,
//! stands in the operator's config. There is no shell. A program runs in a process group of its own,
//! and the whole group is killed when its handle is dropped, so nothing outlives a run.

mod child;
pub(crate) mod error;
pub(crate) mod group;
pub(crate) mod programs;
mod types;

use std::collections::BTreeMap;
use std::process::Stdio;

use probehost_model::{Endpoint, sanitize};

use crate::egress::Egress;
use crate::run::{ActiveCall, CallResult, Run};
use crate::secrets::Secrets;

pub use child::Child;
pub use types::{Command, Error, ErrorKind, Exit, Value};

use error::Failure;
use programs::Programs;

/// Most bytes that a program may write to its standard output.
pub const MAX_OUTPUT_BYTES: usize = 4 << 20;

/// Commands by their names.
pub type Commands = BTreeMap<String, Command>;

/// Starts programs.
#[derive(Debug)]
pub struct Processes {
    programs: Programs,
}

impl Processes {
    pub(crate) const fn new(commands: Commands, secrets: Secrets) -> Self {
        Self { programs: Programs::new(commands, secrets) }
    }

    /// Starts the program of this name, which is killed with all that it has started when the
    /// [`Child`] is dropped. The call is noted in the run's trace.
    ///
    /// # Errors
    ///
    /// [`Error`] names the command; one that is not granted has the line that would grant it.
    pub fn start(&self, run: &Run, name: &str) -> Result<Child, Error> {
        let call = run.begin("process", sanitize(&format!("start {name}")));
        match self.spawn(&call, name) {
            Ok(child) => {
                call.finish(CallResult::Ok);
                Ok(child)
            }
            Err(failure) => {
                call.finish(failure.result());
                Err(failure.into())
            }
        }
    }

    fn spawn(&self, call: &ActiveCall<'_>, name: &str) -> Result<Child, Failure> {
        Egress::check(call, &Endpoint::Process(name.to_owned()))?;
        let program = self.programs.start(name, Stdio::piped())?;
        Ok(Child::new(call.run().clone(), name, program))
    }
}
