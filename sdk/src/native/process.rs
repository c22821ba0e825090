//! The process capability as a test scripts it.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::fmt;

use crate::bindings::probehost::plugin::process as wit;
use crate::process::{Error, ErrorKind, Exit};

thread_local! {
    static ANSWERS: RefCell<VecDeque<Result<Program, Error>>> = const { RefCell::new(VecDeque::new()) };
    static STARTED: RefCell<Vec<String>> = const { RefCell::new(Vec::new()) };
    static INPUT: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

const UNSCRIPTED: &str =
    "no program is scripted: call probehost_sdk::native::process::answer_with first";

/// What it writes for a line that it reads.
type Respond = Box<dyn FnMut(&str) -> Vec<String>>;

/// A program as a test scripts it: for each line that it reads it writes lines.
pub struct Program {
    respond: Respond,
    exit: Exit,
    silent: Option<Error>,
}

impl Program {
    /// One that writes these lines for each that it reads, and ends when there is nothing more to
    /// read of it.
    pub fn new(respond: impl FnMut(&str) -> Vec<String> + 'static) -> Self {
        let exit = Exit { code: Some(0), signal: None };
        Self { respond: Box::new(respond), exit, silent: None }
    }

    /// It ends so.
    #[must_use]
    pub fn ending(mut self, exit: Exit) -> Self {
        self.exit = exit;
        self
    }

    /// It does not end: who reads on when nothing is left gets this error.
    #[must_use]
    pub fn then_failing(mut self, error: Error) -> Self {
        self.silent = Some(error);
        self
    }
}

impl fmt::Debug for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Program").finish_non_exhaustive()
    }
}

/// Scripts what is started next and has no script yet. A start without one gets an error of kind
/// `host` that says so.
pub fn answer_with(result: Result<Program, Error>) {
    ANSWERS.with_borrow_mut(|answers| answers.push_back(result));
}

/// The commands that were started since the last time this was asked, oldest first.
#[must_use]
pub fn started() -> Vec<String> {
    STARTED.take()
}

/// What was written to programs since the last time this was asked.
#[must_use]
pub fn input() -> String {
    String::from_utf8_lossy(&INPUT.take()).into_owned()
}

/// A program that was started.
#[derive(Debug)]
pub(crate) struct Child {
    state: RefCell<State>,
}

#[derive(Debug)]
struct State {
    program: Program,
    /// What was written and is no whole line yet.
    begun: Vec<u8>,
    output: VecDeque<u8>,
}

/// Starts what is scripted.
pub(crate) fn start(command: &str) -> Result<Child, wit::Error> {
    STARTED.with_borrow_mut(|started| started.push(command.to_owned()));
    let answer = ANSWERS
        .with_borrow_mut(VecDeque::pop_front)
        .unwrap_or_else(|| Err(Error::new(ErrorKind::Host, UNSCRIPTED)));
    let program = answer.map_err(into_wit)?;
    let state = State { program, begun: Vec::new(), output: VecDeque::new() };
    Ok(Child { state: RefCell::new(state) })
}

impl Child {
    #[allow(clippy::unnecessary_wraps, reason = "the type is what the contract makes it")]
    pub(crate) fn write(&self, data: &[u8]) -> Result<(), wit::Error> {
        INPUT.with_borrow_mut(|input| input.extend(data));
        let state = &mut *self.state.borrow_mut();
        for byte in data {
            if *byte != b'\n' {
                state.begun.push(*byte);
                continue;
            }
            let line = std::mem::take(&mut state.begun);
            for line in (state.program.respond)(&String::from_utf8_lossy(&line)) {
                state.output.extend(line.bytes().chain([b'\n']));
            }
        }
        Ok(())
    }

    pub(crate) fn read_line(&self, limit: u32) -> Result<Option<Vec<u8>>, wit::Error> {
        let state = &mut *self.state.borrow_mut();
        let Some(end) = state.output.iter().position(|byte| *byte == b'\n') else {
            return state.end();
        };
        if u32::try_from(end).is_ok_and(|end| end > limit) {
            return Err(into_wit(Error::new(ErrorKind::TooLarge, "a line is too long")));
        }
        let mut line: Vec<u8> = state.output.drain(..=end).collect();
        line.pop();
        Ok(Some(line))
    }

    pub(crate) fn read(&self, limit: u32) -> Result<Option<Vec<u8>>, wit::Error> {
        let state = &mut *self.state.borrow_mut();
        if state.output.is_empty() {
            return state.end();
        }
        let count = state.output.len().min(limit.try_into().unwrap_or(usize::MAX));
        Ok(Some(state.output.drain(..count).collect()))
    }

    #[allow(clippy::unused_self, reason = "the type is what the contract makes it")]
    pub(crate) fn close_input(&self) {}

    pub(crate) fn wait(&self) -> Result<Exit, wit::Error> {
        let state = self.state.borrow();
        state.end()?;
        Ok(state.program.exit)
    }
}

impl State {
    /// What there is when there is nothing more.
    fn end(&self) -> Result<Option<Vec<u8>>, wit::Error> {
        match &self.program.silent {
            Some(error) => Err(into_wit(error.clone())),
            None => Ok(None),
        }
    }
}

fn into_wit(error: Error) -> wit::Error {
    let Error { kind, message } = error;
    wit::Error { kind, message }
}
