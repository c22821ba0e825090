//! The udp capability as a test scripts it.

use std::cell::RefCell;
use std::collections::VecDeque;

use crate::Address;
use crate::bindings::probehost::plugin::udp as wit;
use crate::udp::{Datagram, Error, ErrorKind, Phase, Reply};

thread_local! {
    static ANSWERS: RefCell<VecDeque<Result<Vec<u8>, Error>>> = const { RefCell::new(VecDeque::new()) };
    static SENT: RefCell<Vec<Datagram>> = const { RefCell::new(Vec::new()) };
}

const UNSCRIPTED: &str = "no reply is scripted: call probehost_sdk::native::udp::answer_with first";

/// Scripts the reply to the next datagram that has none yet; it comes after a millisecond. A
/// datagram without one gets an error of kind `host` that says so.
pub fn answer_with(result: Result<Vec<u8>, Error>) {
    ANSWERS.with_borrow_mut(|answers| answers.push_back(result));
}

/// The datagrams that were sent since the last time this was asked, oldest first.
#[must_use]
pub fn sent() -> Vec<Datagram> {
    SENT.take()
}

/// Sends to the script.
pub(crate) fn exchange(
    to: &Address,
    payload: &[u8],
    reply_limit: u32,
    tries: u8,
) -> Result<Reply, wit::Error> {
    let datagram = Datagram::new(&to.host, to.port, payload).reply_limit(reply_limit).tries(tries);
    SENT.with_borrow_mut(|sent| sent.push(datagram));
    ANSWERS
        .with_borrow_mut(VecDeque::pop_front)
        .unwrap_or_else(|| Err(Error::new(ErrorKind::Host, Phase::Request, UNSCRIPTED)))
        .map(|payload| Reply { payload, time: 0.001 })
        .map_err(|Error { kind, phase, message, total }| wit::Error { kind, phase, message, total })
}
