//! How much a guest computes: when it is stopped, and how it makes room for others.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::Instant;
use wasmtime::UpdateDeadline;

use crate::fault::Fault;
use crate::options::TICK;

/// Ticks that a run computes before it is held to be heavy.
const LIGHT_TICKS: u32 = 5;

/// How long a heavy guest steps aside after each tick. A runtime whose workers always have a guest
/// to go on with would look at its sockets and timers only now and then; a worker that has
/// nothing to do for a moment looks at once.
const STEP_ASIDE: Duration = Duration::from_millis(1);

/// What a guest does at the moment, as far as the host can tell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Doing {
    /// Running its own code.
    Computing,
    /// In WASI: sleeping, when that is where time passes.
    Wasi,
    /// Waiting for a capability.
    Calling,
}

/// The heavy guests of the whole host take turns here, so that they leave room for the light ones,
/// which is nearly every probe there is.
#[derive(Debug, Clone)]
pub(crate) struct Turns(Arc<Semaphore>);

impl Turns {
    /// Half of the machine's cores for heavy guests, but one at least.
    pub(crate) fn new() -> Self {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        Self(Arc::new(Semaphore::new((cores / 2).max(1))))
    }
}

/// Held while a heavy guest has its turn.
type Turn = Arc<Mutex<Option<OwnedSemaphorePermit>>>;

/// How much one run has computed, and what it may.
#[derive(Debug)]
pub(crate) struct Compute {
    turns: Turns,
    turn: Option<Turn>,
    ticks: u32,
    /// Ticks that it may compute in all, where something other than a deadline sets a limit.
    budget: Option<u32>,
    deadline: Instant,
    doing: Doing,
    /// Time passed in a call of the host's since the last tick.
    waited: bool,
    /// When the last call of a capability returned.
    served: Option<Instant>,
}

impl Compute {
    /// A run that may compute until `deadline`, and for `budget` when that is given.
    pub(crate) fn new(turns: Turns, deadline: Instant, budget: Option<Duration>) -> Self {
        let budget = budget
            .map(|time| u32::try_from(time.as_millis() / TICK.as_millis()).unwrap_or(u32::MAX));
        Self {
            turns,
            turn: None,
            ticks: 0,
            budget,
            deadline,
            doing: Doing::Computing,
            waited: false,
            served: None,
        }
    }

    /// What the guest does.
    pub(crate) const fn doing(&self) -> Doing {
        self.doing
    }

    /// The guest has called WASI.
    pub(crate) fn wasi(&mut self) {
        self.doing = Doing::Wasi;
        self.give_up_turn();
    }

    /// The guest has called a capability, which may wait.
    pub(crate) fn call(&mut self) {
        self.doing = Doing::Calling;
        self.give_up_turn();
    }

    /// The call has returned. What it took was not the guest's computing.
    pub(crate) fn returned(&mut self) {
        self.doing = Doing::Computing;
        self.waited = true;
        self.served = Some(Instant::now());
    }

    /// The guest got something from the network at that time.
    pub(crate) fn served(&mut self, at: Instant) {
        self.served = Some(at);
    }

    /// Whether a call returned so shortly before the deadline that the target, not the guest, took
    /// the time.
    pub(crate) fn served_last_moment(&self) -> bool {
        self.served.is_some_and(|at| at + TICK * LIGHT_TICKS >= self.deadline)
    }

    /// The guest may compute for this much longer.
    pub(crate) fn extend(&mut self, grace: Duration) {
        self.deadline += grace;
    }

    fn give_up_turn(&mut self) {
        if let Some(turn) = &self.turn {
            turn.lock().unwrap_or_else(PoisonError::into_inner).take();
        }
    }

    /// The engine's epoch has advanced while the guest was computing: says how it goes on.
    pub(crate) fn tick(&mut self) -> Result<UpdateDeadline, Fault> {
        if std::mem::take(&mut self.waited) {
            return Ok(UpdateDeadline::Continue(1));
        }
        self.doing = Doing::Computing;
        self.ticks = self.ticks.saturating_add(1);
        if self.budget.is_some_and(|budget| self.ticks > budget) {
            return Err(Fault::Budget);
        }
        if Instant::now() >= self.deadline {
            return Err(Fault::Looping);
        }
        if self.ticks <= LIGHT_TICKS {
            return Ok(UpdateDeadline::Yield(1));
        }
        self.give_up_turn();
        let turn = Arc::clone(self.turn.get_or_insert_default());
        let turns = Arc::clone(&self.turns.0);
        let next = async move {
            tokio::time::sleep(STEP_ASIDE).await;
            // The semaphore is never closed; were it, the guest would go on unthrottled.
            let permit = turns.acquire_owned().await.ok();
            *turn.lock().unwrap_or_else(PoisonError::into_inner) = permit;
        };
        Ok(UpdateDeadline::YieldCustom(1, Box::pin(next)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LATER: Duration = Duration::from_secs(3600);

    fn compute(turns: &Turns, budget: Option<Duration>) -> Compute {
        Compute::new(turns.clone(), Instant::now() + LATER, budget)
    }

    fn one_turn() -> Turns {
        Turns(Arc::new(Semaphore::new(1)))
    }

    /// P3: the deadline stops a computing guest, and no tick before it does.
    #[tokio::test(start_paused = true)]
    async fn the_deadline_stops_it() {
        let mut guest = compute(&one_turn(), None);
        for _ in 0..1000 {
            assert!(guest.tick().is_ok());
        }
        tokio::time::advance(LATER).await;
        assert!(matches!(guest.tick(), Err(Fault::Looping)));
        guest.extend(LATER);
        assert!(guest.tick().is_ok());
    }

    /// G4: a budget counts computing, and not what passes in calls of the host.
    #[tokio::test(start_paused = true)]
    async fn a_budget_counts_computing_alone() {
        let mut guest = compute(&one_turn(), Some(TICK * 3));
        for _ in 0..100 {
            guest.call();
            assert_eq!(guest.doing(), Doing::Calling);
            guest.returned();
            assert!(matches!(guest.tick(), Ok(UpdateDeadline::Continue(1))));
        }
        for _ in 0..3 {
            assert!(guest.tick().is_ok());
        }
        assert!(matches!(guest.tick(), Err(Fault::Budget)));
    }

    /// P5: heavy guests take turns, and one that calls or ends gives up its turn.
    #[tokio::test(start_paused = true)]
    async fn heavy_guests_take_turns() {
        let turns = one_turn();
        let mut first = heavy(&turns);
        turn(&mut first).await;
        assert_eq!(turns.0.available_permits(), 0);
        let mut second = heavy(&turns);
        let waiting = tokio::time::timeout(LATER / 2, turn(&mut second)).await;
        assert!(waiting.is_err());
        first.call();
        turn(&mut second).await;
        assert_eq!(turns.0.available_permits(), 0);
        drop(second);
        assert_eq!(turns.0.available_permits(), 1);
    }

    /// A guest that has computed so much that it needs a turn to go on.
    fn heavy(turns: &Turns) -> Compute {
        let mut guest = compute(turns, None);
        for _ in 0..LIGHT_TICKS {
            assert!(matches!(guest.tick(), Ok(UpdateDeadline::Yield(1))));
        }
        guest
    }

    async fn turn(guest: &mut Compute) {
        match guest.tick() {
            Ok(UpdateDeadline::YieldCustom(1, next)) => next.await,
            _ => panic!("it should have to wait for its turn"),
        }
    }

    /// P5: a call that returned within the last moments is what took the time.
    #[tokio::test(start_paused = true)]
    async fn the_last_moment_is_the_targets() {
        let mut guest = compute(&one_turn(), None);
        assert!(!guest.served_last_moment());
        guest.call();
        guest.returned();
        assert!(!guest.served_last_moment());
        tokio::time::advance(LATER - TICK).await;
        guest.call();
        guest.returned();
        assert!(guest.served_last_moment());
    }
}
