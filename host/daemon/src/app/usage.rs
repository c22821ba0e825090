//! What one run of a plugin used. Only asked for by an author: the clock of a thread costs a call
//! of the system each time.

use std::pin::pin;
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// What one run used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Usage {
    /// CPU of the thread that ran it: the plugin's own computing, and what its calls took of it.
    pub(crate) cpu: Duration,
    /// Linear memory at its most, in bytes.
    pub(crate) memory: usize,
    /// Whether the plugin did something wrong (contract P5).
    pub(crate) fault: bool,
}

/// Runs a future, and says how much CPU its polls took.
pub(super) async fn metered<F: Future>(future: F) -> (F::Output, Duration) {
    let mut future = pin!(future);
    let mut used = Duration::ZERO;
    let output = std::future::poll_fn(|context| {
        let before = thread_cpu();
        let polled = future.as_mut().poll(context);
        used += thread_cpu().saturating_sub(before);
        polled
    });
    let output = output.await;
    (output, used)
}

fn thread_cpu() -> Duration {
    let now = clock_gettime(ClockId::ThreadCPUTime);
    // It counts from the thread's start: never negative.
    Duration::try_from(now).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is computed here counts, and what is computed elsewhere meanwhile does not.
    #[tokio::test]
    async fn polls_are_counted_and_waiting_is_not() {
        let burn = || {
            let begin = thread_cpu();
            while thread_cpu() < begin + Duration::from_millis(50) {}
        };
        let elsewhere = tokio::task::spawn_blocking(burn);
        let (joined, waited) = metered(elsewhere).await;
        assert!(joined.is_ok() && waited < Duration::from_millis(50), "{waited:?}");
        let ((), computed) = metered(async { burn() }).await;
        assert!(computed >= Duration::from_millis(50), "{computed:?}");
    }
}
