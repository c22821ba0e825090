//! The http capability as a test scripts it.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::fmt;

use crate::bindings::probehost::plugin::http as wit;
use crate::http::{Error, ErrorKind, Phase, Request, Response};

thread_local! {
    static ANSWERS: RefCell<VecDeque<Result<Answer, Error>>> = const { RefCell::new(VecDeque::new()) };
    static REQUESTS: RefCell<Vec<Request>> = const { RefCell::new(Vec::new()) };
    static OPEN: Cell<usize> = const { Cell::new(0) };
}

const UNSCRIPTED: &str =
    "no answer is scripted: call probehost_sdk::native::http::answer_with first";

/// An answer, and how its body comes.
struct Answer {
    response: Response,
    pieces: Box<dyn Iterator<Item = Vec<u8>>>,
    end: Option<Error>,
}

/// Scripts the answer to the next request that has none yet. A response without a URL gets the
/// request's. A request without one gets an
/// error of kind `host` that says so.
pub fn answer_with(result: Result<Response, Error>) {
    let answer = result.map(|mut response| {
        let pieces = Box::new(std::iter::once(std::mem::take(&mut response.body)));
        Answer { response, pieces, end: None }
    });
    ANSWERS.with_borrow_mut(|answers| answers.push_back(answer));
}

/// As [`answer_with`], where the body comes in these pieces, of which there may be no end. After
/// them it ends with the error, or as it should.
pub fn stream_with<P: Into<Vec<u8>> + 'static>(
    response: Response,
    pieces: impl IntoIterator<Item = P, IntoIter: 'static>,
    end: Option<Error>,
) {
    let pieces = Box::new(pieces.into_iter().map(Into::into));
    let answer = Ok(Answer { response, pieces, end });
    ANSWERS.with_borrow_mut(|answers| answers.push_back(answer));
}

/// The requests that were sent since the last time this was asked, oldest first.
#[must_use]
pub fn requests() -> Vec<Request> {
    REQUESTS.take()
}

/// How many bodies of answers were opened and not dropped yet. Each holds a connection.
#[must_use]
pub fn open_bodies() -> usize {
    OPEN.get()
}

/// Sends a request to the script.
#[allow(clippy::result_large_err, reason = "the type is what the contract makes it")]
pub(crate) fn send(request: &wit::Request) -> Result<Response, wit::Error> {
    let (mut response, body) = open(request)?;
    while let Some(piece) = body.read(u32::MAX)? {
        response.body.extend(piece);
    }
    Ok(response)
}

/// Sends a request to the script, and leaves the body to be read.
#[allow(clippy::result_large_err, reason = "the type is what the contract makes it")]
pub(crate) fn open(request: &wit::Request) -> Result<(Response, Body), wit::Error> {
    REQUESTS.with_borrow_mut(|sent| sent.push(Request::from_inner(request.clone())));
    let unscripted = || Err(Error::new(ErrorKind::Host, Phase::Request, UNSCRIPTED));
    let answer = ANSWERS.with_borrow_mut(VecDeque::pop_front).unwrap_or_else(unscripted);
    let Answer { mut response, pieces, end } = answer.map_err(into_wit)?;
    if response.url.is_empty() {
        response.url.clone_from(&request.url);
    }
    // What is not wanted is not read.
    let pieces = if request.body_limit == 0 { Box::new(std::iter::empty()) } else { pieces };
    OPEN.set(OPEN.get() + 1);
    let body = State { pieces, end, waiting: VecDeque::new(), left: request.body_limit };
    Ok((response, Body { state: RefCell::new(body) }))
}

/// The body of an answer.
#[derive(Debug)]
pub(crate) struct Body {
    state: RefCell<State>,
}

struct State {
    pieces: Box<dyn Iterator<Item = Vec<u8>>>,
    end: Option<Error>,
    waiting: VecDeque<u8>,
    /// Bytes until the request's limit.
    left: u32,
}

impl fmt::Debug for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("State").field("left", &self.left).finish_non_exhaustive()
    }
}

impl Body {
    #[allow(clippy::result_large_err, reason = "the type is what the contract makes it")]
    pub(crate) fn read(&self, limit: u32) -> Result<Option<Vec<u8>>, wit::Error> {
        let state = &mut *self.state.borrow_mut();
        while state.waiting.is_empty() {
            let Some(piece) = state.pieces.next() else {
                return state.end.clone().map_or(Ok(None), |end| Err(into_wit(end)));
            };
            let Some(left) =
                u32::try_from(piece.len()).ok().and_then(|size| state.left.checked_sub(size))
            else {
                let text = "the answer has a body over the limit";
                return Err(into_wit(Error::new(ErrorKind::TooLarge, Phase::Body, text)));
            };
            state.left = left;
            state.waiting.extend(piece);
        }
        let count = state.waiting.len().min(limit.try_into().unwrap_or(usize::MAX).max(1));
        Ok(Some(state.waiting.drain(..count).collect()))
    }
}

impl Drop for Body {
    fn drop(&mut self) {
        OPEN.set(OPEN.get().saturating_sub(1));
    }
}

fn into_wit(error: Error) -> wit::Error {
    let Error { kind, phase, message, timings, certificate } = error;
    wit::Error { kind, phase, message, timings, certificate: certificate.map(|inner| *inner) }
}
