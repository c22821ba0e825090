//! What a plugin did wrong in a run, told so that its author can find it.

use wasmtime::component::ResourceTableError;
use wasmtime::{PoolConcurrencyLimitError, Trap};
use wasmtime_wasi::I32Exit;

use crate::limits::Refused;
use crate::state::State;

/// What went wrong in a run of a plugin. None of it says anything about a target (contract P5).
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Fault {
    /// It gave up by itself, with a text.
    #[error("it panicked: {0}")]
    Panic(String),
    /// Its code did what Wasm does not allow.
    #[error("it trapped: {0}")]
    Trap(String),
    /// It wanted more memory than a run may have.
    #[error("it wanted more than its {} MiB of memory", .limit >> 20)]
    Memory {
        /// In bytes.
        limit: usize,
    },
    /// It wanted to put more functions in its tables than a run may.
    #[error("it wanted a table of more than {limit} elements")]
    Table {
        /// In elements.
        limit: usize,
    },
    /// Its calls were nested too deep.
    #[error("its stack ran out: a recursion too deep, most likely")]
    Stack,
    /// It ended the program instead of answering.
    #[error("it called exit instead of answering")]
    Exit,
    /// It computed until the deadline. Its CPU ran out, not the time of its target.
    #[error("it was still computing when the deadline came, and was not waiting for its target")]
    Looping,
    /// It slept until the deadline, which is not waiting for the target either.
    #[error("it was sleeping when the deadline came, and was not waiting for its target")]
    Sleeping,
    /// `describe` or `plan` computed for too long.
    #[error("it computed for more than {} ms where it only has to describe itself or to plan",
        crate::options::PURE_CPU.as_millis())]
    Budget,
    /// `describe` or `plan` slept.
    #[error("it did not answer within {} s where it only has to describe itself or to plan",
        crate::options::PURE_WALL.as_secs())]
    Slow,
    /// Its answer is too large.
    #[error("its answer is over the limit of {limit} bytes")]
    Output {
        /// In bytes.
        limit: usize,
    },
    /// It passed too much to the host, as an argument or as its answer.
    #[error("it passed more than {limit} bytes to the host at once")]
    Call {
        /// In bytes.
        limit: usize,
    },
    /// It held more handles than it may.
    #[error("it held more than {limit} handles at once")]
    Handles {
        /// How many.
        limit: usize,
    },
    /// What it answered is not what the interface says.
    #[error("it broke the interface: {0}")]
    Broken(String),
    /// The host could not run it: nothing is wrong with the plugin.
    #[error("the host could not run it: {0}")]
    Host(String),
}

/// A fault raised inside of a call travels through wasmtime as an error and comes out here.
pub(crate) fn classify(error: &wasmtime::Error, state: &State) -> Fault {
    if let Some(fault) = error.downcast_ref::<Fault>() {
        return fault.clone();
    }
    if error.is::<I32Exit>() {
        return Fault::Exit;
    }
    if error.is::<PoolConcurrencyLimitError>() {
        return Fault::Host(format!("{error:#}"));
    }
    let cause = error.root_cause().to_string();
    // These errors have no public type, so their texts are pinned by tests.
    if cause.contains("fuel allocated for hostcalls has been exhausted") {
        return Fault::Call { limit: crate::options::CALL_BYTES };
    }
    if error.is::<ResourceTableError>() || cause.contains("store handle limit exceeded") {
        return Fault::Handles { limit: crate::options::HANDLES };
    }
    match error.downcast_ref::<Trap>() {
        Some(Trap::StackOverflow) => Fault::Stack,
        Some(trap) => refused(state).unwrap_or_else(|| trapped(*trap, error, state)),
        None => refused(state).unwrap_or(Fault::Broken(format!("{error:#}"))),
    }
}

fn refused(state: &State) -> Option<Fault> {
    Some(match state.limiter.refused? {
        Refused::Memory => Fault::Memory { limit: state.limiter.limit() },
        Refused::Table => Fault::Table { limit: crate::options::TABLE_ELEMENTS },
    })
}

fn trapped(trap: Trap, error: &wasmtime::Error, state: &State) -> Fault {
    let tail = state.stderr_tail();
    if let Some(text) = panic_text(&tail) {
        return Fault::Panic(text);
    }
    let mut text = trap.to_string();
    if let Some(plain) = text.strip_prefix("wasm trap: ") {
        text = plain.to_owned();
    }
    if let Some(name) = innermost(error) {
        text = format!("{text}, in {name}");
    }
    // What other languages' runtimes say of their own end is on standard error too.
    match tail.trim() {
        "" => Fault::Trap(text),
        said => Fault::Trap(format!("{text}; it had said: {}", last_lines(said))),
    }
}

/// The name of the function that trapped, where the plugin has names.
fn innermost(error: &wasmtime::Error) -> Option<String> {
    let backtrace = error.downcast_ref::<wasmtime::WasmBacktrace>()?;
    let name = backtrace.frames().first()?.func_name()?;
    Some(format!("{:#}", rustc_demangle::demangle(name)))
}

/// What a panic of Rust said, with its place: `index out of bounds (src/lib.rs:12:5)`.
fn panic_text(tail: &str) -> Option<String> {
    let (_, said) = tail.rsplit_once(" panicked at ")?;
    let (place, text) = said.split_once(":\n")?;
    let text = text.split("\nnote: run with `RUST_BACKTRACE").next().unwrap_or(text).trim();
    Some(format!("{} ({})", last_lines(text), place.trim()))
}

/// The end of a text, as long as fits in a message.
fn last_lines(text: &str) -> &str {
    const ROOM: usize = 300;
    let mut start = text.len().saturating_sub(ROOM);
    while !text.is_char_boundary(start) {
        start += 1;
    }
    text.get(start..).unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// P5: the text of a panic, without the advice that is of no use here.
    #[test]
    fn a_panic_is_told_with_its_place() {
        let tail = "hello\n\nthread 'main' (1) panicked at src/lib.rs:26:23:\nboom\n\
                    note: run with `RUST_BACKTRACE=1` environment variable to display a backtrace\n";
        assert_eq!(panic_text(tail).as_deref(), Some("boom (src/lib.rs:26:23)"));
        assert_eq!(panic_text("nothing of the kind"), None);
    }
}
