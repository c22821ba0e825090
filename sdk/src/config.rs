//! Reads a check's config from its JSON text, and says what is wrong with it.

use std::fmt;

use serde::de::DeserializeOwned;
use serde_json::error::Category;
use serde_path_to_error::{Path, Segment};

/// What is wrong with a check's config.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigError {
    /// The key's path inside the config: `headers.0.name`; empty for the whole.
    pub path: String,
    /// What is wrong and what would be right.
    pub message: String,
}

impl ConfigError {
    /// Something is wrong with the config as a whole.
    #[must_use]
    pub fn new(message: impl Into<String>) -> Self {
        Self::at("", message)
    }

    /// Something is wrong with one key.
    #[must_use]
    pub fn at(path: impl Into<String>, message: impl Into<String>) -> Self {
        Self { path: path.into(), message: message.into() }
    }
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.path.as_str() {
            "" => f.write_str(&self.message),
            path => write!(f, "{path}: {}", self.message),
        }
    }
}

impl std::error::Error for ConfigError {}

/// Reads a config.
pub(crate) fn parse<C: DeserializeOwned>(text: &str) -> Result<C, ConfigError> {
    // Following the path costs an allocation for each key, so it is done only when it is wanted.
    serde_json::from_str(text).map_err(|error| explain::<C>(text, &error))
}

/// Reads the config once more, now to learn where the error is.
#[cold]
fn explain<C: DeserializeOwned>(text: &str, error: &serde_json::Error) -> ConfigError {
    let message = without_position(error);
    if matches!(error.classify(), Category::Syntax | Category::Eof | Category::Io) {
        return ConfigError::new(format!("is not JSON: {message} (column {})", error.column()));
    }
    let mut json = serde_json::Deserializer::from_str(text);
    let path = match serde_path_to_error::deserialize::<_, C>(&mut json) {
        Err(located) => dotted(located.path()),
        Ok(_) => String::new(),
    };
    let path = path.as_str();
    if let Some(key) = between(&message, "missing field `", "`") {
        return ConfigError::at(join(path, key), "is missing");
    }
    if let Some(key) = between(&message, "unknown field `", "`") {
        let path = if last(path) == key { path.to_owned() } else { join(path, key) };
        return ConfigError::at(path, format!("is not a key here; {}", nearest(&message, key)));
    }
    if let Some(word) = between(&message, "unknown variant `", "`") {
        let choice = nearest(&message, word);
        return ConfigError::at(path, format!("{word:?} is not a choice; {choice}"));
    }
    ConfigError::at(path, message)
}

/// The path as the contract spells it: `steps.0.name`.
fn dotted(path: &Path) -> String {
    path.iter().fold(String::new(), |path, segment| match segment {
        Segment::Seq { index } => join(&path, &index.to_string()),
        Segment::Map { key } => join(&path, key),
        Segment::Enum { .. } | Segment::Unknown => path,
    })
}

/// The message without ` at line 1 column 7`, which says nothing to whoever wrote TOML.
fn without_position(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let position = format!(" at line {} column {}", error.line(), error.column());
    text.strip_suffix(&position).unwrap_or(&text).to_owned()
}

/// The last part of a path.
fn last(path: &str) -> &str {
    path.rsplit('.').next().unwrap_or(path)
}

fn join(path: &str, key: &str) -> String {
    if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") }
}

fn between<'a>(text: &'a str, start: &str, end: &str) -> Option<&'a str> {
    Some(text.strip_prefix(start)?.split_once(end)?.0)
}

/// Names the known word that is most like `word`, or all of them when none is.
fn nearest(message: &str, word: &str) -> String {
    let known = match message.split_once(", expected ") {
        // Every second piece stands between backquotes.
        Some((_, list)) => list.split('`').skip(1).step_by(2).collect(),
        None => Vec::new(),
    };
    let close = known.iter().map(|candidate| (distance(word, candidate), candidate)).min();
    match close {
        Some((distance, candidate)) if distance <= candidate.len().max(word.len()) / 3 + 1 => {
            format!("did you mean `{candidate}`?")
        }
        Some(_) => format!("there are: {}", known.join(", ")),
        None => "there is none".to_owned(),
    }
}

/// How many letters have to be changed, added or dropped to get from one word to the other.
fn distance(from: &str, to: &str) -> usize {
    let mut row: Vec<usize> = (0..=to.len()).collect();
    for (line, a) in from.bytes().enumerate() {
        let mut diagonal = line;
        let mut left = line + 1;
        if let Some(first) = row.first_mut() {
            *first = left;
        }
        for (cell, b) in row.iter_mut().skip(1).zip(to.bytes()) {
            let best = (*cell + 1).min(left + 1).min(diagonal + usize::from(a != b));
            diagonal = std::mem::replace(cell, best);
            left = best;
        }
    }
    row.last().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{HeaderValue, Headers, Url};

    #[crate::config]
    #[derive(Debug)]
    #[allow(dead_code, reason = "only the reading is tested")]
    struct Config {
        url: Url,
        #[serde(default)]
        headers: Headers,
        #[serde(default)]
        redirects: u8,
        mode: Option<Mode>,
        #[serde(default)]
        steps: Vec<Step>,
    }

    #[crate::config]
    #[derive(Debug)]
    #[allow(dead_code, reason = "only the reading is tested")]
    struct Step {
        name: String,
    }

    #[crate::config]
    #[derive(Debug)]
    #[serde(rename_all = "kebab-case")]
    enum Mode {
        Fast,
        Thorough,
    }

    /// P2: each mistake is named with the path of its key and what would be right.
    #[test]
    fn mistakes_are_named_with_path_and_remedy() {
        let rows = [
            ("{", "is not JSON: EOF while parsing an object (column 1)"),
            (r#"{"url":"#, "is not JSON: EOF while parsing a value (column 7)"),
            ("7", "invalid type: integer `7`, expected struct Config"),
            ("{}", "url: is missing"),
            (r#"{"ulr": "http://a"}"#, "ulr: is not a key here; did you mean `url`?"),
            (
                r#"{"zzzzz": 1}"#,
                "zzzzz: is not a key here; there are: url, headers, redirects, mode, steps",
            ),
            (
                r#"{"url": "http://a", "redirects": -1}"#,
                "redirects: invalid value: integer `-1`, expected u8",
            ),
            (
                r#"{"url": "http://a", "redirects": "2"}"#,
                "redirects: invalid type: string \"2\", expected u8",
            ),
            (
                r#"{"url": "http://a", "mode": "through"}"#,
                "mode: \"through\" is not a choice; did you mean `thorough`?",
            ),
            (r#"{"url": "http://a", "steps": [{"name": "a"}, {}]}"#, "steps.1.name: is missing"),
            (
                r#"{"url": "http://a", "steps": [{"name": "a", "nmae": "b"}]}"#,
                "steps.0.nmae: is not a key here; did you mean `name`?",
            ),
            (r#"{"url": "example.com"}"#, "url: must begin with http:// or https://"),
            (
                r#"{"url": "http://a", "headers": {"a b": "c"}}"#,
                "headers.a b: is not a header's name: letters, digits and hyphens",
            ),
        ];
        for (text, message) in rows {
            let error = parse::<Config>(text).unwrap_err();
            assert_eq!(error.to_string(), message, "{text}");
        }
    }

    #[test]
    fn a_good_config_is_read() {
        let text = r#"{"url": "http://a", "mode": "fast", "headers": {"Accept": "*/*"}}"#;
        let config: Config = parse(text).unwrap();
        assert_eq!(config.url.as_str(), "http://a/");
        let accept = HeaderValue::Text("*/*".to_owned());
        assert_eq!(config.headers.iter().collect::<Vec<_>>(), [("Accept", &accept)]);
    }

    /// M6: a header's value can be a secret, by its name.
    #[test]
    fn a_header_can_be_a_secret() {
        let text = r#"{"url": "http://a",
            "headers": {"Authorization": {"secret": "api-key", "prefix": "Bearer "}}}"#;
        let config: Config = parse(text).unwrap();
        let value =
            HeaderValue::Secret { prefix: "Bearer ".to_owned(), name: "api-key".to_owned() };
        assert_eq!(config.headers.iter().collect::<Vec<_>>(), [("Authorization", &value)]);
        let text = r#"{"url": "http://a", "headers": {"A": {"secert": "api-key"}}}"#;
        let error = parse::<Config>(text).unwrap_err().to_string();
        assert_eq!(error, "headers.A.secert: is not a key here; did you mean `secret`?");
    }

    #[test]
    fn distances_are_those_of_levenshtein() {
        for (from, to, expected) in [
            ("", "", 0),
            ("", "abc", 3),
            ("abc", "", 3),
            ("kitten", "sitting", 3),
            ("ulr", "url", 2),
        ] {
            assert_eq!(distance(from, to), expected, "{from} {to}");
        }
    }
}
