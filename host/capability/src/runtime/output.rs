//! The last line of what a command writes, with nothing of its secrets in it.

use crate::secrets::Secret;

/// Most bytes of a line that are kept; a longer one is cut. Far more than is ever shown.
const MAX_LINE: usize = 8 << 10;

/// What stands for a secret.
const MASK: &str = "***";

/// The last line that is not blank, of a stream that goes by.
#[derive(Debug, Default)]
pub(super) struct LastLine {
    /// The last one that has ended.
    ended: Line,
    /// The one that has not.
    open: Line,
}

/// A line, as far as it is kept.
#[derive(Debug, Default)]
pub(super) struct Line {
    bytes: Vec<u8>,
    cut: bool,
}

impl LastLine {
    pub(super) fn push(&mut self, bytes: &[u8]) {
        for byte in bytes {
            match byte {
                b'\n' if self.open.is_blank() => self.open = Line::default(),
                b'\n' => self.ended = std::mem::take(&mut self.open),
                byte if self.open.bytes.len() < MAX_LINE => self.open.bytes.push(*byte),
                _ => self.open.cut = true,
            }
        }
    }

    /// None: there is none.
    pub(super) fn get(&self) -> Option<&Line> {
        [&self.open, &self.ended].into_iter().find(|line| !line.is_blank())
    }
}

impl Line {
    fn is_blank(&self) -> bool {
        self.bytes.trim_ascii().is_empty()
    }
}

/// The text of a line, with [`MASK`] for each secret, and for each line of one that has several.
pub(super) fn mask(line: &Line, secrets: &[Secret]) -> String {
    let mut hidden: Vec<&str> = Vec::new();
    for secret in secrets {
        hidden.push(secret.expose().trim());
        hidden.extend(secret.expose().lines().map(str::trim));
    }
    hidden.retain(|text| !text.is_empty());
    // The longest first: one may be a part of another.
    hidden.sort_by_key(|text| std::cmp::Reverse(text.len()));
    // Where the line was cut, the half of a secret may stand.
    let unsure = hidden.first().filter(|_| line.cut).map_or(0, |text| text.len() - 1);
    let sure = line.bytes.len().saturating_sub(unsure);
    let bytes = line.bytes.get(..sure).unwrap_or_default();
    let mut text = String::from_utf8_lossy(bytes).trim().to_owned();
    for secret in hidden {
        text = text.replace(secret, MASK);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(written: &[u8], secrets: &[&str]) -> String {
        let secrets: Vec<Secret> = secrets.iter().map(|text| Secret::new(text)).collect();
        let mut line = LastLine::default();
        // However it is cut into pieces.
        for piece in written.chunks(3) {
            line.push(piece);
        }
        line.get().map(|line| mask(line, &secrets)).unwrap_or_default()
    }

    #[test]
    fn the_last_line_that_is_not_blank() {
        for (written, wanted) in [
            ("", ""),
            ("\n \n", ""),
            ("one", "one"),
            ("one\ntwo\n", "two"),
            ("one\ntwo\n\n \r\n", "two"),
            ("one\r\ntwo", "two"),
        ] {
            assert_eq!(shown(written.as_bytes(), &[]), wanted, "{written:?}");
        }
        assert_eq!(shown(b"\xff!", &[]), "\u{fffd}!");
    }

    /// L9: an error shows no secret.
    #[test]
    fn secrets_are_masked() {
        let secrets = ["hunter2", "hunter2-long", "", "-----BEGIN-----\nAAAA\nBBBB\n"];
        for (written, wanted) in [
            ("login with hunter2 failed: hunter2", "login with *** failed: ***"),
            ("key hunter2-long", "key ***"),
            ("bad key\n BBBB", "***"),
            ("nothing to hide", "nothing to hide"),
        ] {
            assert_eq!(shown(written.as_bytes(), &secrets), wanted, "{written:?}");
        }
    }

    /// L9: a line is cut, and never through a secret.
    #[test]
    fn a_long_line_is_cut() {
        let long = "x".repeat(MAX_LINE - 4) + "hunter2";
        assert_eq!(shown(long.as_bytes(), &[]).len(), MAX_LINE);
        let text = shown(long.as_bytes(), &["hunter2"]);
        assert!(text.len() == MAX_LINE - 6 && !text.contains('h'), "{}", text.len());
    }
}
