//! A call under way: its phases, and what is said of it when it does not end.

use std::fmt;
use std::time::Duration;

use tokio::time::Instant;

use super::{Call, CallResult, Run, State};
use crate::text::Span;

/// What a call is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// Nothing was sent yet.
    Request,
    /// Resolving the name.
    Dns,
    /// Connecting.
    Connect,
    /// In the TLS handshake.
    Tls,
    /// Sending the request and waiting for the first byte of the answer.
    FirstByte,
    /// Reading the answer.
    Body,
    /// Waiting for the version line of an SSH server.
    Version,
    /// In the SSH key exchange, up to the verified host key.
    KeyExchange,
    /// Logging in over SSH.
    Login,
    /// Writing to a program.
    Input,
    /// Waiting for what a program writes.
    Output,
    /// Waiting for a program's end.
    Exit,
    /// Waiting for bytes of a connection.
    Read,
    /// Writing to a connection.
    Write,
    /// Waiting for the reply to a datagram.
    Reply,
}

impl Phase {
    /// The word for it: `dns`, `first byte`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Request => "request",
            Self::Dns => "dns",
            Self::Connect => "connect",
            Self::Tls => "tls",
            Self::FirstByte => "first byte",
            Self::Body => "body",
            Self::Version => "version",
            Self::KeyExchange => "key exchange",
            Self::Login => "login",
            Self::Input => "input",
            Self::Output => "output",
            Self::Exit => "exit",
            Self::Read => "read",
            Self::Write => "write",
            Self::Reply => "reply",
        }
    }
}

/// How long the phases of a call took. None: the phase was not reached, or there was none.
/// The phase in which a call failed has the time until then.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Timings {
    /// Resolving the name; none for an IP address.
    pub dns: Option<Duration>,
    /// Connecting.
    pub connect: Option<Duration>,
    /// The TLS handshake; none for `http`.
    pub tls: Option<Duration>,
    /// Sending the request and waiting for the first byte.
    pub first_byte: Option<Duration>,
    /// All of an SSH jump host: dialling it, its handshake and the login there.
    pub jump: Option<Duration>,
    /// The SSH handshake: version lines, key exchange, and the host key verified.
    pub handshake: Option<Duration>,
    /// The SSH login.
    pub login: Option<Duration>,
    /// The whole call.
    pub total: Duration,
}

/// A call that has not ended. `Display` is the message of a timeout:
/// `timeout after 10 s waiting for the first byte from db:8080 (dns 0.1 ms, connect 0.2 ms)`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Waiting {
    /// Which capability serves it.
    pub capability: &'static str,
    /// What was asked: `HEAD http://a:80/x`.
    pub what: String,
    /// What it is doing.
    pub phase: Phase,
    /// Since when.
    pub since: Instant,
    /// The phases before that.
    pub timings: Timings,
    /// Host and port; empty when it did not get so far.
    peer: String,
    received: u64,
    budget: Duration,
}

impl fmt::Display for Waiting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { peer, timings, .. } = self;
        write!(f, "timeout after {} ", Span(self.budget))?;
        match self.phase {
            Phase::Request => write!(f, "before anything was sent ({})", self.what)?,
            Phase::Dns => write!(f, "waiting for DNS to resolve the name of {peer}")?,
            Phase::Connect => write!(f, "connecting to {peer}")?,
            Phase::Tls => write!(f, "in the TLS handshake with {peer}")?,
            Phase::FirstByte => write!(f, "waiting for the first byte from {peer}")?,
            Phase::Body => {
                write!(f, "reading the answer of {peer}, {} bytes in", self.received)?;
            }
            Phase::Version => write!(f, "waiting for the version line of {peer}")?,
            Phase::KeyExchange => write!(f, "in the key exchange with {peer}")?,
            Phase::Login => write!(f, "logging in to {peer}")?,
            Phase::Input | Phase::Write => write!(f, "writing to {peer}, which does not read")?,
            Phase::Output => write!(f, "waiting for output of {peer}")?,
            Phase::Exit => write!(f, "waiting for the end of {peer}")?,
            Phase::Read => write!(f, "waiting for bytes from {peer}")?,
            Phase::Reply => write!(f, "waiting for a reply from {peer}")?,
        }
        let mut before = " (";
        for (name, span) in [
            ("jump", timings.jump),
            ("dns", timings.dns),
            ("connect", timings.connect),
            ("tls", timings.tls),
            ("first byte", timings.first_byte),
            ("handshake", timings.handshake),
            ("login", timings.login),
        ] {
            if let Some(span) = span {
                write!(f, "{before}{name} {}", Span(span))?;
                before = ", ";
            }
        }
        if before == ", " { f.write_str(")") } else { Ok(()) }
    }
}

/// What is noted of a call while it runs.
#[derive(Debug)]
pub(super) struct Active {
    id: u64,
    /// Nobody polls it any more.
    left: bool,
    capability: &'static str,
    what: String,
    started: Instant,
    phase: Phase,
    since: Instant,
    timings: Timings,
    peer: String,
    received: u64,
}

impl Active {
    pub(super) fn new(id: u64, capability: &'static str, what: String, now: Instant) -> Self {
        Self {
            id,
            left: false,
            capability,
            what,
            started: now,
            phase: Phase::Request,
            since: now,
            timings: Timings::default(),
            peer: String::new(),
            received: 0,
        }
    }

    pub(super) const fn is_left(&self) -> bool {
        self.left
    }

    pub(super) fn waiting(&self, budget: Duration) -> Waiting {
        Waiting {
            capability: self.capability,
            what: self.what.clone(),
            phase: self.phase,
            since: self.since,
            timings: self.timings,
            peer: self.peer.clone(),
            received: self.received,
            budget,
        }
    }

    pub(super) fn receive(&mut self, bytes: usize, now: Instant) {
        self.advance(Phase::FirstByte, Phase::Body, now);
        self.received = self.received.saturating_add(u64::try_from(bytes).unwrap_or(u64::MAX));
    }

    pub(super) fn advance(&mut self, from: Phase, to: Phase, now: Instant) {
        if self.phase == from {
            self.enter(to, now);
        }
    }

    fn enter(&mut self, phase: Phase, now: Instant) {
        self.note_phase(now);
        self.phase = phase;
        self.since = now;
    }

    fn note_phase(&mut self, now: Instant) {
        let took = now.saturating_duration_since(self.since);
        let slot = match self.phase {
            Phase::Dns => &mut self.timings.dns,
            Phase::Connect => &mut self.timings.connect,
            Phase::Tls => &mut self.timings.tls,
            Phase::FirstByte => &mut self.timings.first_byte,
            Phase::Version | Phase::KeyExchange => {
                // Two phases of one handshake; another try at it counts too.
                let slot = &mut self.timings.handshake;
                *slot = Some(slot.unwrap_or_default() + took);
                return;
            }
            Phase::Login => &mut self.timings.login,
            Phase::Request
            | Phase::Body
            | Phase::Input
            | Phase::Output
            | Phase::Exit
            | Phase::Read
            | Phase::Write
            | Phase::Reply => return,
        };
        *slot = Some(took);
    }

    /// Ends the current phase; the times of all.
    pub(super) fn close(&mut self, now: Instant) -> Timings {
        self.note_phase(now);
        self.timings.total = now.saturating_duration_since(self.started);
        self.timings
    }

    pub(super) fn into_call(
        self,
        run_started: Instant,
        timings: Timings,
        result: CallResult,
    ) -> Call {
        Call {
            capability: self.capability,
            what: self.what,
            start: self.started.saturating_duration_since(run_started),
            took: timings.total,
            result,
            timings,
        }
    }
}

/// The handle of a call under way. One that is dropped without [`finish`](Self::finish) was
/// cut off; the run keeps knowing in which phase.
#[derive(Debug)]
pub(crate) struct ActiveCall<'a> {
    run: &'a Run,
    id: u64,
}

impl<'a> ActiveCall<'a> {
    pub(super) fn new(run: &'a Run, id: u64) -> Self {
        Self { run, id }
    }

    pub(crate) fn run(&self) -> &'a Run {
        self.run
    }

    /// Begins a hop to `peer` (host and port): the times of an earlier hop are forgotten.
    pub(crate) fn begin_hop(&self, peer: String) {
        let now = Instant::now();
        self.with(|active| {
            active.timings = Timings::default();
            active.phase = Phase::Request;
            active.since = now;
            active.peer = peer;
            active.received = 0;
        });
    }

    /// Ends the hop to a jump host and begins the one behind it, to `peer`: all the time so far
    /// was the jump host's.
    pub(crate) fn jumped(&self, peer: String) {
        let now = Instant::now();
        self.with(|active| {
            let jump = Some(now.saturating_duration_since(active.started));
            active.timings = Timings { jump, ..Timings::default() };
            active.phase = Phase::Connect;
            active.since = now;
            active.peer = peer;
        });
    }

    /// Ends the current phase and enters the next.
    pub(crate) fn enter(&self, phase: Phase) {
        let now = Instant::now();
        self.with(|active| active.enter(phase, now));
    }

    /// The current phase.
    pub(crate) fn phase(&self) -> Phase {
        let state = self.run.state();
        let own = state.active.iter().find(|active| active.id == self.id);
        own.map_or(Phase::Request, |active| active.phase)
    }

    /// What is to be said when the deadline comes now.
    pub(crate) fn timeout_message(&self) -> String {
        let budget = self.run.budget();
        let state = self.run.state();
        let own = state.active.iter().find(|active| active.id == self.id);
        own.map(|active| active.waiting(budget).to_string()).unwrap_or_default()
    }

    /// Ends the call: its times, for the answer, and its line in the trace.
    pub(crate) fn finish(self, result: CallResult) -> Timings {
        let now = Instant::now();
        let state: &mut State = &mut self.run.state();
        let Some(at) = state.active.iter().position(|active| active.id == self.id) else {
            return Timings::default();
        };
        let mut active = state.active.remove(at);
        let timings = active.close(now);
        state.keep(active.into_call(self.run.0.started, timings, result));
        timings
    }

    fn with(&self, change: impl FnOnce(&mut Active)) {
        let own = &mut self.run.state().active;
        if let Some(active) = own.iter_mut().find(|active| active.id == self.id) {
            change(active);
        }
    }
}

impl Drop for ActiveCall<'_> {
    fn drop(&mut self) {
        // After its end it is not there any more.
        self.with(|active| active.left = true);
    }
}
