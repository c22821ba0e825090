//! Standard output and error of a guest: they go to the run's log, and the end of standard error is
//! kept aside, since that is where the text of a panic is.

use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};

use probehost_capability::Run;
use tokio::io::AsyncWrite;
use wasmtime_wasi::cli::{IsTerminal, StdoutStream};
use wasmtime_wasi::p2::{OutputStream, Pollable, StreamResult};

/// How much of the end of standard error is kept, in bytes.
const MAX_TAIL: usize = 2048;

/// Bytes that a guest may write in one call.
const PERMIT: usize = 16 << 10;

/// Which of the two.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Channel {
    Out,
    Err,
}

/// Shared by the run and the streams that its guest has open.
#[derive(Debug, Clone)]
pub(crate) struct Stdio(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    /// Whose log it goes to. None: nobody reads it, as in `describe` and `plan`.
    run: Option<Run>,
    tail: Mutex<Vec<u8>>,
}

impl Stdio {
    pub(crate) fn new(run: Option<Run>) -> Self {
        Self(Arc::new(Inner { run, tail: Mutex::default() }))
    }

    /// Standard output, as the guest has it.
    pub(crate) fn out(&self) -> Stream {
        Stream { stdio: self.clone(), channel: Channel::Out }
    }

    /// Standard error, as the guest has it.
    pub(crate) fn err(&self) -> Stream {
        Stream { stdio: self.clone(), channel: Channel::Err }
    }

    /// The end of what was written to standard error.
    pub(crate) fn tail(&self) -> String {
        let tail = self.0.tail.lock().unwrap_or_else(PoisonError::into_inner);
        String::from_utf8_lossy(&tail).into_owned()
    }

    fn write(&self, channel: Channel, bytes: &[u8]) {
        if channel == Channel::Err {
            let mut tail = self.0.tail.lock().unwrap_or_else(PoisonError::into_inner);
            let keep = bytes.len().min(MAX_TAIL);
            let surplus = (tail.len() + keep).saturating_sub(MAX_TAIL);
            tail.drain(..surplus);
            tail.extend(bytes.iter().skip(bytes.len() - keep));
        }
        match (&self.0.run, channel) {
            (Some(run), Channel::Out) => run.stdout(bytes),
            (Some(run), Channel::Err) => run.stderr(bytes),
            (None, _) => {}
        }
    }
}

/// One of a guest's two streams.
#[derive(Debug, Clone)]
pub(crate) struct Stream {
    stdio: Stdio,
    channel: Channel,
}

impl IsTerminal for Stream {
    fn is_terminal(&self) -> bool {
        false
    }
}

impl StdoutStream for Stream {
    fn async_stream(&self) -> Box<dyn AsyncWrite + Send + Sync> {
        Box::new(self.clone())
    }

    fn p2_stream(&self) -> Box<dyn OutputStream> {
        Box::new(self.clone())
    }
}

impl OutputStream for Stream {
    fn write(&mut self, bytes: bytes::Bytes) -> StreamResult<()> {
        self.stdio.write(self.channel, &bytes);
        Ok(())
    }

    fn flush(&mut self) -> StreamResult<()> {
        Ok(())
    }

    fn check_write(&mut self) -> StreamResult<usize> {
        Ok(PERMIT)
    }
}

#[wasmtime_wasi::async_trait]
impl Pollable for Stream {
    async fn ready(&mut self) {}
}

impl AsyncWrite for Stream {
    fn poll_write(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.stdio.write(self.channel, bytes);
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// G4: a flood takes no memory, and the end of it is what is kept.
    #[test]
    fn the_tail_is_bounded() {
        let stdio = Stdio::new(None);
        for _ in 0..1000 {
            stdio.write(Channel::Err, &[b'x'; 10_000]);
            stdio.write(Channel::Out, &[b'y'; 10_000]);
        }
        stdio.write(Channel::Err, b"the end");
        let tail = stdio.tail();
        assert_eq!(tail.len(), MAX_TAIL);
        assert!(tail.ends_with("xxthe end"));
        assert!(!tail.contains('y'));
    }
}
