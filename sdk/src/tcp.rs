//! TCP connections, with TLS where it is asked for: for protocols that the host does not speak.
//!
//! The address must be named by the check's [`Plan`](crate::Plan) (see
//! [`Plan::tcp`](crate::Plan::tcp)), because its config does, or the operator must have granted it.

use std::fmt;

use crate::Address;
use crate::bindings::probehost::plugin::tcp as wit;
#[cfg(not(target_arch = "wasm32"))]
use crate::native::tcp as host;
#[cfg(target_arch = "wasm32")]
use wit as host;

pub use wit::{Certificate, ErrorKind, Phase, Timings, TlsMode};

/// How many bytes are asked for when a line is read.
const CHUNK: u32 = 4 << 10;

/// A connection. It is closed when this is dropped, and at the latest when the run ends.
#[derive(Debug)]
pub struct Connection {
    inner: host::Connection,
    peer: String,
    /// What came after the line that was read last.
    ahead: Vec<u8>,
}

impl Connection {
    /// Connects to a host (a name, or an address without brackets). At most 16 connections are open
    /// at a time in a run.
    ///
    /// # Errors
    ///
    /// There is no connection. With `?` it becomes the [`Problem`](crate::Problem) that its kind
    /// stands for.
    pub fn open(host: &str, port: u16) -> Result<Self, Error> {
        let to = Address { host: host.to_owned(), port };
        let inner = host::Connection::connect(&to).map_err(Error::from)?;
        Ok(Self { inner, peer: to.to_string(), ahead: Vec::new() })
    }

    /// `host:port`, for messages.
    #[must_use]
    pub fn peer(&self) -> &str {
        &self.peer
    }

    /// The next bytes, at least one and at most `limit`. None: the other side has ended its stream.
    ///
    /// # Errors
    ///
    /// The connection broke, nothing came in time, or the run has read 4 MiB.
    pub fn read(&mut self, limit: u32) -> Result<Option<Vec<u8>>, Error> {
        if self.ahead.is_empty() {
            return self.inner.read(limit).map_err(Error::from);
        }
        let count = self.ahead.len().min(usize::try_from(limit).unwrap_or(usize::MAX).max(1));
        Ok(Some(self.ahead.drain(..count).collect()))
    }

    /// The next line, without its end (`\r\n` or `\n`), at most `limit` bytes long. None: there is no
    /// more. What stands before the end of the stream is a line too.
    ///
    /// # Errors
    ///
    /// As for [`read`](Self::read); or the line is longer, which is `too-large`.
    pub fn read_line(&mut self, limit: u32) -> Result<Option<Vec<u8>>, Error> {
        let most = usize::try_from(limit).unwrap_or(usize::MAX);
        let mut searched = 0;
        loop {
            let fresh = self.ahead.get(searched..).unwrap_or_default();
            let end = fresh.iter().position(|byte| *byte == b'\n').map(|at| searched + at);
            if let Some(end) = end {
                let mut line: Vec<u8> = self.ahead.drain(..=end).collect();
                line.pop();
                if line.last() == Some(&b'\r') {
                    line.pop();
                }
                return if line.len() > most { Err(self.too_long(limit)) } else { Ok(Some(line)) };
            }
            // It may be that all but one of them are the line.
            if self.ahead.len() > most.saturating_add(1) {
                return Err(self.too_long(limit));
            }
            searched = self.ahead.len();
            match self.inner.read(CHUNK).map_err(Error::from)? {
                Some(more) => self.ahead.extend(more),
                None if self.ahead.len() > most => return Err(self.too_long(limit)),
                None => {
                    let rest = std::mem::take(&mut self.ahead);
                    return Ok((!rest.is_empty()).then_some(rest));
                }
            }
        }
    }

    fn too_long(&self, limit: u32) -> Error {
        let message = format!("{} sent a line of over {limit} bytes", self.peer);
        Error::new(ErrorKind::TooLarge, Phase::Read, message)
    }

    /// Sends all of it.
    ///
    /// # Errors
    ///
    /// The connection broke, or the other side does not take it in time.
    pub fn write(&mut self, bytes: &[u8]) -> Result<(), Error> {
        self.inner.write(bytes).map_err(Error::from)
    }

    /// Makes the TLS handshake for the host that was connected to; from then on all is sent and read
    /// within it. What came in the clear and was not read is dropped.
    ///
    /// # Errors
    ///
    /// There is no TLS with the server, or its certificate is not good and has to be.
    pub fn start_tls(&mut self, mode: TlsMode) -> Result<(), Error> {
        self.handshake(None, mode)
    }

    /// The same for a server of this name: it is asked for, and the certificate has to be for it.
    ///
    /// # Errors
    ///
    /// As for [`start_tls`](Self::start_tls).
    pub fn start_tls_for(&mut self, server_name: &str, mode: TlsMode) -> Result<(), Error> {
        self.handshake(Some(server_name), mode)
    }

    fn handshake(&mut self, server_name: Option<&str>, mode: TlsMode) -> Result<(), Error> {
        // Whoever is between could have put it there.
        self.ahead.clear();
        self.inner.start_tls(server_name, mode).map_err(Error::from)
    }

    /// The server's certificate. None: there was no TLS handshake.
    #[must_use]
    pub fn certificate(&self) -> Option<Certificate> {
        self.inner.peer_certificate()
    }

    /// How long its phases took.
    #[must_use]
    pub fn timings(&self) -> Timings {
        self.inner.timings()
    }
}

impl Default for Timings {
    /// No phase was reached.
    fn default() -> Self {
        Self { dns: None, connect: None, tls: None }
    }
}

/// Something that a connection did not do.
#[derive(Debug, Clone, PartialEq)]
pub struct Error {
    /// What went wrong.
    pub kind: ErrorKind,
    /// The phase it went wrong in.
    pub phase: Phase,
    /// For people: names host and port and the phase.
    pub message: String,
    /// Those of the connection until then.
    pub timings: Timings,
    /// The certificate that was refused, where the server sent one.
    pub certificate: Option<Box<Certificate>>,
}

impl Error {
    /// An error that took no time; for tests.
    #[must_use]
    pub fn new(kind: ErrorKind, phase: Phase, message: impl Into<String>) -> Self {
        let (message, timings) = (message.into(), Timings::default());
        Self { kind, phase, message, timings, certificate: None }
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
        let wit::Error { kind, phase, message, timings, certificate } = error;
        Self { kind, phase, message, timings, certificate: certificate.map(Box::new) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::native::tcp::{Peer, answer_with};

    fn greeted(greeting: &str) -> Connection {
        answer_with(Ok(Peer::new(|bytes| bytes.to_vec()).greeting(greeting)));
        Connection::open("db", 1).unwrap()
    }

    #[test]
    fn lines_are_read() {
        let mut connection = greeted("one\r\n\ntwo\nrest");
        for line in [&b"one"[..], b"", b"two"] {
            assert_eq!(connection.read_line(3).unwrap().as_deref(), Some(line));
        }
        assert_eq!(connection.read(2).unwrap().unwrap(), b"re");
        assert_eq!(connection.read_line(9).unwrap().unwrap(), b"st");
        assert_eq!(connection.read_line(9).unwrap(), None);
        connection.write(b"again\n").unwrap();
        assert_eq!(connection.read_line(9).unwrap().unwrap(), b"again");
    }

    #[test]
    fn a_line_is_limited() {
        for text in ["123\r\n", "123\n", "123"] {
            assert_eq!(greeted(text).read_line(3).unwrap().unwrap(), b"123");
        }
        for text in ["1234\r\n", "1234\n", "1234", "12345"] {
            let error = greeted(text).read_line(3).unwrap_err();
            assert_eq!((error.kind, error.phase), (ErrorKind::TooLarge, Phase::Read));
            assert!(error.message.contains("db:1 sent a line of over 3 bytes"), "{error}");
        }
    }

    #[test]
    fn what_came_in_the_clear_is_dropped() {
        let mut connection = greeted("220 go\r\nforged\r\n");
        assert_eq!(connection.read_line(64).unwrap().unwrap(), b"220 go");
        connection.start_tls(TlsMode::Verify).unwrap();
        assert_eq!(connection.read_line(64).unwrap(), None);
    }
}
