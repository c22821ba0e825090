//! Programs of the host's machine, by the names that the operator gave them under `[commands]`.
//!
//! The command must be named by the check's [`Plan`](crate::Plan) (see
//! [`Plan::process`](crate::Plan::process)), and its very name must stand in the check's config. A
//! plugin chooses neither what runs nor its arguments.

use std::fmt;

use crate::bindings::probehost::plugin::process as wit;
#[cfg(not(target_arch = "wasm32"))]
use crate::native::process as host;
#[cfg(target_arch = "wasm32")]
use wit as host;

pub use wit::{ErrorKind, Exit};

/// A program that was started. When this is dropped, and at the latest when the run ends, it is
/// killed with all that it has started itself. What it writes to its standard error goes to the log.
#[derive(Debug)]
pub struct Child {
    inner: host::Child,
}

/// Starts the program of this name.
///
/// # Errors
///
/// It could not be started. With `?` it becomes the [`Problem`](crate::Problem) that its kind
/// stands for.
pub fn start(command: &str) -> Result<Child, Error> {
    let inner = host::start(command).map_err(Error::from)?;
    Ok(Child { inner })
}

impl Child {
    /// Writes all of it to the program's standard input.
    ///
    /// # Errors
    ///
    /// The program takes no more, or not in time.
    pub fn write(&self, data: &[u8]) -> Result<(), Error> {
        self.inner.write(data).map_err(Error::from)
    }

    /// The next line of its standard output, without the line feed, at most `limit` bytes long.
    /// None: there is no more.
    ///
    /// # Errors
    ///
    /// There was no line in time, or it is longer than that.
    pub fn read_line(&self, limit: u32) -> Result<Option<Vec<u8>>, Error> {
        self.inner.read_line(limit).map_err(Error::from)
    }

    /// The next bytes of its standard output, at least one and at most `limit`. None: there are no
    /// more.
    ///
    /// # Errors
    ///
    /// There was nothing in time.
    pub fn read(&self, limit: u32) -> Result<Option<Vec<u8>>, Error> {
        self.inner.read(limit).map_err(Error::from)
    }

    /// Closes its standard input, which ends most programs.
    pub fn close_input(&self) {
        self.inner.close_input();
    }

    /// Waits for its end. What it writes meanwhile is dropped.
    ///
    /// # Errors
    ///
    /// It did not end in time.
    pub fn wait(&self) -> Result<Exit, Error> {
        self.inner.wait().map_err(Error::from)
    }
}

/// `with exit code 1`, `by signal 9`.
impl fmt::Display for Exit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.code, self.signal) {
            (Some(code), _) => write!(f, "with exit code {code}"),
            (None, Some(signal)) => write!(f, "by signal {signal}"),
            (None, None) => f.write_str("in an unknown way"),
        }
    }
}

/// Something that a program did not do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Error {
    /// What went wrong.
    pub kind: ErrorKind,
    /// For people: names the command.
    pub message: String,
}

impl Error {
    /// An error; for tests.
    #[must_use]
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into() }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Error {}

impl From<wit::Error> for Error {
    fn from(error: wit::Error) -> Self {
        let wit::Error { kind, message } = error;
        Self { kind, message }
    }
}
