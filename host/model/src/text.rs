//! Text that came from outside, made fit for people, logs and the store.

use std::fmt::Write as _;

/// Longest message that is kept, in bytes (contract P8).
pub const MAX_MESSAGE_BYTES: usize = 512;

/// Escapes control characters and cuts the text at [`MAX_MESSAGE_BYTES`] bytes, at a
/// character boundary, with `…` at the end of what was cut (contract P8).
///
/// Besides the control characters of Unicode, those that reorder or hide text
/// (bidirectional marks, zero-width characters, line separators) are escaped too:
/// a message is read by people who decide by it.
#[must_use]
pub fn sanitize(text: &str) -> String {
    const ELLIPSIS: char = '…';
    let mut clean = String::with_capacity(text.len().min(MAX_MESSAGE_BYTES));
    // Where the text can be cut so that the ellipsis still fits.
    let mut cut = 0;
    let mut piece = String::new();
    for character in text.chars() {
        piece.clear();
        match character {
            '\n' => piece.push_str("\\n"),
            '\r' => piece.push_str("\\r"),
            '\t' => piece.push_str("\\t"),
            hidden if is_hidden(hidden) => {
                // Writing to a String cannot fail.
                let _ = write!(piece, "\\u{{{:x}}}", u32::from(hidden));
            }
            plain => piece.push(plain),
        }
        if clean.len() + piece.len() > MAX_MESSAGE_BYTES {
            clean.truncate(cut);
            clean.push(ELLIPSIS);
            return clean;
        }
        clean.push_str(&piece);
        if clean.len() + ELLIPSIS.len_utf8() <= MAX_MESSAGE_BYTES {
            cut = clean.len();
        }
    }
    clean
}

fn is_hidden(character: char) -> bool {
    character.is_control()
        || matches!(
            character,
            '\u{ad}'
                | '\u{61c}'
                | '\u{200b}'..='\u{200f}'
                | '\u{2028}'..='\u{202e}'
                | '\u{2060}'..='\u{206f}'
                | '\u{feff}'
                | '\u{fff9}'..='\u{fffb}'
                | '\u{e0000}'..='\u{e007f}'
        )
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// P8: control characters are escaped.
    #[test]
    fn escapes_what_people_cannot_see() {
        assert_eq!(sanitize("a\nb\r\t\u{1b}[31m"), "a\\nb\\r\\t\\u{1b}[31m");
        assert_eq!(sanitize("left\u{202e}right"), "left\\u{202e}right");
        assert_eq!(sanitize("Größe ✓"), "Größe ✓");
    }

    proptest! {
        /// P8: never over 512 bytes, never a control character, whole when it fits.
        #[test]
        fn is_short_and_clean(text in ".{0,400}", tail in proptest::collection::vec(any::<char>(), 0..400)) {
            let text = text + &tail.into_iter().collect::<String>();
            let clean = sanitize(&text);
            prop_assert!(clean.len() <= MAX_MESSAGE_BYTES);
            prop_assert!(!clean.chars().any(is_hidden));
            if text.len() <= MAX_MESSAGE_BYTES && !text.chars().any(is_hidden) {
                prop_assert_eq!(clean, text);
            }
        }
    }
}
