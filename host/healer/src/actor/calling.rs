//! The call of the runtime: one at a time, in a task of its own, so that the target's own task can
//! be asked for things meanwhile.

use std::sync::Arc;

use probehost_model::Managed;
use probehost_model::lifecycle::Event;
use tokio::task::JoinHandle;
use tokio::time::timeout;
use tracing::{info, warn};

use super::Actor;
use crate::ports::{Probing, Records, Restarter};

/// A call of the runtime under way.
pub(super) struct Call {
    attempt: u64,
    task: JoinHandle<Result<(), String>>,
}

impl Call {
    /// Nobody waits for it any more.
    pub(super) fn give_up(self) {
        self.task.abort();
    }
}

impl<S: Records, R: Restarter, P: Probing> Actor<S, R, P> {
    /// Calls the runtime. A call that is still under way is of an attempt that nobody waits for
    /// any more, and is given up.
    pub(super) fn restart(&mut self, attempt: u64) {
        if let Some(old) = self.call.take() {
            old.give_up();
        }
        let Managed { runtime, policy } = self.configuration.managed.clone();
        // The start budget runs from before the call: what it can't do in most of that is over.
        // The runtime knows best how to say so, and is the first to.
        let limit = policy.start_budget.mul_f64(0.8);
        let last = policy.start_budget.mul_f64(0.9);
        let shared = Arc::clone(&self.shared);
        info!(target = self.id(), attempt, what = %runtime, "restarting");
        let tasks = shared.tasks.clone();
        let task = tasks.spawn(async move {
            let called = timeout(last, shared.restarter.restart(&runtime, limit)).await;
            called.unwrap_or_else(|_| {
                Err(format!("{runtime}: no answer within {} s", limit.as_secs_f64()))
            })
        });
        self.call = Some(Call { attempt, task });
    }

    pub(super) fn called(&mut self, (attempt, result): (u64, Result<(), String>)) {
        let what = &self.configuration.managed.runtime;
        self.pending.push_back(match result {
            Ok(()) => {
                info!(target = self.id(), attempt, %what, "restarted");
                Event::RestartSucceeded { attempt }
            }
            Err(message) => {
                warn!(target = self.id(), attempt, %what, message, "the restart failed");
                Event::RestartFailed { attempt, message }
            }
        });
    }
}

impl<S, R, P> Drop for Actor<S, R, P> {
    /// The target is not managed any more: nobody waits for the call.
    fn drop(&mut self) {
        if let Some(call) = self.call.take() {
            call.give_up();
        }
    }
}

/// What came of the call under way. Never returns when there is none.
pub(super) async fn outcome(call: &mut Option<Call>) -> (u64, Result<(), String>) {
    let Some(under_way) = call else { return std::future::pending().await };
    let result = (&mut under_way.task).await;
    let attempt = under_way.attempt;
    *call = None;
    let broken = |error| Err(format!("the call of the runtime broke off: {error}"));
    (attempt, result.unwrap_or_else(broken))
}
