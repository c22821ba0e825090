//! The dns capability as a test scripts it.

use std::cell::RefCell;
use std::collections::VecDeque;

use crate::Address;
use crate::bindings::probehost::plugin::dns as wit;
use crate::dns::{Answer, Error, ErrorKind, Phase, RecordType};

/// What was asked: the name, the type and the name server.
pub type Question = (String, RecordType, Option<Address>);

thread_local! {
    static ANSWERS: RefCell<VecDeque<Result<Answer, Error>>> = const { RefCell::new(VecDeque::new()) };
    static QUESTIONS: RefCell<Vec<Question>> = const { RefCell::new(Vec::new()) };
}

const UNSCRIPTED: &str =
    "no answer is scripted: call probehost_sdk::native::dns::answer_with first";

/// Scripts the answer to the next question that has none yet. A question without one gets an error
/// of kind `host` that says so.
pub fn answer_with(result: Result<Answer, Error>) {
    ANSWERS.with_borrow_mut(|answers| answers.push_back(result));
}

/// What was asked since the last time this was asked, oldest first.
#[must_use]
pub fn questions() -> Vec<Question> {
    QUESTIONS.take()
}

/// Asks the script.
pub(crate) fn query(
    name: &str,
    kind: RecordType,
    server: Option<&Address>,
) -> Result<Answer, wit::Error> {
    QUESTIONS.with_borrow_mut(|asked| asked.push((name.to_owned(), kind, server.cloned())));
    ANSWERS
        .with_borrow_mut(VecDeque::pop_front)
        .unwrap_or_else(|| Err(Error::new(ErrorKind::Host, Phase::Request, UNSCRIPTED)))
        .map_err(|Error { kind, phase, message, total }| wit::Error { kind, phase, message, total })
}
