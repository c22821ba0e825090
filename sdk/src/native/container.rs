//! The container capability as a test scripts it.

use std::cell::RefCell;
use std::collections::VecDeque;

use crate::bindings::probehost::plugin::container as wit;
use crate::container::{Error, ErrorKind, Report};

thread_local! {
    static ANSWERS: RefCell<VecDeque<Result<Report, Error>>> = const { RefCell::new(VecDeque::new()) };
    static NAMES: RefCell<Vec<String>> = const { RefCell::new(Vec::new()) };
}

const UNSCRIPTED: &str =
    "no answer is scripted: call probehost_sdk::native::container::answer_with first";

/// Scripts the answer to the next look that has none yet. A look without one gets an error of kind
/// `unreachable` that says so.
pub fn answer_with(result: Result<Report, Error>) {
    ANSWERS.with_borrow_mut(|answers| answers.push_back(result));
}

/// The containers that were looked at since the last time this was asked, oldest first.
#[must_use]
pub fn names() -> Vec<String> {
    NAMES.take()
}

/// Looks at what is scripted.
pub(crate) fn inspect(name: &str) -> Result<Report, wit::Error> {
    NAMES.with_borrow_mut(|names| names.push(name.to_owned()));
    ANSWERS
        .with_borrow_mut(VecDeque::pop_front)
        .unwrap_or_else(|| Err(Error::new(ErrorKind::Unreachable, UNSCRIPTED)))
        .map_err(|Error { kind, message, total }| wit::Error { kind, message, total })
}
