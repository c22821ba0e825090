//! A look at the nesting before the file is parsed: parser and tree are recursive, and a
//! dotted key nests as deep as an opening bracket does, so each of the parser's own limits
//! can be multiplied by the other.

use toml_parser::lexer::TokenKind;

use crate::span::Span;

/// How deep one statement can nest. The header above it adds at most 80 levels.
const DEEPEST: usize = 64;

/// The first place that nests deeper than is allowed.
pub(crate) fn too_deep(text: &str) -> Option<Span> {
    // The level inside of each bracket that is open.
    let mut open: Vec<usize> = Vec::new();
    let mut level = 0;
    for token in toml_parser::Source::new(text).lex() {
        match token.kind() {
            TokenKind::Dot => level += 1,
            TokenKind::LeftSquareBracket | TokenKind::LeftCurlyBracket => {
                level += 1;
                open.push(level);
            }
            TokenKind::RightSquareBracket | TokenKind::RightCurlyBracket => {
                level = open.pop().map_or(0, |inside| inside - 1);
            }
            // The next value or statement begins.
            TokenKind::Comma | TokenKind::Newline => level = open.last().copied().unwrap_or(0),
            _ => {}
        }
        if level > DEEPEST {
            return Some(token.span().start()..token.span().end());
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dots_and_brackets_add_up_and_end() {
        let dots = "a.".repeat(40);
        assert_eq!(too_deep(&format!("{dots}a = {{ {dots}b = 1 }}")).map(|s| s.start), Some(133));
        assert_eq!(too_deep(&format!("a = [{}]", "1.5, ".repeat(500))), None);
        assert_eq!(too_deep(&format!("a = [{}]", "{ a.b = 1.5 },\n".repeat(500))), None);
        assert_eq!(too_deep(&"a.b.c = 1\n".repeat(500)), None);
        assert_eq!(too_deep(&"[[a.b]]\nc = \"....[[[[\"\n".repeat(500)), None);
    }
}
