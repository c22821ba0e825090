//! Running the tools of a language, and saying what to install when one is not there.

use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::{env, io};

/// Why a tool did not do its work.
#[derive(Debug, thiserror::Error)]
pub(super) enum ToolError {
    #[error("{program} is not installed; {install}")]
    Missing { program: &'static str, install: &'static str },
    #[error("{command} could not be started: {error}")]
    Start { command: String, error: io::Error },
    #[error("{command} failed ({status}); what it said is above{hint}")]
    Failed { command: String, status: String, hint: &'static str },
    #[error("{0}")]
    Lacking(String),
}

/// Looks for a program on the PATH.
pub(super) fn find(program: &'static str, install: &'static str) -> Result<PathBuf, ToolError> {
    let path = env::var_os("PATH").unwrap_or_default();
    env::split_paths(&path)
        .map(|folder| folder.join(program))
        .find(|file| file.is_file())
        .ok_or(ToolError::Missing { program, install })
}

/// What is shown of a tool that works.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Chatter {
    /// What it writes to standard error, as it comes.
    Errors,
    /// Nothing.
    Nothing,
}

/// Runs it, and gives its standard output. When it fails, all that it wrote has been shown on
/// standard error.
pub(super) fn run(
    command: &mut Command,
    chatter: Chatter,
    hint: &'static str,
) -> Result<Vec<u8>, ToolError> {
    // A toolchain that is missing is the author's to install.
    command.env("RUSTUP_AUTO_INSTALL", "0").stdin(Stdio::null());
    if chatter == Chatter::Errors {
        command.stderr(Stdio::inherit());
    }
    let shown = shown(command);
    let output =
        command.output().map_err(|error| ToolError::Start { command: shown.clone(), error })?;
    if output.status.success() {
        return Ok(output.stdout);
    }
    // Machine-readable lines of cargo are of no use to a reader; it has shown the same on its own.
    if chatter == Chatter::Nothing {
        eprint!("{}", String::from_utf8_lossy(&output.stdout));
        eprint!("{}", String::from_utf8_lossy(&output.stderr));
    }
    Err(ToolError::Failed { command: shown, status: output.status.to_string(), hint })
}

/// The program and its first words: `npm run build`.
fn shown(command: &Command) -> String {
    let program = command.get_program().to_string_lossy();
    let program = program.rsplit('/').next().unwrap_or_default().to_owned();
    let words =
        command.get_args().map(|word| word.to_string_lossy()).filter(|word| !word.contains('\n'));
    words.take(3).fold(program, |text, word| format!("{text} {word}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_name_the_command() {
        let failed = run(Command::new("/bin/sh").args(["-c", "exit 3"]), Chatter::Nothing, "");
        let text = failed.unwrap_err().to_string();
        assert!(text.starts_with("sh -c exit 3 failed (exit status: 3)"), "{text}");
        let text = find("no-such-tool", "install it").unwrap_err().to_string();
        assert_eq!(text, "no-such-tool is not installed; install it");
    }
}
