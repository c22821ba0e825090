//! The log lines of one run, bounded (contract G4).

use std::time::Duration;

use probehost_model::sanitize;

/// Most lines that are kept of a run.
pub const MAX_LINES: usize = 64;
/// Longest line, in bytes; a longer one is cut.
pub const MAX_LINE_BYTES: usize = 1024;
/// Most bytes that are kept of a run, all lines together.
pub const MAX_BYTES: usize = 16 * 1024;

/// How much a line matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// For the plugin's author.
    Debug,
    /// For the operator.
    Info,
    /// Something that should not be so.
    Warn,
}

impl Level {
    /// `debug`, `info` or `warn`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Debug => "debug",
            Self::Info => "info",
            Self::Warn => "warn",
        }
    }
}

/// Where a line came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// The log capability.
    Log,
    /// Standard output.
    Stdout,
    /// Standard error: a panic's text, mostly.
    Stderr,
}

/// One line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// Since the run began.
    pub at: Duration,
    /// What the plugin said, or `info` for standard output and `warn` for standard error.
    pub level: Level,
    /// Where it came from.
    pub source: Source,
    /// Fit for people: no control characters, at most [`MAX_LINE_BYTES`].
    pub text: String,
}

/// The lines of one run.
#[derive(Debug, Default)]
pub(crate) struct Book {
    lines: Vec<Line>,
    bytes: usize,
    dropped: u64,
    stdout: Vec<u8>,
    stderr: Vec<u8>,
}

impl Book {
    /// Takes one line, or drops and counts it.
    pub(crate) fn write(&mut self, at: Duration, level: Level, source: Source, text: &str) {
        if self.lines.len() >= MAX_LINES {
            self.dropped += 1;
            return;
        }
        let text = clean(text);
        if self.bytes + text.len() > MAX_BYTES {
            self.dropped += 1;
            return;
        }
        self.bytes += text.len();
        self.lines.push(Line { at, level, source, text });
    }

    /// Takes bytes of standard output or error, in whatever pieces they come.
    pub(crate) fn output(&mut self, at: Duration, source: Source, bytes: &[u8]) {
        let mut pieces = bytes.split(|byte| *byte == b'\n');
        // `split` gives at least one piece; the last one is not followed by a line feed.
        let Some(last) = pieces.next_back() else { return };
        for piece in pieces {
            self.gather(source, piece);
            self.end_line(at, source);
        }
        self.gather(source, last);
    }

    /// The lines, and how many were dropped.
    pub(crate) fn close(mut self, at: Duration) -> (Vec<Line>, u64) {
        for source in [Source::Stdout, Source::Stderr] {
            if !self.rest(source).is_empty() {
                self.end_line(at, source);
            }
        }
        (self.lines, self.dropped)
    }

    fn rest(&mut self, source: Source) -> &mut Vec<u8> {
        match source {
            Source::Stderr => &mut self.stderr,
            Source::Stdout | Source::Log => &mut self.stdout,
        }
    }

    /// Keeps the begin of a line, as much as can be shown.
    fn gather(&mut self, source: Source, piece: &[u8]) {
        let rest = self.rest(source);
        // One byte more than fits, so that a cut line shows as cut.
        let room = (MAX_LINE_BYTES + 1).saturating_sub(rest.len());
        rest.extend(piece.iter().take(room));
    }

    fn end_line(&mut self, at: Duration, source: Source) {
        let line = std::mem::take(self.rest(source));
        let text = String::from_utf8_lossy(&line);
        let level = if source == Source::Stderr { Level::Warn } else { Level::Info };
        self.write(at, level, source, text.strip_suffix('\r').unwrap_or(&text));
    }
}

/// Escapes by the rules of [`sanitize`], and cuts at [`MAX_LINE_BYTES`].
fn clean(text: &str) -> String {
    // Pieces of 48 bytes stay below the length at which `sanitize` cuts, whatever is in them.
    const PIECE: usize = 48;
    const ELLIPSIS: char = '…';
    let mut clean = String::with_capacity(text.len().min(MAX_LINE_BYTES));
    let mut rest = text;
    while !rest.is_empty() && clean.len() <= MAX_LINE_BYTES {
        let (piece, after) =
            rest.split_at_checked(floor_boundary(rest, PIECE)).unwrap_or((rest, ""));
        clean.push_str(&sanitize(piece));
        rest = after;
    }
    if clean.len() > MAX_LINE_BYTES {
        clean.truncate(floor_boundary(&clean, MAX_LINE_BYTES - ELLIPSIS.len_utf8()));
        clean.push(ELLIPSIS);
    }
    clean
}

/// The last character boundary at or before `at`.
fn floor_boundary(text: &str, at: usize) -> usize {
    (0..=at.min(text.len())).rev().find(|index| text.is_char_boundary(*index)).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(book: Book) -> (Vec<String>, u64) {
        let (lines, dropped) = book.close(Duration::ZERO);
        (lines.into_iter().map(|line| line.text).collect(), dropped)
    }

    /// G4: 64 lines; what is over is counted.
    #[test]
    fn keeps_64_lines_and_counts_the_rest() {
        let mut book = Book::default();
        for n in 0..100_000 {
            book.write(Duration::ZERO, Level::Info, Source::Log, &n.to_string());
        }
        let (lines, dropped) = lines(book);
        assert_eq!(lines.len(), 64);
        assert_eq!(lines[63], "63");
        assert_eq!(dropped, 100_000 - 64);
    }

    /// G4: a long line is cut, and all lines together are bounded.
    #[test]
    fn keeps_1024_bytes_of_a_line_and_16_kib_of_all() {
        let mut book = Book::default();
        for _ in 0..20 {
            book.write(Duration::ZERO, Level::Info, Source::Log, &"ä".repeat(5_000));
        }
        let (lines, dropped) = lines(book);
        assert!(lines.iter().all(|line| line.len() <= MAX_LINE_BYTES && line.ends_with('…')));
        assert!(lines.iter().map(String::len).sum::<usize>() <= MAX_BYTES);
        assert_eq!(lines.len() as u64 + dropped, 20);
        assert!(lines.len() >= 15);
    }

    /// P8: control characters are escaped, in long lines too.
    #[test]
    fn escapes_control_characters() {
        let mut book = Book::default();
        book.write(Duration::ZERO, Level::Warn, Source::Log, "a\u{1b}[2Jb\nc");
        book.write(Duration::ZERO, Level::Warn, Source::Log, &"\u{e0001}".repeat(1_000));
        let (lines, _) = lines(book);
        assert_eq!(lines[0], "a\\u{1b}[2Jb\\nc");
        assert!(lines[1].is_ascii() || lines[1].ends_with('…'));
        assert!(lines[1].starts_with("\\u{e0001}\\u{e0001}"));
    }

    /// Output comes in pieces that know nothing of lines or characters.
    #[test]
    fn joins_pieces_of_output_into_lines() {
        let mut book = Book::default();
        for piece in
            [&b"thread 'main' "[..], b"panicked at \xc3", b"\xa4\r\nsecond", b"\n", b"rest"]
        {
            book.output(Duration::ZERO, Source::Stderr, piece);
        }
        book.output(Duration::ZERO, Source::Stdout, b"out \xff");
        let (lines, _) = book.close(Duration::ZERO);
        let shown: Vec<_> =
            lines.iter().map(|line| (line.source, line.level, line.text.as_str())).collect();
        assert_eq!(
            shown,
            [
                (Source::Stderr, Level::Warn, "thread 'main' panicked at ä"),
                (Source::Stderr, Level::Warn, "second"),
                (Source::Stdout, Level::Info, "out \u{fffd}"),
                (Source::Stderr, Level::Warn, "rest"),
            ]
        );
    }

    /// G4: a flood without a line feed takes no memory.
    #[test]
    fn a_line_without_end_is_bounded() {
        let mut book = Book::default();
        for _ in 0..1_000 {
            book.output(Duration::ZERO, Source::Stdout, &[b'x'; 4_096]);
        }
        assert!(book.stdout.capacity() <= 4 * MAX_LINE_BYTES);
        let (lines, _) = lines(book);
        assert_eq!(lines.len(), 1);
        assert_eq!(lines[0].len(), MAX_LINE_BYTES);
    }
}
