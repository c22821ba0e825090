//! The context of one run: what it may reach, until when, and what it did.
//!
//! A guest mostly makes one call at a time; by WASI it can have several under way. The host has
//! to know what a run is doing when its deadline comes (contract P5): a run that waits in a call
//! has met a slow target, one that does not is looping. So every call notes the phase that it is in.

mod budget;
mod call;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use probehost_model::Endpoint;
use probehost_model::grant::Grants;
use tokio::time::Instant;

use crate::log::{Book, Level, Line, Source};

pub(crate) use budget::{Budget, MAX_CONNECTIONS, MAX_READ_BYTES, Slot};
pub(crate) use call::ActiveCall;
pub use call::{Phase, Timings, Waiting};

/// Most calls that the trace of a run keeps; further ones are counted.
pub const MAX_CALLS: usize = 256;

/// The context of one run. Clones share it.
#[derive(Debug, Clone)]
pub struct Run(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    plugin: Arc<str>,
    grants: Arc<Grants>,
    started: Instant,
    deadline: Instant,
    budget: Arc<Budget>,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    calls: Vec<Call>,
    calls_dropped: u64,
    /// The calls that are under way, or that were cut off; the latest is the last.
    active: Vec<call::Active>,
    /// How many calls have begun.
    begun: u64,
    log: Book,
}

/// One call that a run made.
#[derive(Debug, Clone, PartialEq)]
pub struct Call {
    /// Which capability served it: `http`.
    pub capability: &'static str,
    /// What was asked: `HEAD http://a:80/x`.
    pub what: String,
    /// When it began, since the begin of the run.
    pub start: Duration,
    /// How long it took.
    pub took: Duration,
    /// How it ended.
    pub result: CallResult,
    /// How long its phases took.
    pub timings: Timings,
}

/// How a call ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CallResult {
    /// It got an answer.
    Ok,
    /// It failed; the message that the plugin got.
    Failed(String),
    /// The run's deadline came first; the message says in which phase.
    TimedOut(String),
    /// It was not granted (contract G2, G3).
    Denied {
        /// What was to be reached.
        endpoint: Endpoint,
        /// The line of config that would grant it.
        grant_line: String,
    },
}

/// What a run did.
#[derive(Debug, Default)]
pub struct Trace {
    /// The first [`MAX_CALLS`] calls.
    pub calls: Vec<Call>,
    /// How many calls are not among them.
    pub calls_dropped: u64,
    /// Its log lines.
    pub log: Vec<Line>,
    /// How many lines are not among them.
    pub log_dropped: u64,
}

impl Run {
    /// Begins a run of `plugin` now, to end at `deadline`.
    #[must_use]
    pub fn new(
        plugin: impl Into<Arc<str>>,
        grants: impl Into<Arc<Grants>>,
        deadline: Instant,
    ) -> Self {
        Self(Arc::new(Inner {
            plugin: plugin.into(),
            grants: grants.into(),
            started: Instant::now(),
            deadline,
            budget: Arc::default(),
            state: Mutex::default(),
        }))
    }

    /// The name of the plugin that runs.
    #[must_use]
    pub fn plugin(&self) -> &str {
        &self.0.plugin
    }

    /// What it may reach.
    #[must_use]
    pub fn grants(&self) -> &Grants {
        &self.0.grants
    }

    /// When it has to be done.
    #[must_use]
    pub fn deadline(&self) -> Instant {
        self.0.deadline
    }

    /// Since the run began.
    #[must_use]
    pub fn elapsed(&self) -> Duration {
        self.0.started.elapsed()
    }

    /// What its connections may still take.
    pub(crate) fn connections(&self) -> &Arc<Budget> {
        &self.0.budget
    }

    /// Takes a log line. Control characters are escaped, a long line is cut; what is over the
    /// limits of a run is dropped and counted.
    pub fn log(&self, level: Level, text: &str) {
        let at = self.elapsed();
        self.state().log.write(at, level, Source::Log, text);
    }

    /// Takes bytes of the plugin's standard output; lines of it go to the log.
    pub fn stdout(&self, bytes: &[u8]) {
        let at = self.elapsed();
        self.state().log.output(at, Source::Stdout, bytes);
    }

    /// Takes bytes of the plugin's standard error; lines of it go to the log.
    pub fn stderr(&self, bytes: &[u8]) {
        let at = self.elapsed();
        self.state().log.output(at, Source::Stderr, bytes);
    }

    /// The call that the run is waiting in; None when it is computing. When the run was cut
    /// off (the future of the call dropped), this still tells of the call that it was cut in.
    #[must_use]
    pub fn waiting(&self) -> Option<Waiting> {
        self.state().active.last().map(|active| active.waiting(self.budget()))
    }

    /// Why the run timed out, when it did so in a call: the message of the call that it waits
    /// in (see [`waiting`](Self::waiting)), else of the last one when that ended by the deadline.
    #[must_use]
    pub fn timeout_message(&self) -> Option<String> {
        let state = self.state();
        if let Some(active) = state.active.last() {
            return Some(active.waiting(self.budget()).to_string());
        }
        match state.calls.last().map(|call| &call.result) {
            Some(CallResult::TimedOut(message)) => Some(message.clone()),
            _ => None,
        }
    }

    /// Takes out what the run did so far. A call that was cut off is among it.
    #[must_use]
    pub fn take_trace(&self) -> Trace {
        let at = self.elapsed();
        let mut state = std::mem::take(&mut *self.state());
        for cut in std::mem::take(&mut state.active) {
            self.keep_cut(&mut state, cut);
        }
        let (log, log_dropped) = state.log.close(at);
        Trace { calls: state.calls, calls_dropped: state.calls_dropped, log, log_dropped }
    }

    /// Goes on from one phase of the call under way to the next, where it is in the first.
    pub(crate) fn advance(&self, from: Phase, to: Phase) {
        let now = Instant::now();
        if let Some(active) = self.state().active.last_mut() {
            active.advance(from, to, now);
        }
    }

    /// Notes that bytes of the answer to the call under way have come.
    pub(crate) fn received(&self, bytes: usize) {
        let now = Instant::now();
        if let Some(active) = self.state().active.last_mut() {
            active.receive(bytes, now);
        }
    }

    /// Begins a call.
    pub(crate) fn begin(&self, capability: &'static str, what: String) -> ActiveCall<'_> {
        let mut state = self.state();
        state.begun += 1;
        let id = state.begun;
        // Who has dropped a call and goes on with another one is not waiting in it any more.
        for cut in state.active.extract_if(.., |active| active.is_left()).collect::<Vec<_>>() {
            self.keep_cut(&mut state, cut);
        }
        state.active.push(call::Active::new(id, capability, what, Instant::now()));
        drop(state);
        ActiveCall::new(self, id)
    }

    fn keep_cut(&self, state: &mut State, mut cut: call::Active) {
        let now = Instant::now();
        let message = cut.waiting(self.budget()).to_string();
        let result = if now >= self.0.deadline {
            CallResult::TimedOut(message)
        } else {
            CallResult::Failed("the run ended before the call did".to_owned())
        };
        let timings = cut.close(now);
        state.keep(cut.into_call(self.0.started, timings, result));
    }

    /// The time that the run had, to the hundredth of a second: whoever set the deadline did so a
    /// moment before the run began, and meant a round time.
    fn budget(&self) -> Duration {
        let exact = self.0.deadline.saturating_duration_since(self.0.started);
        if exact < Duration::from_millis(100) {
            return exact;
        }
        let hundredths = (exact.as_millis() + 5) / 10;
        Duration::from_millis(u64::try_from(hundredths * 10).unwrap_or(u64::MAX))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Nothing here panics while it holds the lock, and the state is good at every step.
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn keep(&mut self, call: Call) {
        if self.calls.len() < MAX_CALLS {
            self.calls.push(call);
        } else {
            self.calls_dropped += 1;
        }
    }
}

#[cfg(test)]
mod tests;
