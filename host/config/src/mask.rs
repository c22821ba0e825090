//! What in the file may be a secret, so that no error shows it.
//!
//! Two looks are taken: one at the bare text, which also works when the TOML is broken, and
//! one at the parsed tree, which knows what belongs together. Hiding too much is no harm.

use toml::de::{DeTable, DeValue};

use crate::span::Span;

/// A key or a word that has one of these in it, with case, `-` and `_` left aside, names a secret.
const WORDS: [&str; 13] = [
    "password",
    "passwd",
    "passphrase",
    "token",
    "secret",
    "authorization",
    "apikey",
    "privatekey",
    "credential",
    "cookie",
    "bearer",
    "accesskey",
    "signingkey",
];

/// Whether a key of that name holds a secret.
pub(crate) fn names_secret(key: &str) -> bool {
    let plain: String =
        key.chars().filter(|c| !matches!(c, '-' | '_')).map(|c| c.to_ascii_lowercase()).collect();
    WORDS.iter().any(|word| plain.contains(word))
}

/// In ascending order, without overlap.
pub(crate) fn merge(mut spans: Vec<Span>) -> Vec<Span> {
    spans.retain(|span| !span.is_empty());
    spans.sort_by_key(|span| span.start);
    let mut merged: Vec<Span> = Vec::with_capacity(spans.len());
    for span in spans {
        match merged.last_mut() {
            Some(last) if span.start <= last.end => last.end = last.end.max(span.end),
            _ => merged.push(span),
        }
    }
    merged
}

/// The text with `***` for what may be a secret in it.
pub(crate) fn hide(text: &str) -> String {
    let mut hidden = text.to_owned();
    for span in merge(scan(text)).into_iter().rev() {
        hidden.replace_range(span, "***");
    }
    hidden
}

/// Values in the tree that stand under a secret's name, or beside it as in
/// `{ name = "x-api-key", value = "…" }`.
pub(crate) fn in_tree(table: &DeTable<'_>, spans: &mut Vec<Span>) {
    let named = table.iter().any(|(key, value)| {
        matches!(key.get_ref().as_ref(), "name" | "header" | "key")
            && value.get_ref().as_str().is_some_and(names_secret)
    });
    for (key, value) in table {
        if names_secret(key.get_ref()) || (named && key.get_ref() == "value") {
            leaves(value.get_ref(), value.span(), spans);
        } else {
            in_value(value.get_ref(), spans);
        }
    }
}

/// The database's URL where it may have a password in it, however its beginning is written.
pub(crate) fn database_url(table: &DeTable<'_>, spans: &mut Vec<Span>) {
    let url = table.get("store").and_then(|store| store.get_ref().get("url"));
    if let Some(url) = url
        && url.get_ref().as_str().is_none_or(|text| text.contains(['@', '?']))
    {
        spans.push(url.span());
    }
}

/// The URLs of sinks: who knows one can write there.
pub(crate) fn sink_urls(table: &DeTable<'_>, spans: &mut Vec<Span>) {
    let sinks = table.get("notify").and_then(|notify| notify.get_ref().get("sinks"));
    for sink in
        sinks.and_then(|sinks| sinks.get_ref().as_table()).into_iter().flat_map(DeTable::values)
    {
        if let Some(url) = sink.get_ref().get("url") {
            leaves(url.get_ref(), url.span(), spans);
        }
    }
}

fn in_value(value: &DeValue<'_>, spans: &mut Vec<Span>) {
    match value {
        DeValue::Table(table) => in_tree(table, spans),
        DeValue::Array(items) => items.iter().for_each(|item| in_value(item.get_ref(), spans)),
        _ => {}
    }
}

/// Every plain value below. The span of a table can be that of its header, which is no secret.
fn leaves(value: &DeValue<'_>, span: Span, spans: &mut Vec<Span>) {
    match value {
        DeValue::Table(table) => {
            table.values().for_each(|value| leaves(value.get_ref(), value.span(), spans));
        }
        DeValue::Array(items) => {
            items.iter().for_each(|item| leaves(item.get_ref(), item.span(), spans));
        }
        _ => spans.push(span),
    }
}

/// What looks like a secret in the bare text: `password = "…"`, `?token=…`, `Bearer …`,
/// and the user part of a URL.
pub(crate) fn scan(text: &str) -> Vec<Span> {
    let mut spans = Vec::new();
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        user_parts(line, at, &mut spans);
        webhooks(line, at, &mut spans);
        // What a value over several lines has already covered needs no second look.
        let covered = spans.iter().rev().take(2).map(|span: &Span| span.end).max().unwrap_or(0);
        if covered < at + line.len() {
            named_values(text, line, at, &mut spans);
        }
        at += line.len();
    }
    spans
}

/// `https://user:password@host`: what stands between `//` and the last `@` of the string.
fn user_parts(line: &str, line_start: usize, spans: &mut Vec<Span>) {
    let mut from = 0;
    while let Some(found) = line.get(from..).and_then(|rest| rest.find("://")) {
        let start = from + found + 3;
        let end = start + closing(line.get(start..).unwrap_or_default(), '"');
        let inside = line.get(start..end).unwrap_or_default();
        if let Some(last) = inside.rfind('@') {
            spans.push(line_start + start..line_start + start + last);
        }
        from = end.max(start);
    }
}

/// The path of a webhook's URL, for a file whose tables can't be made out.
fn webhooks(line: &str, line_start: usize, spans: &mut Vec<Span>) {
    for mark in ["/webhooks/", "hooks.slack.com/"] {
        if let Some(found) = line.find(mark) {
            let start = found + mark.len();
            let end = start + closing(line.get(start..).unwrap_or_default(), '"');
            spans.push(line_start + start..line_start + end);
        }
    }
}

/// The values that follow a secret's name in a line.
fn named_values(text: &str, line: &str, line_start: usize, spans: &mut Vec<Span>) {
    let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    let mut from = 0;
    while let Some(rest) = line.get(from..).filter(|rest| !rest.is_empty()) {
        let Some(skip) = rest.find(is_name) else { return };
        let word = rest.get(skip..).unwrap_or_default();
        let length = word.find(|c| !is_name(c)).unwrap_or(word.len());
        let name_end = from + skip + length;
        from = name_end;
        let name = word.get(..length).unwrap_or_default();
        if !names_secret(name) {
            continue;
        }
        let after = line.get(name_end..).unwrap_or_default();
        // No key is so long, and a line can be.
        let reach = after.floor_char_boundary(after.len().min(256));
        let near = after.get(..reach).unwrap_or_default();
        let value = if name.eq_ignore_ascii_case("bearer") {
            Some(after)
        } else {
            // The rest of a dotted key, and the quote of a quoted one, come before the sign.
            near.find(|c: char| !(is_name(c) || c.is_whitespace() || matches!(c, '.' | '"' | '\'')))
                .and_then(|sign| after.get(sign..)?.strip_prefix(['=', ':']))
        };
        if let Some(value) = value {
            let value = value.trim_start_matches([' ', '\t']);
            let start = line_start + line.len() - value.len();
            let length = value_length(text.get(start..).unwrap_or_default());
            spans.push(start..start + length);
            from = (start + length).saturating_sub(line_start).max(name_end);
        }
    }
}

/// How far the value at the start of `text` reaches.
fn value_length(text: &str) -> usize {
    for fence in ["\"\"\"", "'''"] {
        if let Some(body) = text.strip_prefix(fence) {
            return body.find(fence).map_or(text.len(), |end| end + 2 * fence.len());
        }
    }
    match text.chars().next() {
        Some(quote @ ('"' | '\'')) => {
            let body = text.get(1..).unwrap_or_default();
            (1 + closing(body, quote) + 1).min(1 + line_length(body))
        }
        Some('[' | '{') => {
            let mut depth = 0_usize;
            for (at, c) in text.char_indices() {
                match c {
                    '[' | '{' => depth += 1,
                    ']' | '}' => depth = depth.saturating_sub(1),
                    _ => {}
                }
                if depth == 0 {
                    return at + 1;
                }
            }
            text.len()
        }
        _ => text.find(['"', '\'', '&', '\n', '\r']).unwrap_or(text.len()),
    }
}

fn line_length(text: &str) -> usize {
    text.find(['\n', '\r']).unwrap_or(text.len())
}

/// Bytes up to the quote that is not escaped, or to the end of the line.
fn closing(text: &str, quote: char) -> usize {
    let mut escaped = false;
    for (at, c) in text.char_indices() {
        if matches!(c, '\n' | '\r') || (c == quote && !escaped) {
            return at;
        }
        escaped = c == '\\' && !escaped && quote == '"';
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_in_bare_text_are_found_and_the_rest_stays() {
        for (text, shown) in [
            (r#"url = "https://me:pw@host/x""#, r#"url = "https://***@host/x""#),
            (r#"url = "https://me:p w\"x@host", a = 1"#, r#"url = "https://***@host", a = 1"#),
            (r#"u = ["https://a/b", "ssh://me@h"]"#, r#"u = ["https://a/b", "ssh://***@h"]"#),
            (r#"password = "hunter2" # why"#, "password = *** # why"),
            ("password = \"hunter2", "password = ***"),
            ("api_key = 'x'\nb = 1", "api_key = ***\nb = 1"),
            ("auth.password.text = \"x\"", "auth.password.text = ***"),
            (r#"h = { "X-Api-Key" = "k", a = 1 }"#, r#"h = { "X-Api-Key" = ***, a = 1 }"#),
            ("secret = \"\"\"\nline\n\"\"\"\na = 1", "secret = ***\na = 1"),
            ("tokens = [\n 'a',\n 'b' ]\na = 1", "tokens = ***\na = 1"),
            (r#"u = "http://h/?token=abc&b=1""#, r#"u = "http://h/?token=***&b=1""#),
            (r#"h = "Authorization: Bearer abc d""#, r#"h = "Authorization: ***""#),
            (r#"value = "Bearer abc""#, r#"value = "Bearer ***""#),
            (
                r#"url = "https://discord.com/api/webhooks/1/x""#,
                r#"url = "https://discord.com/api/webhooks/***""#,
            ),
            ("timeout = -1", "timeout = -1"),
        ] {
            assert_eq!(hide(text), shown);
        }
    }

    #[test]
    fn secrets_in_the_tree_are_found() {
        let text = "[[h]]\nname = 'x-api-key'\nvalue = 'k'\n[password]\ntext = 'w'\nn = [1]\n";
        let mut spans = Vec::new();
        in_tree(DeTable::parse(text).unwrap().get_ref(), &mut spans);
        let found: Vec<_> = merge(spans).into_iter().map(|span| &text[span]).collect();
        assert_eq!(found, ["'k'", "'w'", "1"]);
    }
}
