//! A plugin's JSON Schema, and what it refuses about a check's config.
//!
//! The schema comes from the plugin, so it is not trusted: it can't make the host read a
//! file or a URL, and its patterns run in linear time.

use std::error::Error;

use boon::{Compiler, Draft, ErrorKind, InstanceToken, SchemaIndex, Schemas, ValidationError};
use serde_json::Value;

use crate::help::suggest;
use crate::json::Step;
use crate::problem::shown;

/// Only a name for the schema inside the validator; nothing is fetched from there.
const NAME: &str = "plugin:/config";

/// A schema that can be used.
pub struct Schema {
    schemas: Schemas,
    index: SchemaIndex,
    text: Value,
}

/// Why a plugin's schema can't be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct SchemaError(String);

/// Something that a schema refuses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Violation {
    /// Where in the config.
    pub(crate) steps: Vec<Step>,
    /// Whether the key is meant, not its value.
    pub(crate) at_key: bool,
    pub(crate) message: String,
    /// Empty when the message says it all.
    pub(crate) help: String,
}

/// A plugin's schema has to stand on its own.
struct NothingElse;

impl boon::UrlLoader for NothingElse {
    fn load(&self, url: &str) -> Result<Value, Box<dyn Error>> {
        Err(format!("it refers to {}, but has to stand on its own", shown(url)).into())
    }
}

impl Schema {
    /// Makes a schema ready. JSON Schema 2020-12, unless it names an older draft itself;
    /// `format` is checked.
    ///
    /// # Errors
    /// The schema is not valid, or needs something from elsewhere.
    pub fn compile(schema: &Value) -> Result<Self, SchemaError> {
        let mut compiler = Compiler::new();
        compiler.set_default_draft(Draft::V2020_12);
        compiler.enable_format_assertions();
        compiler.use_loader(Box::new(NothingElse));
        let mut schemas = Schemas::new();
        let fail = |error: boon::CompileError| {
            SchemaError(probehost_model::sanitize(&format!("{error:#}")))
        };
        compiler.add_resource(NAME, schema.clone()).map_err(fail)?;
        let index = compiler.compile(NAME, &mut schemas).map_err(fail)?;
        Ok(Self { schemas, index, text: schema.clone() })
    }

    /// Everything that the schema refuses about a config, for people: the key, what is wrong with
    /// it, and what would be right. Empty: it fits.
    #[must_use]
    pub fn refuses(&self, config: &Value) -> Vec<String> {
        let text = |violation: Violation| {
            let key = crate::json::join(String::new(), &violation.steps);
            let key = key.strip_prefix('.').unwrap_or(&key);
            let lead = if key.is_empty() { String::new() } else { format!("{key}: ") };
            let help = if violation.help.is_empty() { "" } else { "; " };
            format!("{lead}{}{help}{}", violation.message, violation.help)
        };
        self.violations(config).into_iter().map(text).collect()
    }

    /// Everything that the schema refuses about a config.
    pub(crate) fn violations(&self, config: &Value) -> Vec<Violation> {
        match self.schemas.validate(config, self.index) {
            Ok(()) => Vec::new(),
            Err(error) => self.flatten(&error),
        }
    }

    /// The part of the schema that refused.
    fn part(&self, url: &str) -> Option<&Value> {
        let pointer = url.split_once('#').map_or("", |(_, pointer)| pointer);
        self.text.pointer(&percent_decoded(pointer))
    }

    fn flatten(&self, error: &ValidationError<'_, '_>) -> Vec<Violation> {
        let inner = |error: &ValidationError<'_, '_>| -> Vec<Violation> {
            error.causes.iter().flat_map(|cause| self.flatten(cause)).collect()
        };
        match &error.kind {
            ErrorKind::AnyOf | ErrorKind::OneOf(None) => self.alternatives(error),
            ErrorKind::Group
            | ErrorKind::Schema { .. }
            | ErrorKind::Reference { .. }
            | ErrorKind::AllOf
            | ErrorKind::ContentSchema
                if !error.causes.is_empty() =>
            {
                inner(error)
            }
            ErrorKind::Required { want } => {
                want.iter().map(|key| self.missing(error, key)).collect()
            }
            ErrorKind::AdditionalProperties { got } => {
                got.iter().map(|key| self.unknown(error, key)).collect()
            }
            ErrorKind::FalseSchema => {
                let message = "nothing that the plugin knows can stand here".to_owned();
                let help = "take it out".to_owned();
                vec![Violation { steps: steps(error), at_key: true, message, help }]
            }
            kind => {
                let message = said(kind, error);
                vec![Violation {
                    steps: steps(error),
                    at_key: matches!(kind, ErrorKind::PropertyName { .. }),
                    message,
                    help: self.description(error),
                }]
            }
        }
    }

    fn missing(&self, error: &ValidationError<'_, '_>, key: &str) -> Violation {
        let about = self
            .part(error.schema_url)
            .and_then(|part| part.get("properties")?.get(key)?.get("description")?.as_str());
        let help = match about {
            Some(about) => format!("add `{}`: {}", shown(key), probehost_model::sanitize(about)),
            None => format!("add `{}`", shown(key)),
        };
        let message = format!("`{}` is missing", shown(key));
        Violation { steps: steps(error), at_key: false, message, help }
    }

    fn unknown(&self, error: &ValidationError<'_, '_>, key: &str) -> Violation {
        let known: Vec<String> = self
            .part(error.schema_url)
            .and_then(|part| part.get("properties")?.as_object())
            .into_iter()
            .flat_map(|properties| properties.keys().map(|key| shown(key)))
            .collect();
        let mut steps = steps(error);
        steps.push(Step::Key(key.to_owned()));
        let message = format!("unknown key `{}`", shown(key));
        Violation { steps, at_key: true, message, help: suggest(key, &known) }
    }

    fn description(&self, error: &ValidationError<'_, '_>) -> String {
        let about = self.part(error.schema_url).and_then(|part| part.get("description")?.as_str());
        match about {
            Some(about) => format!("what belongs here: {}", probehost_model::sanitize(about)),
            None => String::new(),
        }
    }

    /// None of several forms fits: the one that fits furthest was meant.
    fn alternatives(&self, error: &ValidationError<'_, '_>) -> Vec<Violation> {
        // TOML has no null, so the form that only takes null was not meant.
        let forms = error.causes.iter().filter(|cause| !only_null(cause));
        let mut forms: Vec<_> = forms.map(|cause| self.flatten(cause)).collect();
        let depth = |form: &[Violation]| form.iter().map(|v| v.steps.len()).max().unwrap_or(0);
        let deepest = forms.iter().map(|form| depth(form)).max().unwrap_or(0);
        let own_depth = error.instance_location.tokens.len();
        if forms.len() > 1 && deepest > own_depth {
            forms.retain(|form| depth(form) == deepest);
        }
        if forms.len() == 1 {
            return forms.pop().unwrap_or_default();
        }
        let mut said: Vec<String> = Vec::new();
        for form in &forms {
            let text: Vec<_> = form.iter().map(|violation| violation.message.as_str()).collect();
            let text = text.join(" and ");
            if !said.contains(&text) {
                said.push(text);
            }
        }
        let message = match said.as_slice() {
            [] => "fits none of the forms that the plugin takes".to_owned(),
            said => format!("fits none of the forms that the plugin takes: {}", said.join("; or ")),
        };
        let message = probehost_model::sanitize(&message);
        let help = self.description(error);
        vec![Violation { steps: steps(error), at_key: false, message, help }]
    }
}

fn only_null(error: &ValidationError<'_, '_>) -> bool {
    matches!(&error.kind, ErrorKind::Type { want, .. }
        if want.iter().all(|want| want == boon::Type::Null))
}

fn steps(error: &ValidationError<'_, '_>) -> Vec<Step> {
    let tokens = error.instance_location.tokens.iter();
    tokens
        .map(|token| match token {
            InstanceToken::Prop(key) => Step::Key(key.to_string()),
            InstanceToken::Item(index) => Step::Index(*index),
        })
        .collect()
}

/// What is wrong. What stands in the file is not repeated, as it may be a secret.
fn said(kind: &ErrorKind<'_, '_>, error: &ValidationError<'_, '_>) -> String {
    let words = |values: &[Value]| {
        let words: Vec<_> =
            values.iter().take(20).map(|value| format!("`{}`", plain(value))).collect();
        words.join(", ")
    };
    match kind {
        ErrorKind::Type { got, want } => {
            let want: Vec<_> =
                want.iter().filter(|want| *want != boon::Type::Null).map(type_name).collect();
            let got = match *got {
                boon::Type::Number if want.contains(&type_name(boon::Type::Integer)) => {
                    "a number with a fraction"
                }
                got => type_name(got),
            };
            format!("expected {}, found {got}", want.join(" or "))
        }
        ErrorKind::Enum { want } => format!("expected one of {}", words(want)),
        ErrorKind::Const { want } => format!("expected `{}`", plain(want)),
        ErrorKind::Format { want, .. } => format!("this is not a valid {want}"),
        ErrorKind::Pattern { want, .. } => {
            format!("this does not match the pattern `{}`", shown(want))
        }
        ErrorKind::MinLength { want: 1, .. } => "this text is empty".to_owned(),
        ErrorKind::MinLength { want, .. } => format!("at least {want} characters are needed"),
        ErrorKind::MaxLength { got, want } => {
            format!("at most {want} characters are allowed, found {got}")
        }
        ErrorKind::Minimum { want, .. } => format!("must be at least {want}"),
        ErrorKind::Maximum { want, .. } => format!("must be at most {want}"),
        ErrorKind::ExclusiveMinimum { want, .. } => format!("must be above {want}"),
        ErrorKind::ExclusiveMaximum { want, .. } => format!("must be below {want}"),
        ErrorKind::MultipleOf { want, .. } => format!("must be a multiple of {want}"),
        ErrorKind::MinItems { got, want } => {
            format!("at least {want} items are needed, found {got}")
        }
        ErrorKind::MaxItems { got, want } => {
            format!("at most {want} items are allowed, found {got}")
        }
        ErrorKind::AdditionalItems { got } => format!("{got} items too many"),
        ErrorKind::UniqueItems { got: [one, other] } => {
            format!("items {one} and {other} are the same")
        }
        ErrorKind::MinProperties { want, .. } => format!("at least {want} keys are needed"),
        ErrorKind::MaxProperties { want, .. } => format!("at most {want} keys are allowed"),
        ErrorKind::Dependency { prop, missing }
        | ErrorKind::DependentRequired { prop, missing } => {
            let missing: Vec<_> = missing.iter().map(|key| format!("`{}`", shown(key))).collect();
            format!("`{}` also needs {}", shown(prop), missing.join(", "))
        }
        ErrorKind::OneOf(Some(_)) => {
            "fits more than one of the forms that the plugin takes".to_owned()
        }
        ErrorKind::Not => "this is just what the plugin does not take".to_owned(),
        ErrorKind::PropertyName { prop } => format!("`{}` can't be a key here", shown(prop)),
        ErrorKind::Contains | ErrorKind::MinContains { .. } | ErrorKind::MaxContains { .. } => {
            "the items are not those that the plugin needs".to_owned()
        }
        _ => format!("refused by the plugin's schema at {}", shown(error.schema_url)),
    }
}

/// A value of the schema as it would be written.
fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| shown(&value.to_string()), shown)
}

const fn type_name(of: boon::Type) -> &'static str {
    match of {
        boon::Type::Null => "nothing",
        boon::Type::Boolean => "true or false",
        boon::Type::Number => "a number",
        boon::Type::Integer => "a whole number",
        boon::Type::String => "a text",
        boon::Type::Array => "a list",
        boon::Type::Object => "a table",
    }
}

/// A pointer in a URL as plain text.
fn percent_decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, tail)) = rest.split_first() {
        let hex =
            tail.get(..2).filter(|_| *first == b'%').and_then(|h| std::str::from_utf8(h).ok());
        match hex.and_then(|hex| u8::from_str_radix(hex, 16).ok()) {
            Some(byte) => {
                bytes.push(byte);
                rest = tail.get(2..).unwrap_or_default();
            }
            None => {
                bytes.push(*first);
                rest = tail;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}
