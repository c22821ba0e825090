//! The `process` capability of WIT version 1: programs that the operator named.
//!
//! A plugin says a name, and nothing else: what runs, with which arguments, environment and folder,
//! stands in the operator's config. There is no shell. A program runs in a process group of its own,
//! and the whole group is killed when its handle is dropped, so nothing outlives a run.

mod child;
mod error;
mod group;
mod types;

use std::collections::BTreeMap;
use std::io;
use std::process::Stdio;

use probehost_model::{Endpoint, sanitize};

use crate::egress::Egress;
use crate::run::{ActiveCall, CallResult, Run};
use crate::secrets::Secrets;

pub use child::Child;
pub use types::{Command, Error, ErrorKind, Exit, Value};

use error::Failure;

/// Most bytes that a program may write to its standard output.
pub const MAX_OUTPUT_BYTES: usize = 4 << 20;

/// What a program gets of the host's own environment. The rest can hold secrets.
const INHERITED: [&str; 8] = ["PATH", "HOME", "USER", "LOGNAME", "LANG", "LC_ALL", "TZ", "TMPDIR"];

/// Commands by their names.
pub type Commands = BTreeMap<String, Command>;

/// Starts programs.
#[derive(Debug)]
pub struct Processes {
    commands: Commands,
    secrets: Secrets,
}

impl Processes {
    pub(crate) const fn new(commands: Commands, secrets: Secrets) -> Self {
        Self { commands, secrets }
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
        let command = self.commands.get(name).ok_or_else(|| self.unknown(name))?;
        let Some((program, arguments)) = command.argv.split_first() else {
            return Err(self.unknown(name));
        };
        let mut ready = tokio::process::Command::new(program);
        ready.args(arguments).env_clear().process_group(0).kill_on_drop(true);
        ready.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        for variable in INHERITED {
            if let Some(value) = std::env::var_os(variable) {
                ready.env(variable, value);
            }
        }
        for (variable, value) in &command.env {
            match value {
                Value::Text(text) => ready.env(variable, text),
                Value::Secret(secret) => {
                    let secret = self.secrets.get(secret).map_err(|error| {
                        let text = format_args!("the command {name} can't be started: {error}");
                        Failure::new(ErrorKind::Unknown, text)
                    })?;
                    ready.env(variable, secret.expose())
                }
            };
        }
        if let Some(folder) = &command.cwd {
            ready.current_dir(folder);
        }
        let started =
            ready.spawn().map_err(|error| cannot_start(name, program, command, &error))?;
        Child::new(call.run().clone(), name, started)
            .map_err(|error| Failure::host(name, "be watched", &error))
    }

    fn unknown(&self, name: &str) -> Failure {
        let known = self.commands.keys().map(String::as_str).collect::<Vec<_>>().join(", ");
        let known = if known.is_empty() { "none".to_owned() } else { known };
        let text = format_args!(
            "there is no command {name} under [commands] of the host's config (there is {known})"
        );
        Failure::new(ErrorKind::Unknown, text)
    }
}

fn cannot_start(name: &str, program: &str, command: &Command, error: &io::Error) -> Failure {
    use io::ErrorKind as Io;
    match error.kind() {
        // The folder is missing, or the program is: the system says the same of both.
        Io::NotFound | Io::PermissionDenied | Io::NotADirectory | Io::ExecutableFileBusy => {
            let place = command
                .cwd
                .as_ref()
                .map(|folder| format!(" in {}", folder.display()))
                .unwrap_or_default();
            let text =
                format_args!("the command {name} can't be started: {program}{place}: {error}");
            Failure::new(ErrorKind::Start, text)
        }
        // "Exec format error" has no kind of its own.
        _ if error.raw_os_error() == Some(libc::ENOEXEC) => {
            let text = format_args!("the command {name} can't be started: {program}: {error}");
            Failure::new(ErrorKind::Start, text)
        }
        _ => Failure::host(name, "be started", error),
    }
}
