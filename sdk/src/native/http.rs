//! The http capability as a test scripts it.

use std::cell::RefCell;
use std::collections::VecDeque;

use crate::bindings::probehost::plugin::http as wit;
use crate::http::{Error, ErrorKind, Phase, Request, Response};

thread_local! {
    static ANSWERS: RefCell<VecDeque<Result<Response, Error>>> = const { RefCell::new(VecDeque::new()) };
    static REQUESTS: RefCell<Vec<Request>> = const { RefCell::new(Vec::new()) };
}

const UNSCRIPTED: &str =
    "no answer is scripted: call probehost_sdk::native::http::answer_with first";

/// Scripts the answer to the next request that has none yet. A response without a URL gets the
/// request's. A request without one gets an
/// error of kind `host` that says so.
pub fn answer_with(result: Result<Response, Error>) {
    ANSWERS.with_borrow_mut(|answers| answers.push_back(result));
}

/// The requests that were sent since the last time this was asked, oldest first.
#[must_use]
pub fn requests() -> Vec<Request> {
    REQUESTS.take()
}

/// Sends a request to the script.
#[allow(clippy::result_large_err, reason = "the type is what the contract makes it")]
pub(crate) fn send(request: &wit::Request) -> Result<Response, wit::Error> {
    REQUESTS.with_borrow_mut(|sent| sent.push(Request::from_inner(request.clone())));
    match ANSWERS.with_borrow_mut(VecDeque::pop_front) {
        Some(Ok(mut response)) => {
            if response.url.is_empty() {
                response.url.clone_from(&request.url);
            }
            Ok(response)
        }
        Some(Err(error)) => Err(into_wit(error)),
        None => Err(into_wit(Error::new(ErrorKind::Host, Phase::Request, UNSCRIPTED))),
    }
}

fn into_wit(error: Error) -> wit::Error {
    let Error { kind, phase, message, timings, certificate } = error;
    wit::Error { kind, phase, message, timings, certificate: certificate.map(|inner| *inner) }
}
