//! A target that comes over the API: judged by the rules of the file, told of field by field.
//!
//! The body becomes a file of one target, so that there is one reader with one set of rules,
//! names and messages, whichever way a target comes.

use std::collections::BTreeMap;
use std::path::Path;

use probehost_model::{Source, Target, sanitize};
use serde_json::{Map, Value, json};
use toml::de::DeTable;

use crate::error::ConfigError;
use crate::help::suggest;
use crate::json::{self as steps, Step};
use crate::problem::Problem;
use crate::resolve::{IntervalClamp, KindRules, Resolved};
use crate::source::Source as Text;
use crate::targets::{self, RawTarget};
use crate::walk::{Item, KeyPath, Reader, Section};
use crate::{Config, depth};

/// What the target's key path is in the file that it becomes.
const FIRST: [Step; 1] = [Step::Index(0)];

/// A target that can be saved.
#[derive(Debug)]
pub struct Submitted {
    /// With every default applied; its owner is the API.
    pub target: Target,
    /// Intervals that were changed (contract S6).
    pub clamps: Vec<IntervalClamp>,
    /// Which of the body's checks each one is, by name.
    places: BTreeMap<String, usize>,
}

/// One thing that is wrong with a body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FieldError {
    /// A JSON pointer into the body: `/checks/0/config/url`; empty for the whole.
    pub pointer: String,
    /// What is wrong.
    pub message: String,
    /// What to do; empty when the message says it all.
    pub help: String,
}

impl Submitted {
    /// What a plugin's plan says is wrong with a check's config, at `path` inside of it.
    #[must_use]
    pub fn plan_error(&self, check: &str, path: &str, message: &str) -> FieldError {
        let mut at: Vec<Step> = vec![Step::Key("checks".into())];
        at.extend(self.places.get(check).copied().map(Step::Index));
        at.push(Step::Key("config".into()));
        at.extend(steps::parse_path(path));
        let pointer = steps::pointer(&at);
        FieldError { pointer, message: sanitize(message), help: String::new() }
    }
}

impl Config {
    /// Judges the JSON of one target as if it stood in the file: a setting of the check goes
    /// before one of `[probes]`, which goes before that of its kind in `kinds`, the ones that
    /// are installed. A key whose value is null counts as left out.
    ///
    /// # Errors
    /// Everything that is wrong, at once, in the order of the body's text as TOML.
    pub fn submitted(
        &self,
        body: &Value,
        kinds: &BTreeMap<String, KindRules>,
    ) -> Result<Submitted, Vec<FieldError>> {
        let Value::Object(body) = body else {
            return Err(vec![whole(
                "the body is no JSON object",
                "send { \"id\": …, \"checks\": … }",
            )]);
        };
        let mut odd = Vec::new();
        let body = clean(body, &mut Vec::new(), &mut odd);
        if !odd.is_empty() {
            return Err(odd);
        }
        let text = toml::to_string(&json!({ "targets": [body] })).map_err(|error| {
            vec![whole(&format!("the body can't be read: {error}"), "send ordinary JSON")]
        })?;
        let source = Text::new(Path::new("the body"), &text);
        if depth::too_deep(&text).is_some() {
            return Err(vec![whole("this is nested too deeply", "take levels out")]);
        }
        let targets = read(&source, &text)?;
        let config = self.with_targets(targets, source);
        let Resolved { targets, clamps, missing_kinds, errors } =
            config.resolve(&|kind| kinds.get(kind).cloned());
        let mut errors: Vec<_> = errors.iter().map(field_error).collect();
        let names: Vec<&String> = kinds.keys().collect();
        errors.extend(missing_kinds.iter().map(|missing| FieldError {
            pointer: pointer(&missing.location.key),
            message: format!("the plugin `{}` is not installed", missing.kind),
            help: suggest(&missing.kind, &names),
        }));
        let (Some(target), true) = (targets.into_iter().next(), errors.is_empty()) else {
            return Err(errors);
        };
        let raw = config.targets.iter().flat_map(|target| &target.checks);
        let places = raw.map(|check| (check.name.clone(), check.index)).collect();
        Ok(Submitted { target: Target { source: Source::Api, ..target }, clamps, places })
    }
}

fn read(source: &Text, text: &str) -> Result<Vec<RawTarget>, Vec<FieldError>> {
    let table = DeTable::parse(text)
        .map_err(|error| vec![whole(&sanitize(error.message()), "send ordinary JSON")])?;
    let mut reader = Reader::new(source);
    let mut root = Section::new(KeyPath::Root, table.into_inner());
    let list: Option<Item<'_>> = root.take("targets");
    let path = KeyPath::Key(&KeyPath::Root, "targets");
    let targets = list.map(|list| targets::read(&mut reader, list, path)).unwrap_or_default();
    let errors: Vec<_> = reader.into_errors().iter().map(field_error).collect();
    if errors.is_empty() { Ok(targets) } else { Err(errors) }
}

fn whole(message: &str, help: &str) -> FieldError {
    FieldError { pointer: String::new(), message: message.to_owned(), help: help.to_owned() }
}

fn field_error(error: &ConfigError) -> FieldError {
    let problem = error.problem();
    FieldError {
        pointer: pointer(&error.location().key),
        message: problem.to_string(),
        help: help(problem),
    }
}

/// What to do about it in JSON, where the file's words are about TOML.
fn help(problem: &Problem) -> String {
    match problem {
        Problem::MissingKey { key, .. } => format!("add `{key}`"),
        Problem::NoChecks => "add `checks`, a list of objects with a `kind` each".into(),
        Problem::NoRuntime => {
            "add `container`, or `command` with a name under [commands] of the file".into()
        }
        Problem::NotManaged => {
            "add `runtime` with a `container` or a `command`, or take this out".into()
        }
        Problem::WrongType { expected, help: Some(_), .. } => format!("send {expected}"),
        other => other.help(),
    }
}

/// The pointer of a key in the file that the body became: without `targets[0]`.
fn pointer(key: &str) -> String {
    let all = steps::parse_key(key);
    let inside = match all.as_slice() {
        [Step::Key(list), first, inside @ ..] if list == "targets" && FIRST.contains(first) => {
            inside
        }
        other => other,
    };
    steps::pointer(inside)
}

/// Leaves out what is null, and reports what TOML can't hold.
fn clean(from: &Map<String, Value>, at: &mut Vec<Step>, odd: &mut Vec<FieldError>) -> Value {
    let mut kept = Map::new();
    for (key, value) in from.iter().filter(|(_, value)| !value.is_null()) {
        at.push(Step::Key(key.clone()));
        kept.insert(key.clone(), clean_value(value, at, odd));
        at.pop();
    }
    Value::Object(kept)
}

fn clean_value(value: &Value, at: &mut Vec<Step>, odd: &mut Vec<FieldError>) -> Value {
    let refuse = |message: &str, help: &str| FieldError {
        pointer: steps::pointer(at),
        message: message.to_owned(),
        help: help.to_owned(),
    };
    match value {
        Value::Object(map) => return clean(map, at, odd),
        Value::Array(items) => {
            let kept = items.iter().enumerate().map(|(index, item)| {
                at.push(Step::Index(index));
                let kept = clean_value(item, at, odd);
                at.pop();
                kept
            });
            return Value::Array(kept.collect());
        }
        Value::Null => odd.push(refuse("a list can't hold null here", "take it out")),
        Value::Number(number) if number.is_u64() && number.as_i64().is_none() => {
            odd.push(refuse(
                "this number can't be used: it does not fit into 64 bits",
                "write an ordinary number",
            ));
        }
        _ => {}
    }
    value.clone()
}
