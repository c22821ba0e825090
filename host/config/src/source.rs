//! The text of the file, and places in it: what an error points at.

use std::fmt;
use std::path::Path;
use std::sync::{Arc, OnceLock};

use crate::mask;
use crate::span::Span;

/// Widest piece of a line that an error shows, in characters.
const WIDTH: usize = 100;

/// A place in the configuration file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Location {
    /// The file, as it was named by whoever asked for it.
    pub file: Arc<Path>,
    /// Counted from 1; 0 when the file as a whole is meant.
    pub line: usize,
    /// In characters (in bytes on a line over 64 KiB), counted from 1; 0 when the file as a
    /// whole is meant.
    pub column: usize,
    /// What stands there, such as `targets[2].checks[0].timeout`; empty for the whole file.
    pub key: String,
}

/// `probehost.toml:14:3`
impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.file.display())?;
        if self.line > 0 {
            write!(f, ":{}:{}", self.line, self.column)?;
        }
        Ok(())
    }
}

/// A line of the file with the part that is meant, secrets masked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Excerpt {
    pub(crate) text: String,
    /// Characters before the caret.
    pub(crate) indent: usize,
    /// Characters under the caret; at least 1.
    pub(crate) width: usize,
}

/// The file's text with what is needed to find lines in it. It may hold secrets, so there
/// is no `Debug` to show it.
pub(crate) struct Source {
    file: Arc<Path>,
    text: String,
    line_starts: Vec<usize>,
    /// Spans of secrets that the parsed tree told of.
    told: OnceLock<Vec<Span>>,
    /// Those and what the bare text looks like, in ascending order without overlap. Found
    /// when the first error is shown, as most files have none.
    masks: OnceLock<Vec<Span>>,
}

impl Source {
    pub(crate) fn new(file: &Path, text: &str) -> Self {
        let line_starts = std::iter::once(0)
            .chain(text.bytes().enumerate().filter(|(_, b)| *b == b'\n').map(|(at, _)| at + 1))
            .collect();
        Self {
            file: Arc::from(file),
            text: text.to_owned(),
            line_starts,
            told: OnceLock::new(),
            masks: OnceLock::new(),
        }
    }

    /// Remembers where secrets stand. Only the first call counts.
    pub(crate) fn tell_secrets(&self, spans: Vec<Span>) {
        // A second telling would be of the same tree.
        let _ = self.told.set(spans);
    }

    /// Where the file as a whole is.
    pub(crate) fn whole(&self) -> Location {
        Location { file: Arc::clone(&self.file), line: 0, column: 0, key: String::new() }
    }

    pub(crate) fn location(&self, span: &Span, key: String) -> Location {
        let line = self.line_of(span.start);
        let (start, text) = self.line(line);
        let before = text.get(..span.start.saturating_sub(start)).unwrap_or(text);
        // Many errors on one giant line must not cost its length each.
        let column = if before.len() > 64 << 10 { before.len() } else { before.chars().count() };
        Location { file: Arc::clone(&self.file), line: line + 1, column: column + 1, key }
    }

    pub(crate) fn excerpt(&self, span: &Span) -> Excerpt {
        let (start, text) = self.line(self.line_of(span.start));
        let (skipped, text) = around(text, span.start.saturating_sub(start));
        let start = start + skipped;
        let masks = self.masks();
        let first = masks.partition_point(|mask| mask.end <= start);
        let mut masks = masks.get(first..).unwrap_or_default().iter().peekable();
        let mut shown: Vec<char> = Vec::new();
        let (mut from, mut to) = (None, None);
        let mut masking: Option<usize> = None;
        for (offset, character) in text.char_indices() {
            let at = start + offset;
            while masks.next_if(|mask| mask.end <= at).is_some() {}
            let mask = masks.peek().filter(|mask| mask.start <= at).map(|mask| mask.start);
            if mask.is_some() && mask == masking {
                continue;
            }
            if at >= span.start && from.is_none() {
                from = Some(shown.len());
            }
            if at >= span.end && to.is_none() {
                to = Some(shown.len());
            }
            masking = mask;
            match mask {
                Some(_) => shown.extend("***".chars()),
                None if character.is_control() => shown.push(' '),
                None => shown.push(character),
            }
        }
        let from = from.unwrap_or(shown.len());
        let to = to.unwrap_or(shown.len()).max(from + 1);
        cut(&shown, from, to)
    }

    fn masks(&self) -> &[Span] {
        self.masks.get_or_init(|| {
            let mut spans = mask::scan(&self.text);
            spans.extend(self.told.get().into_iter().flatten().cloned());
            mask::merge(spans)
        })
    }

    /// Index of the line that holds the byte `at`.
    fn line_of(&self, at: usize) -> usize {
        self.line_starts.partition_point(|start| *start <= at).saturating_sub(1)
    }

    /// Where a line starts, and its text without the line end.
    fn line(&self, index: usize) -> (usize, &str) {
        let start = self.line_starts.get(index).copied().unwrap_or(self.text.len());
        let end = self.line_starts.get(index + 1).copied().unwrap_or(self.text.len());
        let text = self.text.get(start..end).unwrap_or_default();
        (start, text.trim_end_matches(['\n', '\r']))
    }
}

/// The piece of a long line in which to look for what is meant, and the bytes before it.
fn around(text: &str, at: usize) -> (usize, &str) {
    const BYTES: usize = 1024;
    let from = text.floor_char_boundary(at.saturating_sub(BYTES));
    let to = text.ceil_char_boundary((at + BYTES).min(text.len()));
    (from, text.get(from..to).unwrap_or_default())
}

/// The part of a line around what is meant.
fn cut(shown: &[char], from: usize, to: usize) -> Excerpt {
    if shown.len() <= WIDTH {
        return Excerpt { text: shown.iter().collect(), indent: from, width: to - from };
    }
    let left = from.saturating_sub(WIDTH / 3);
    let right = (left + WIDTH).min(shown.len());
    let piece: String = shown.get(left..right).unwrap_or_default().iter().collect();
    let (before, after) =
        (if left > 0 { "…" } else { "" }, if right < shown.len() { "…" } else { "" });
    let indent = from - left + usize::from(left > 0);
    let width = to.min(right).saturating_sub(from).max(1);
    Excerpt { text: format!("{before}{piece}{after}"), indent, width }
}
