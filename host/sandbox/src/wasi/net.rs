//! What one run does by the network of WASI: its limits, and what its end has to know of it.

use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use probehost_capability::sockets::Session;
use probehost_capability::{Capabilities, Run};
use tokio::time::Instant;
use wasmtime_wasi::p2::StreamError;

use crate::options::{NETWORK_BYTES, SOCKETS};
use crate::state::Granted;

/// Shared by the store of a run and all that its guest has open. Clones are the same.
#[derive(Debug, Clone)]
pub(crate) struct Net(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    run: Run,
    capabilities: Capabilities,
    session: Session,
    /// Bytes that may still be sent and received.
    left: AtomicUsize,
    sockets: AtomicUsize,
    met: Mutex<Met>,
}

/// What a run met in the network since it was last asked.
#[derive(Debug, Default)]
pub(crate) struct Met {
    /// It was waiting for its target when the deadline came.
    pub(crate) cut: bool,
    /// When it last got something.
    pub(crate) served: Option<Instant>,
    was_cut: bool,
    spent: bool,
    host_fault: Option<String>,
}

impl Net {
    pub(crate) fn new(granted: &Granted) -> Self {
        let Granted { run, capabilities } = granted;
        Self(Arc::new(Inner {
            session: capabilities.sockets().session(run),
            run: run.clone(),
            capabilities: capabilities.clone(),
            left: AtomicUsize::new(NETWORK_BYTES),
            sockets: AtomicUsize::new(0),
            met: Mutex::default(),
        }))
    }

    pub(super) fn run(&self) -> &Run {
        &self.0.run
    }

    pub(super) fn capabilities(&self) -> &Capabilities {
        &self.0.capabilities
    }

    pub(super) fn session(&self) -> &Session {
        &self.0.session
    }

    /// What happened since this was last called.
    pub(crate) fn take_met(&self) -> Met {
        let mut met = self.met();
        Met { cut: std::mem::take(&mut met.cut), served: met.served.take(), ..Met::default() }
    }

    /// Why nothing can be said of the target: this host could not make a call.
    pub(crate) fn host_fault(&self) -> Option<String> {
        self.met().host_fault.clone()
    }

    /// This host could not make a call.
    pub(super) fn host_failed(&self, message: &str) {
        self.met().host_fault.get_or_insert_with(|| message.to_owned());
    }

    /// The deadline has come: the network is of no use any more.
    pub(super) fn is_over(&self) -> bool {
        Instant::now() >= self.0.run.deadline()
    }

    /// A call that has told so in the trace was cut at the deadline, or ended in time.
    pub(super) fn ended(&self) {
        let over = self.is_over();
        let mut met = self.met();
        if over {
            met.cut |= !std::mem::replace(&mut met.was_cut, true);
        } else {
            met.served = Some(Instant::now());
        }
    }

    /// The deadline came while the guest waited for `peer`, or it went on after that. Told once.
    pub(super) fn overdue(&self, peer: &str, received: usize) {
        if !self.met().was_cut {
            self.0.session.overdue(peer, received);
        }
        self.ended();
    }

    /// Waits for what a connection to `peer` does, by the deadline at most.
    pub(super) async fn wait<T>(
        &self,
        peer: &str,
        received: usize,
        work: impl Future<Output = T>,
    ) -> Option<T> {
        match tokio::time::timeout_at(self.0.run.deadline(), work).await {
            Ok(done) => Some(done),
            Err(_) => {
                self.overdue(peer, received);
                None
            }
        }
    }

    /// How many bytes may be sent or received next, at most `most`; never none.
    pub(super) fn room(&self, most: usize) -> Result<usize, StreamError> {
        match self.0.left.load(Ordering::Relaxed).min(most) {
            0 => {
                if !std::mem::replace(&mut self.met().spent, true) {
                    self.0.session.refused("more bytes over WASI", &spent());
                }
                Err(failed(io::Error::other(spent())))
            }
            room => Ok(room),
        }
    }

    /// Bytes that may still be sent and received.
    pub(super) fn left(&self) -> usize {
        self.0.left.load(Ordering::Relaxed)
    }

    /// So many were sent or received.
    pub(super) fn spend(&self, bytes: usize) {
        let less = |left: usize| Some(left.saturating_sub(bytes));
        // The closure always gives a value.
        let _ = self.0.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less);
    }

    /// A place for one more socket, when there is one.
    pub(super) fn place(&self) -> Option<Place> {
        let more = |open: usize| (open < SOCKETS).then_some(open + 1);
        let taken = self.0.sockets.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more);
        taken.is_ok().then(|| Place(self.clone()))
    }

    fn met(&self) -> MutexGuard<'_, Met> {
        // Nothing here panics while it holds the lock, and the state is good at every step.
        self.0.met.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Held by what has a socket of this host.
#[derive(Debug)]
pub(super) struct Place(Net);

impl Drop for Place {
    fn drop(&mut self) {
        self.0.0.sockets.fetch_sub(1, Ordering::Relaxed);
    }
}

/// A stream's error, as the guest gets it.
pub(super) fn failed(error: io::Error) -> StreamError {
    StreamError::LastOperationFailed(error.into())
}

fn spent() -> String {
    format!("a run sends and receives at most {} MiB over WASI", NETWORK_BYTES >> 20)
}
