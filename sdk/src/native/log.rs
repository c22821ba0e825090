//! The log as a test reads it.

use std::cell::RefCell;

use crate::log::Level;

thread_local! {
    static LINES: RefCell<Vec<(Level, String)>> = const { RefCell::new(Vec::new()) };
}

/// The lines that were written since the last time this was asked, oldest first.
#[must_use]
pub fn lines() -> Vec<(Level, String)> {
    LINES.take()
}

pub(crate) fn write(level: Level, message: &str) {
    LINES.with_borrow_mut(|lines| lines.push((level, message.to_owned())));
}
