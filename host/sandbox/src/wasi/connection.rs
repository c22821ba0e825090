//! The two streams of a TCP connection: bytes are counted, and waiting ends at the deadline.

use std::io;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::{Buf as _, Bytes, BytesMut};
use probehost_capability::sockets::Connected;
use rustix::net::Shutdown;
use tokio::io::Interest;
use tokio::net::TcpStream;
use wasmtime_wasi::p2::{InputStream, OutputStream, Pollable, StreamError, StreamResult};

use super::net::{Net, failed};

/// Most bytes that are read or taken for writing at once.
const PIECE: usize = 64 << 10;

/// An open connection. It is closed when the guest has dropped the socket and both of its streams,
/// or when the run ends.
#[derive(Debug)]
pub(super) struct Connection {
    stream: TcpStream,
    peer: String,
    net: Net,
    received: AtomicUsize,
    outgoing: Mutex<Outgoing>,
}

#[derive(Debug, Default)]
struct Outgoing {
    /// What the system did not take yet.
    waiting: Bytes,
    /// The guest has ended its side.
    end: bool,
    /// Nothing can be sent any more.
    closed: bool,
}

impl Connection {
    pub(super) fn new(connected: Connected, net: Net) -> Arc<Self> {
        let Connected { stream, peer } = connected;
        let (received, outgoing) = (AtomicUsize::new(0), Mutex::default());
        Arc::new(Self { stream, peer, net, received, outgoing })
    }

    pub(super) fn streams(self: &Arc<Self>) -> (Box<dyn InputStream>, Box<dyn OutputStream>) {
        let input = Input { connection: Arc::clone(self), ended: false };
        (Box::new(input), Box::new(Output(Arc::clone(self))))
    }

    pub(super) fn local(&self) -> io::Result<SocketAddr> {
        self.stream.local_addr()
    }

    pub(super) fn remote(&self) -> io::Result<SocketAddr> {
        self.stream.peer_addr()
    }

    /// Ends the guest's side, once all is sent that it has written.
    pub(super) fn end_output(&self) {
        let mut outgoing = self.outgoing();
        outgoing.end = true;
        // Whatever is wrong shows when the peer is next heard of.
        let _ = self.push(&mut outgoing);
    }

    /// Ends the peer's side: what still comes is not read.
    pub(super) fn end_input(&self) {
        let _ = rustix::net::shutdown(&self.stream, Shutdown::Read);
    }

    /// Gives the system what it takes of what waits.
    fn push(&self, outgoing: &mut Outgoing) -> StreamResult<()> {
        while !outgoing.waiting.is_empty() {
            match self.stream.try_write(&outgoing.waiting) {
                Ok(sent) => outgoing.waiting.advance(sent),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(error) => {
                    outgoing.waiting.clear();
                    outgoing.closed = true;
                    return Err(failed(error));
                }
            }
        }
        if outgoing.end && !outgoing.closed {
            outgoing.closed = true;
            let _ = rustix::net::shutdown(&self.stream, Shutdown::Write);
        }
        Ok(())
    }

    /// Waits until all is sent, until it can't be, or until the deadline.
    async fn drain(&self) {
        while self.push(&mut self.outgoing()).is_ok() && !self.outgoing().waiting.is_empty() {
            if !self.wait(Interest::WRITABLE).await {
                return;
            }
        }
    }

    /// Waits until the system is ready for `interest`; false at the deadline.
    async fn wait(&self, interest: Interest) -> bool {
        let received = self.received.load(Ordering::Relaxed);
        self.net.wait(&self.peer, received, self.stream.ready(interest)).await.is_some()
    }

    /// Fails when the deadline has come.
    fn in_time(&self) -> StreamResult<()> {
        if !self.net.is_over() {
            return Ok(());
        }
        self.net.overdue(&self.peer, self.received.load(Ordering::Relaxed));
        Err(failed(io::ErrorKind::TimedOut.into()))
    }

    fn outgoing(&self) -> MutexGuard<'_, Outgoing> {
        // Nothing here panics while it holds the lock, and the state is good at every step.
        self.outgoing.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

struct Input {
    connection: Arc<Connection>,
    /// There is nothing more to read.
    ended: bool,
}

#[wasmtime_wasi::async_trait]
impl InputStream for Input {
    fn read(&mut self, size: usize) -> StreamResult<Bytes> {
        let Connection { stream, net, received, .. } = &*self.connection;
        if self.ended {
            return Err(StreamError::Closed);
        }
        if size == 0 {
            return Ok(Bytes::new());
        }
        self.connection.in_time()?;
        let mut piece = BytesMut::zeroed(net.room(size.min(PIECE))?);
        match stream.try_read(&mut piece) {
            Ok(0) => {
                self.ended = true;
                net.ended();
                Err(StreamError::Closed)
            }
            Ok(read) => {
                net.spend(read);
                net.ended();
                received.fetch_add(read, Ordering::Relaxed);
                piece.truncate(read);
                Ok(piece.freeze())
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(Bytes::new()),
            Err(error) => {
                self.ended = true;
                net.ended();
                Err(failed(error))
            }
        }
    }
}

#[wasmtime_wasi::async_trait]
impl Pollable for Input {
    async fn ready(&mut self) {
        if !self.ended {
            self.connection.wait(Interest::READABLE).await;
        }
    }
}

struct Output(Arc<Connection>);

#[wasmtime_wasi::async_trait]
impl OutputStream for Output {
    fn write(&mut self, bytes: Bytes) -> StreamResult<()> {
        let mut outgoing = self.0.outgoing();
        if outgoing.closed || outgoing.end {
            return Err(StreamError::Closed);
        }
        if bytes.len() > PIECE || !outgoing.waiting.is_empty() {
            return Err(StreamError::trap("more was written than check-write permitted"));
        }
        self.0.net.spend(bytes.len());
        outgoing.waiting = bytes;
        self.0.push(&mut outgoing)
    }

    fn flush(&mut self) -> StreamResult<()> {
        self.0.push(&mut self.0.outgoing())
    }

    fn check_write(&mut self) -> StreamResult<usize> {
        self.0.in_time()?;
        let mut outgoing = self.0.outgoing();
        if outgoing.closed || outgoing.end {
            return Err(StreamError::Closed);
        }
        self.0.push(&mut outgoing)?;
        if outgoing.waiting.is_empty() { self.0.net.room(PIECE) } else { Ok(0) }
    }

    /// What the guest has written is sent, although it does not wait for that.
    async fn cancel(&mut self) {
        self.0.drain().await;
    }
}

#[wasmtime_wasi::async_trait]
impl Pollable for Output {
    async fn ready(&mut self) {
        self.0.drain().await;
        let closed = self.0.outgoing().closed;
        if !closed && !self.0.net.is_over() {
            self.0.wait(Interest::WRITABLE).await;
        }
    }
}
