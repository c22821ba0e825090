//! The ssh capability as a test scripts it.

use std::cell::RefCell;
use std::collections::VecDeque;

use crate::bindings::probehost::plugin::ssh as wit;
use crate::ssh::{Error, ErrorKind, Handshake, Phase, Report};

thread_local! {
    static ANSWERS: RefCell<VecDeque<Result<Report, Error>>> = const { RefCell::new(VecDeque::new()) };
    static HANDSHAKES: RefCell<Vec<Handshake>> = const { RefCell::new(Vec::new()) };
}

const UNSCRIPTED: &str =
    "no answer is scripted: call probehost_sdk::native::ssh::answer_with first";

/// Scripts the answer to the next handshake that has none yet. A handshake without one gets an
/// error of kind `host` that says so.
pub fn answer_with(result: Result<Report, Error>) {
    ANSWERS.with_borrow_mut(|answers| answers.push_back(result));
}

/// The handshakes that were made since the last time this was asked, oldest first.
#[must_use]
pub fn handshakes() -> Vec<Handshake> {
    HANDSHAKES.take()
}

/// Makes a handshake with the script.
#[allow(clippy::result_large_err, reason = "the type is what the contract makes it")]
pub(crate) fn handshake(request: &wit::Request) -> Result<Report, wit::Error> {
    HANDSHAKES.with_borrow_mut(|made| made.push(Handshake::from_inner(request.clone())));
    ANSWERS
        .with_borrow_mut(VecDeque::pop_front)
        .unwrap_or_else(|| Err(Error::new(ErrorKind::Host, Phase::Request, UNSCRIPTED)))
        .map_err(|Error { kind, hop, phase, message, timings }| wit::Error {
            kind,
            hop,
            phase,
            message,
            timings,
        })
}
