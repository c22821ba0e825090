//! Who may probe now: the process-wide semaphore and the smaller limit of a kind.

use std::collections::HashMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Waker};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Holds a place among the running probes until it is dropped.
#[derive(Debug)]
pub(crate) struct Permit {
    _kind: Option<OwnedSemaphorePermit>,
    _process: OwnedSemaphorePermit,
}

/// A place in the queue for a [`Permit`]. None: the monitor is gone.
pub(crate) type Turn = Pin<Box<dyn Future<Output = Option<Permit>> + Send>>;

/// The one semaphore of the process and those of the kinds (contract S4).
#[derive(Debug)]
pub(crate) struct Admission {
    process: Arc<Semaphore>,
    size: usize,
    kinds: Mutex<HashMap<String, (u32, Arc<Semaphore>)>>,
}

impl Admission {
    pub(crate) fn new(concurrency: usize) -> Self {
        let size = concurrency.clamp(1, Semaphore::MAX_PERMITS);
        Self { process: Arc::new(Semaphore::new(size)), size, kinds: Mutex::default() }
    }

    /// How many probes hold a permit.
    pub(crate) fn in_use(&self) -> usize {
        self.size.saturating_sub(self.process.available_permits())
    }

    /// Takes a place in the queue *now*: turns come in the order of these calls (contract S2),
    /// although each is awaited in a task of its own. The kind's limit comes first, so that
    /// waiting for it keeps no place of the process from others.
    pub(crate) fn queue(&self, kind: &str, limit: Option<u32>) -> Turn {
        let process = Arc::clone(&self.process);
        let kind = limit.map(|limit| self.kind(kind, limit));
        let mut turn: Turn = Box::pin(async move {
            let kind = match kind {
                Some(semaphore) => Some(semaphore.acquire_owned().await.ok()?),
                None => None,
            };
            let process = process.acquire_owned().await.ok()?;
            Some(Permit { _kind: kind, _process: process })
        });
        // Tokio's semaphore gives turns in the order in which they were first polled. The real
        // waker comes with the poll in the task.
        match turn.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(permit) => Box::pin(std::future::ready(permit)),
            Poll::Pending => turn,
        }
    }

    fn kind(&self, kind: &str, limit: u32) -> Arc<Semaphore> {
        let limit = limit.max(1);
        let mut kinds = self.kinds.lock().unwrap_or_else(PoisonError::into_inner);
        let fresh = || (limit, Arc::new(Semaphore::new(usize::try_from(limit).unwrap_or(1))));
        let entry = kinds.entry(kind.to_owned()).or_insert_with(fresh);
        if entry.0 != limit {
            *entry = fresh();
        }
        Arc::clone(&entry.1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// S2, S4: turns come in the order of queueing, however the tasks are polled.
    #[tokio::test]
    async fn first_come_first_served() {
        let admission = Admission::new(1);
        let first = admission.queue("a", None).await;
        let mut second = admission.queue("a", None);
        let mut third = admission.queue("b", Some(1));
        let mut context = Context::from_waker(Waker::noop());
        assert!(third.as_mut().poll(&mut context).is_pending());
        assert_eq!(admission.in_use(), 1);
        drop(first);
        assert!(third.as_mut().poll(&mut context).is_pending());
        let second = second.as_mut().poll(&mut context);
        assert!(second.is_ready());
        drop(second);
        assert!(third.as_mut().poll(&mut context).is_ready());
    }

    /// S4: a kind's own limit binds its probes and nobody else's.
    #[tokio::test]
    async fn a_kind_has_its_own_limit() {
        let admission = Admission::new(10);
        let one = admission.queue("ssh", Some(1)).await;
        let mut context = Context::from_waker(Waker::noop());
        let mut waiting = admission.queue("ssh", Some(1));
        assert!(waiting.as_mut().poll(&mut context).is_pending());
        assert!(admission.queue("http", None).as_mut().poll(&mut context).is_ready());
        assert_eq!(admission.in_use(), 1);
        drop(one);
        assert!(waiting.as_mut().poll(&mut context).is_ready());
    }
}
