//! What the connections of a run may take, all together (contract G4).

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Most connections that a run has open at a time.
pub(crate) const MAX_CONNECTIONS: usize = 16;

/// Most bytes that a run reads of its connections.
pub(crate) const MAX_READ_BYTES: usize = 4 << 20;

/// What is taken so far.
#[derive(Debug, Default)]
pub(crate) struct Budget {
    open: AtomicUsize,
    read: AtomicUsize,
}

/// The place of one connection, which is free again when this is dropped.
#[derive(Debug)]
pub(crate) struct Slot(Arc<Budget>);

impl Budget {
    /// A place for one more connection; None when all are taken.
    pub(crate) fn open(self: &Arc<Self>) -> Option<Slot> {
        let more = |open| (open < MAX_CONNECTIONS).then_some(open + 1);
        self.open.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more).ok()?;
        Some(Slot(Arc::clone(self)))
    }

    /// How many bytes may still be read.
    pub(crate) fn left(&self) -> usize {
        MAX_READ_BYTES.saturating_sub(self.read.load(Ordering::Relaxed))
    }

    /// So many more were read.
    pub(crate) fn note(&self, bytes: usize) {
        self.read.fetch_add(bytes, Ordering::Relaxed);
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        self.0.open.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// G4: places come back, bytes do not.
    #[test]
    fn places_are_given_back() {
        let budget = Arc::new(Budget::default());
        let mut slots: Vec<_> = (0..MAX_CONNECTIONS).map(|_| budget.open().unwrap()).collect();
        assert!(budget.open().is_none());
        slots.pop();
        slots.push(budget.open().unwrap());
        assert!(budget.open().is_none());
        budget.note(MAX_READ_BYTES - 1);
        assert_eq!(budget.left(), 1);
        budget.note(2);
        assert_eq!(budget.left(), 0);
    }
}
