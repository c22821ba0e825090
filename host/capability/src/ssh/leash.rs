//! A stream that its owner can take back.
//!
//! The SSH library reads and writes in a task of its own, which nothing ends while a server is
//! silent. So the task never owns the connection: it has a [`Leashed`] one, and whoever holds
//! the [`Leash`] closes the connection by dropping it, whatever the task waits for. The task
//! then meets an error and ends. That is how a deadline and a cancellation leave neither socket
//! nor task behind.

use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// Most bytes of what comes before a version line that are kept for a message.
const KEPT: usize = 120;

/// A connection of any kind.
pub(super) trait Connection: AsyncRead + AsyncWrite + Send + Unpin {}

impl<S: AsyncRead + AsyncWrite + Send + Unpin> Connection for S {}

/// Holds a connection that a task uses. Dropping it closes the connection.
#[derive(Debug)]
pub(super) struct Leash(Arc<Mutex<State>>);

/// The end of the connection that a task may have.
pub(super) struct Leashed(Arc<Mutex<State>>);

struct State {
    /// None: taken back.
    stream: Option<Box<dyn Connection>>,
    reader: Option<Waker>,
    writer: Option<Waker>,
    /// What came first, as long as there has been no version line.
    opening: Vec<u8>,
    /// Called once the version line is here.
    greeted: Option<Box<dyn FnOnce() + Send>>,
    /// The end is near: what still comes is read and thrown away, so that closing is no reset.
    closing: bool,
}

impl std::fmt::Debug for State {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("State").field("open", &self.stream.is_some()).finish_non_exhaustive()
    }
}

/// Leashes a connection to an SSH server; `greeted` is called when its version line has come.
pub(super) fn leash(
    stream: Box<dyn Connection>,
    greeted: impl FnOnce() + Send + 'static,
) -> (Leash, Leashed) {
    let state = Arc::new(Mutex::new(State {
        stream: Some(stream),
        reader: None,
        writer: None,
        opening: Vec::new(),
        greeted: Some(Box::new(greeted)),
        closing: false,
    }));
    (Leash(Arc::clone(&state)), Leashed(state))
}

impl Leash {
    /// Has the end of the task wait for the server's own, so that nothing is left unread.
    pub(super) fn drain_at_end(&self) {
        lock(&self.0).closing = true;
    }

    /// The first line that came where a version line should have; empty when none did.
    pub(super) fn opening(&self) -> String {
        let state = lock(&self.0);
        if state.greeted.is_none() {
            return String::new();
        }
        let text = String::from_utf8_lossy(&state.opening);
        text.lines().next().unwrap_or_default().trim().to_owned()
    }
}

impl Drop for Leash {
    fn drop(&mut self) {
        let mut state = lock(&self.0);
        let stream = state.stream.take();
        let wakers = [state.reader.take(), state.writer.take()];
        drop(state);
        drop(stream);
        wakers.into_iter().flatten().for_each(Waker::wake);
    }
}

impl State {
    /// Looks for the version line in what has come.
    fn note(&mut self, bytes: &[u8]) -> Option<Box<dyn FnOnce() + Send>> {
        self.greeted.as_ref()?;
        let room = KEPT.saturating_sub(self.opening.len());
        self.opening.extend(bytes.iter().take(room));
        // Lines may come before the version line; they are over the limit of the library soon.
        let found = |bytes: &[u8], from| {
            let mut lines = bytes.split(|byte| *byte == b'\n').skip(from);
            lines.any(|line| line.starts_with(b"SSH-2.0-") || line.starts_with(b"SSH-1.99-"))
        };
        let begins = found(&self.opening, 0);
        let later = found(bytes, 1);
        let ended = bytes.contains(&b'\n');
        if (begins || later) && ended { self.greeted.take() } else { None }
    }
}

impl AsyncRead for Leashed {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let mut state = lock(&self.0);
        let Some(stream) = &mut state.stream else { return Poll::Ready(Err(taken_back())) };
        let before = buf.filled().len();
        match Pin::new(stream).poll_read(cx, buf) {
            Poll::Pending => {
                state.reader = Some(cx.waker().clone());
                Poll::Pending
            }
            Poll::Ready(result) => {
                let fresh = buf.filled().get(before..).unwrap_or_default();
                if let Some(greeted) = state.note(fresh) {
                    drop(state);
                    greeted();
                }
                Poll::Ready(result)
            }
        }
    }
}

impl AsyncWrite for Leashed {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.write(cx, |stream, cx| stream.poll_write(cx, bytes))
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.write(cx, |stream, cx| stream.poll_flush(cx))
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let done = ready!(self.write(cx, |stream, cx| stream.poll_shutdown(cx)));
        match done {
            // A server that has gone already has nothing to be told.
            Err(error) if error.kind() == io::ErrorKind::NotConnected => Poll::Ready(Ok(())),
            Ok(()) if lock(&self.0).closing => self.drain(cx),
            done => Poll::Ready(done),
        }
    }
}

impl Leashed {
    /// Reads until the server has closed too. Whoever waits for this has a limit.
    fn drain(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let mut state = lock(&self.0);
        loop {
            let Some(stream) = &mut state.stream else { return Poll::Ready(Err(taken_back())) };
            let mut scratch = [0; 1024];
            let mut buf = ReadBuf::new(&mut scratch);
            match Pin::new(stream).poll_read(cx, &mut buf) {
                Poll::Pending => {
                    state.reader = Some(cx.waker().clone());
                    return Poll::Pending;
                }
                Poll::Ready(Ok(())) if !buf.filled().is_empty() => {}
                // Its end, or a reset: either way it is over.
                Poll::Ready(_) => return Poll::Ready(Ok(())),
            }
        }
    }

    fn write<T>(
        &self,
        cx: &mut Context<'_>,
        write: impl FnOnce(Pin<&mut dyn Connection>, &mut Context<'_>) -> Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        let mut state = lock(&self.0);
        let Some(stream) = &mut state.stream else { return Poll::Ready(Err(taken_back())) };
        let done = write(Pin::new(&mut **stream), cx);
        if done.is_pending() {
            state.writer = Some(cx.waker().clone());
        }
        done
    }
}

fn taken_back() -> io::Error {
    io::Error::new(io::ErrorKind::ConnectionAborted, "the handshake was given up")
}

fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    // Nothing here panics while it holds the lock.
    state.lock().unwrap_or_else(PoisonError::into_inner)
}
