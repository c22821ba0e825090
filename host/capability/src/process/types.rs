//! What goes into and comes out of the `process` capability.

use std::path::PathBuf;

/// A program that the operator named. Nothing of it comes from a plugin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Command {
    /// The program and its arguments. The program is a path, or is looked for on the host's `PATH`.
    pub argv: Vec<String>,
    /// Variables besides the few that it gets of the host's own environment.
    pub env: Vec<(String, Value)>,
    /// The folder that it runs in. None: the host's own.
    pub cwd: Option<PathBuf>,
}

/// The value of an environment variable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Value {
    /// As it stands there.
    Text(String),
    /// The secret of this name.
    Secret(String),
}

/// How a program ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Exit {
    /// The code, when it ended by itself.
    pub code: Option<i32>,
    /// The signal, when it was ended by one.
    pub signal: Option<i32>,
}

/// What went wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorKind {
    /// Not granted. The message holds the line that would grant it.
    Denied,
    /// There is no command of that name, or a secret that it needs is not there.
    Unknown,
    /// The program can't be started: there is no such file, or it can't be executed.
    Start,
    /// The program takes no more input: it has ended, or closed it.
    Ended,
    /// The deadline expired.
    Timeout,
    /// A line is longer than the limit, or the program has written too much in all.
    TooLarge,
    /// The host itself could not do it: nothing is known about the program.
    Host,
}

/// Something that a program did not do.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Error {
    /// What went wrong.
    pub kind: ErrorKind,
    /// For people: names the command. Never holds anything that it wrote.
    pub message: String,
}
