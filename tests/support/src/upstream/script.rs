//! What a scripted connection does, step by step.

use std::time::Duration;

/// One step of a script.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// Reads up to the end of a request's head and notes the request. Ends the script where the peer closes first.
    ReadHead,
    /// Sends these bytes.
    Send(Vec<u8>),
    /// Sends these bytes one at a time, with this pause before each.
    Drip(Vec<u8>, Duration),
    /// Sends this many zero bytes, or as many as the peer takes.
    Flood(u64),
    /// Does nothing for a while.
    Sleep(Duration),
    /// Neither answers nor closes; ends when the peer does.
    Hang,
    /// Ends the connection with a TCP reset.
    Reset,
}

/// Steps in their order. After the last one the connection is closed in the ordinary way.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Script(Vec<Step>);

impl Script {
    /// Closes at once, without reading or sending anything.
    pub fn close() -> Self {
        Self(Vec::new())
    }

    /// Accepts and then neither reads an answerable request nor answers.
    pub fn hang() -> Self {
        Self(vec![Step::Hang])
    }

    /// Reads a request, then resets the connection instead of answering.
    pub fn reset() -> Self {
        Self(vec![Step::ReadHead, Step::Reset])
    }

    /// Reads a request, then answers with something that is not HTTP.
    pub fn garbage() -> Self {
        Self(vec![Step::ReadHead, Step::Send(b"\x00\x01\x02 this is no HTTP\r\n\r\n".to_vec())])
    }

    /// Reads a request, then sends these bytes as they are.
    pub fn answer(bytes: impl Into<Vec<u8>>) -> Self {
        Self(vec![Step::ReadHead, Step::Send(bytes.into())])
    }

    /// Reads a request, then sends these bytes one at a time with this pause before each.
    pub fn drip(bytes: impl Into<Vec<u8>>, pause: Duration) -> Self {
        Self(vec![Step::ReadHead, Step::Drip(bytes.into(), pause)])
    }

    pub(super) fn steps(&self) -> &[Step] {
        &self.0
    }
}

impl From<Vec<Step>> for Script {
    fn from(steps: Vec<Step>) -> Self {
        Self(steps)
    }
}

impl<const N: usize> From<[Step; N]> for Script {
    fn from(steps: [Step; N]) -> Self {
        Self(steps.into())
    }
}
