//! A check's config: from TOML to the JSON that plugins read, with the place of every part.

use std::fmt::Write as _;

use serde_json::{Map, Number, Value};
use toml::de::DeValue;

use crate::problem::Problem;
use crate::span::Span;
use crate::walk::{Item, KeyPath, Reader, integer, write_key};

/// Where a value stands, and where its parts do.
#[derive(Debug, Clone)]
pub(crate) struct Node {
    span: Span,
    parts: Parts,
}

#[derive(Debug, Clone)]
enum Parts {
    None,
    List(Vec<Node>),
    /// In ascending order of key, with the place of the key.
    Table(Vec<(String, Span, Node)>),
}

/// One step into a JSON value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Step {
    Key(String),
    Index(usize),
}

impl Node {
    pub(crate) const fn leaf(span: Span) -> Self {
        Self { span, parts: Parts::None }
    }

    /// The place of what the steps lead to: of its key when `at_key`, and of the last thing
    /// that is there when they lead further than the file goes.
    pub(crate) fn find(&self, steps: &[Step], at_key: bool) -> Span {
        let mut node = self;
        let mut found = node.span.clone();
        for step in steps {
            let next = match (step, &node.parts) {
                (Step::Index(index), Parts::List(items)) => {
                    items.get(*index).map(|item| (item.span.clone(), item))
                }
                (Step::Key(key), Parts::Table(entries)) => entries
                    .binary_search_by(|(entry, ..)| entry.as_str().cmp(key))
                    .ok()
                    .and_then(|at| entries.get(at))
                    .map(|(_, span, item)| {
                        (if at_key { span.clone() } else { item.span.clone() }, item)
                    }),
                _ => None,
            };
            let Some((span, item)) = next else { break };
            found = span;
            node = item;
        }
        found
    }
}

/// Adds the steps to a key path: `config` becomes `config.headers[0].name`.
pub(crate) fn join(mut path: String, steps: &[Step]) -> String {
    for step in steps {
        // Writing to a String cannot fail.
        let _ = match step {
            Step::Index(index) => write!(path, "[{index}]"),
            Step::Key(key) => {
                path.push('.');
                write_key(&mut path, key)
            }
        };
    }
    path
}

/// A JSON pointer of the steps: `/headers/0/name`.
pub(crate) fn pointer(steps: &[Step]) -> String {
    let mut pointer = String::new();
    for step in steps {
        pointer.push('/');
        match step {
            Step::Index(index) => pointer.push_str(&index.to_string()),
            Step::Key(key) => pointer.push_str(&key.replace('~', "~0").replace('/', "~1")),
        }
    }
    pointer
}

/// The steps of a path as [`join`] and the reader of the file write it: bare keys, keys in
/// quotes, and indexes in brackets.
pub(crate) fn parse_key(mut rest: &str) -> Vec<Step> {
    let mut steps = Vec::new();
    while !rest.is_empty() {
        rest = rest.strip_prefix('.').unwrap_or(rest);
        if let Some((quoted, tail)) = rest.strip_prefix('"').and_then(|rest| rest.split_once('"')) {
            steps.push(Step::Key(quoted.to_owned()));
            rest = tail;
        } else if let Some((index, tail)) =
            rest.strip_prefix('[').and_then(|rest| rest.split_once(']'))
        {
            steps.extend(index.parse().map(Step::Index));
            rest = tail;
        } else {
            // An odd character alone is a key too, so that there is an end.
            let end = rest.char_indices().skip(1).find(|(_, c)| matches!(c, '.' | '['));
            let (key, tail) = rest.split_at(end.map_or(rest.len(), |(at, _)| at));
            steps.push(Step::Key(key.to_owned()));
            rest = tail;
        }
    }
    steps
}

/// The steps of a path as plugins write it: `headers[0].name`, `headers.0.name`,
/// `/headers/0/name`, with or without `config.` or `$.` before it.
pub(crate) fn parse_path(path: &str) -> Vec<Step> {
    let step = |piece: &str| match piece.parse() {
        Ok(index) => Step::Index(index),
        Err(_) => Step::Key(piece.to_owned()),
    };
    if let Some(pointer) = path.strip_prefix('/') {
        return pointer
            .split('/')
            .map(|p| step(&p.replace("~1", "/").replace("~0", "~")))
            .collect();
    }
    let pieces = path.split(['.', '[', ']']).filter(|piece| !piece.is_empty() && *piece != "$");
    pieces
        .enumerate()
        .filter(|(at, piece)| *at > 0 || *piece != "config")
        .map(|(_, piece)| step(piece.trim_matches(['"', '\''])))
        .collect()
}

/// The JSON of a value. What JSON can't hold is reported and left out.
pub(crate) fn convert(
    reader: &mut Reader<'_>,
    item: &Item<'_>,
    path: KeyPath<'_>,
) -> (Value, Node) {
    let span = item.span();
    let value = match item.get_ref() {
        DeValue::String(text) => Value::String(text.to_string()),
        DeValue::Boolean(truth) => Value::Bool(*truth),
        DeValue::Datetime(time) => Value::String(time.to_string()),
        DeValue::Integer(number) => match integer(number) {
            Some(number) => Value::Number(number.into()),
            None => {
                let why = "it does not fit into 64 bits";
                reader.report(&span, path, Problem::BadNumber(why));
                Value::Null
            }
        },
        DeValue::Float(number) => match number.as_str().parse().ok().and_then(Number::from_f64) {
            Some(number) => Value::Number(number),
            None => {
                let why = "a config is JSON, which has no infinity and no not-a-number";
                reader.report(&span, path, Problem::BadNumber(why));
                Value::Null
            }
        },
        DeValue::Array(items) => {
            let (values, nodes) = items
                .iter()
                .enumerate()
                .map(|(index, item)| convert(reader, item, KeyPath::Index(&path, index)))
                .unzip();
            return (Value::Array(values), Node { span, parts: Parts::List(nodes) });
        }
        DeValue::Table(table) => {
            let mut map = Map::new();
            let mut entries = Vec::with_capacity(table.len());
            for (key, item) in table {
                let (value, node) = convert(reader, item, KeyPath::Key(&path, key.get_ref()));
                map.insert(key.get_ref().to_string(), value);
                entries.push((key.get_ref().to_string(), key.span(), node));
            }
            entries.sort_by(|(one, ..), (other, ..)| one.cmp(other));
            return (Value::Object(map), Node { span, parts: Parts::Table(entries) });
        }
    };
    (value, Node::leaf(span))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plugins_may_write_paths_as_they_like() {
        let steps = [Step::Key("headers".into()), Step::Index(0), Step::Key("name".into())];
        for path in [
            "headers[0].name",
            "headers.0.name",
            "/headers/0/name",
            "config.headers[0].name",
            "$.headers[0][\"name\"]",
        ] {
            assert_eq!(parse_path(path), steps, "{path}");
        }
        assert_eq!(parse_path(""), []);
        assert_eq!(parse_key(&join("a".into(), &steps)).get(1..), Some(&steps[..]));
        assert_eq!(join("config".into(), &steps), "config.headers[0].name");
    }

    #[test]
    fn pointers_follow_the_keys_of_errors() {
        for (key, expected) in [
            ("", ""),
            ("id", "/id"),
            ("checks[0].config.headers[12].name", "/checks/0/config/headers/12/name"),
            ("labels.\"app.kubernetes.io/name\"", "/labels/app.kubernetes.io~1name"),
            ("labels.\"a~b\"", "/labels/a~0b"),
            ("a.\"never ends", "/a/\"never ends"),
            ("[x].[", "/["),
        ] {
            assert_eq!(pointer(&parse_key(key)), expected, "{key}");
        }
    }
}
