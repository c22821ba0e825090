//! The tcp capability as a test scripts it.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::fmt;

use crate::Address;
use crate::bindings::probehost::plugin::tcp as wit;
use crate::tcp::{Certificate, Error, ErrorKind, Phase, Timings, TlsMode};

thread_local! {
    static ANSWERS: RefCell<VecDeque<Result<Peer, Error>>> = const { RefCell::new(VecDeque::new()) };
    static CONNECTED: RefCell<Vec<Address>> = const { RefCell::new(Vec::new()) };
    static SENT: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
    static HANDSHAKES: RefCell<Vec<(Option<String>, TlsMode)>> = const { RefCell::new(Vec::new()) };
}

const UNSCRIPTED: &str =
    "no connection is scripted: call probehost_sdk::native::tcp::answer_with first";

/// What it sends for what it is sent.
type Respond = Box<dyn FnMut(&[u8]) -> Vec<u8>>;

/// The other side of a connection as a test scripts it.
pub struct Peer {
    respond: Respond,
    greeting: Vec<u8>,
    tls: Result<Certificate, Error>,
    silent: Option<Error>,
}

impl Peer {
    /// One that answers each write with these bytes, and has ended its stream when nothing of them is
    /// left to read. In a TLS handshake it shows a good certificate with 90 days left.
    pub fn new(respond: impl FnMut(&[u8]) -> Vec<u8> + 'static) -> Self {
        let tls = Ok(certificate(90.0));
        Self { respond: Box::new(respond), greeting: Vec::new(), tls, silent: None }
    }

    /// It sends this first.
    #[must_use]
    pub fn greeting(mut self, bytes: impl Into<Vec<u8>>) -> Self {
        self.greeting = bytes.into();
        self
    }

    /// It shows this certificate, or the handshake fails with this error.
    #[must_use]
    pub fn tls(mut self, tls: Result<Certificate, Error>) -> Self {
        self.tls = tls;
        self
    }

    /// It does not end its stream: who reads on when nothing is left gets this error.
    #[must_use]
    pub fn then_failing(mut self, error: Error) -> Self {
        self.silent = Some(error);
        self
    }
}

impl fmt::Debug for Peer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Peer").finish_non_exhaustive()
    }
}

/// A certificate with so many days left, and no problem.
#[must_use]
pub fn certificate(days_left: f64) -> Certificate {
    Certificate {
        not_before: 0,
        not_after: 0,
        days_left,
        subject: "CN=test".to_owned(),
        issuer: "CN=test authority".to_owned(),
        names: vec!["test".to_owned()],
        problem: None,
    }
}

/// Scripts the next connection that has no script yet. One without a script gets an error of kind
/// `host` that says so.
pub fn answer_with(result: Result<Peer, Error>) {
    ANSWERS.with_borrow_mut(|answers| answers.push_back(result));
}

/// Where connections were asked for since the last time this was asked, oldest first.
#[must_use]
pub fn connected() -> Vec<Address> {
    CONNECTED.take()
}

/// What was sent on connections since the last time this was asked.
#[must_use]
pub fn sent() -> Vec<u8> {
    SENT.take()
}

/// The TLS handshakes since the last time this was asked: with which name, and how.
#[must_use]
pub fn handshakes() -> Vec<(Option<String>, TlsMode)> {
    HANDSHAKES.take()
}

/// A connection.
#[derive(Debug)]
pub(crate) struct Connection {
    state: RefCell<State>,
}

#[derive(Debug)]
struct State {
    peer: Peer,
    arrived: VecDeque<u8>,
    certificate: Option<Certificate>,
}

#[allow(clippy::result_large_err, reason = "the type is what the contract makes it")]
impl Connection {
    /// Connects to what is scripted.
    pub(crate) fn connect(to: &Address) -> Result<Self, wit::Error> {
        CONNECTED.with_borrow_mut(|connected| connected.push(to.clone()));
        let answer = ANSWERS
            .with_borrow_mut(VecDeque::pop_front)
            .unwrap_or_else(|| Err(Error::new(ErrorKind::Host, Phase::Request, UNSCRIPTED)));
        let mut peer = answer.map_err(into_wit)?;
        let arrived = std::mem::take(&mut peer.greeting).into();
        Ok(Self { state: RefCell::new(State { peer, arrived, certificate: None }) })
    }

    pub(crate) fn read(&self, limit: u32) -> Result<Option<Vec<u8>>, wit::Error> {
        let state = &mut *self.state.borrow_mut();
        if state.arrived.is_empty() {
            return state.peer.silent.clone().map_or(Ok(None), |error| Err(into_wit(error)));
        }
        let limit = usize::try_from(limit).unwrap_or(usize::MAX).max(1);
        let count = state.arrived.len().min(limit);
        Ok(Some(state.arrived.drain(..count).collect()))
    }

    #[allow(clippy::unnecessary_wraps, reason = "the type is what the contract makes it")]
    pub(crate) fn write(&self, bytes: &[u8]) -> Result<(), wit::Error> {
        SENT.with_borrow_mut(|sent| sent.extend(bytes));
        let state = &mut *self.state.borrow_mut();
        state.arrived.extend((state.peer.respond)(bytes));
        Ok(())
    }

    pub(crate) fn start_tls(
        &self,
        server_name: Option<&str>,
        mode: TlsMode,
    ) -> Result<(), wit::Error> {
        let name = server_name.map(str::to_owned);
        HANDSHAKES.with_borrow_mut(|made| made.push((name, mode)));
        let state = &mut *self.state.borrow_mut();
        state.certificate = Some(state.peer.tls.clone().map_err(into_wit)?);
        Ok(())
    }

    pub(crate) fn peer_certificate(&self) -> Option<Certificate> {
        self.state.borrow().certificate.clone()
    }

    /// A millisecond to connect, and two for the handshake.
    pub(crate) fn timings(&self) -> Timings {
        let tls = self.state.borrow().certificate.as_ref().map(|_| 0.002);
        Timings { dns: None, connect: Some(0.001), tls }
    }
}

fn into_wit(error: Error) -> wit::Error {
    let Error { kind, phase, message, timings, certificate } = error;
    wit::Error { kind, phase, message, timings, certificate: certificate.map(|inner| *inner) }
}
