//! What an upstream has seen so far.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use super::message::Request;

/// Shared by an upstream's connections and its owner.
#[derive(Debug, Default)]
pub(super) struct Journal {
    requests: Mutex<Vec<Request>>,
    strays: Mutex<Vec<Vec<u8>>>,
    accepted: AtomicUsize,
    open: AtomicUsize,
    failed_handshakes: AtomicUsize,
}

/// One open connection; the journal counts it until this is dropped.
#[derive(Debug)]
pub(super) struct Open {
    journal: Arc<Journal>,
    number: usize,
}

impl Journal {
    /// Counts a new connection. Its number begins at 0.
    pub(super) fn accept(journal: &Arc<Self>) -> Open {
        journal.open.fetch_add(1, Ordering::SeqCst);
        let number = journal.accepted.fetch_add(1, Ordering::SeqCst);
        Open { journal: Arc::clone(journal), number }
    }

    pub(super) fn requests(&self) -> Vec<Request> {
        self.requests.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(super) fn strays(&self) -> Vec<Vec<u8>> {
        self.strays.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(super) fn accepted(&self) -> usize {
        self.accepted.load(Ordering::SeqCst)
    }

    pub(super) fn open(&self) -> usize {
        self.open.load(Ordering::SeqCst)
    }

    pub(super) fn failed_handshakes(&self) -> usize {
        self.failed_handshakes.load(Ordering::SeqCst)
    }
}

impl Open {
    /// The connection's number in the order of acceptance, from 0.
    pub(super) fn number(&self) -> usize {
        self.number
    }

    pub(super) fn note_request(&self, request: Request) {
        self.journal.requests.lock().unwrap_or_else(PoisonError::into_inner).push(request);
    }

    pub(super) fn note_stray(&self, bytes: Vec<u8>) {
        self.journal.strays.lock().unwrap_or_else(PoisonError::into_inner).push(bytes);
    }

    pub(super) fn note_failed_handshake(&self) {
        self.journal.failed_handshakes.fetch_add(1, Ordering::SeqCst);
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        self.journal.open.fetch_sub(1, Ordering::SeqCst);
    }
}
