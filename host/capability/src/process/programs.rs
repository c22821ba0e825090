//! From a command's name to a program that runs, with the environment that the operator gave it.

use std::io;
use std::process::Stdio;

use tokio::process::{ChildStderr, ChildStdin, ChildStdout};

use super::Commands;
use super::error::Failure;
use super::group::Group;
use super::types::{Command, ErrorKind, Value};
use crate::secrets::{Secret, Secrets};

/// What a program gets of the host's own environment. The rest can hold secrets.
const INHERITED: [&str; 8] = ["PATH", "HOME", "USER", "LOGNAME", "LANG", "LC_ALL", "TZ", "TMPDIR"];

/// The programs that the operator named, and the secrets that they are given.
#[derive(Debug)]
pub(crate) struct Programs {
    commands: Commands,
    secrets: Secrets,
}

/// A program that was started, in a process group of its own.
#[derive(Debug)]
pub(crate) struct Program {
    pub(crate) group: Group,
    /// None: it has none, and reads its end.
    pub(crate) input: Option<ChildStdin>,
    pub(crate) output: Option<ChildStdout>,
    pub(crate) complaints: Option<ChildStderr>,
    /// What it was given, so that nothing of it is shown.
    pub(crate) secrets: Vec<Secret>,
}

impl Programs {
    pub(crate) const fn new(commands: Commands, secrets: Secrets) -> Self {
        Self { commands, secrets }
    }

    /// Starts the program of this name. There is no shell.
    pub(crate) fn start(&self, name: &str, input: Stdio) -> Result<Program, Failure> {
        let command = self.commands.get(name).ok_or_else(|| self.unknown(name))?;
        let Some((program, arguments)) = command.argv.split_first() else {
            return Err(self.unknown(name));
        };
        let mut ready = tokio::process::Command::new(program);
        ready.args(arguments).env_clear().process_group(0).kill_on_drop(true);
        ready.stdin(input).stdout(Stdio::piped()).stderr(Stdio::piped());
        for variable in INHERITED {
            if let Some(value) = std::env::var_os(variable) {
                ready.env(variable, value);
            }
        }
        let mut secrets = Vec::new();
        for (variable, value) in &command.env {
            match value {
                Value::Text(text) => {
                    ready.env(variable, text);
                }
                Value::Secret(secret) => {
                    let secret = self.secrets.get(secret).map_err(|error| {
                        let text = format_args!("the command {name} can't be started: {error}");
                        Failure::new(ErrorKind::Unknown, text)
                    })?;
                    ready.env(variable, secret.expose());
                    secrets.push(secret);
                }
            }
        }
        if let Some(folder) = &command.cwd {
            ready.current_dir(folder);
        }
        let mut started =
            ready.spawn().map_err(|error| cannot_start(name, program, command, &error))?;
        let (input, output) = (started.stdin.take(), started.stdout.take());
        let complaints = started.stderr.take();
        let group =
            Group::new(started).map_err(|error| Failure::host(name, "be watched", &error))?;
        Ok(Program { group, input, output, complaints, secrets })
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
