//! Request headers in a check's config.

use std::borrow::Cow;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Deserialize, Deserializer, Error, MapAccess, Visitor};

/// Request headers in a check's config: a table of names and values, each checked for
/// what HTTP allows. They keep their order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Headers(Vec<(String, String)>);

impl Headers {
    /// Names and values.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }
}

impl JsonSchema for Headers {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Headers".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "object", "additionalProperties": { "type": "string" } })
    }
}

impl<'de> Deserialize<'de> for Headers {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(HeadersVisitor)
    }
}

struct HeadersVisitor;

impl<'de> Visitor<'de> for HeadersVisitor {
    type Value = Headers;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a table of headers")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Headers, A::Error> {
        let mut headers: Vec<(String, String)> = Vec::new();
        while let Some(Name(name)) = map.next_key()? {
            if headers.iter().any(|(known, _)| known.eq_ignore_ascii_case(&name)) {
                return Err(A::Error::custom(format!("the header {name} is there twice")));
            }
            let Value(value) = map.next_value()?;
            headers.push((name, value));
        }
        Ok(Headers(headers))
    }
}

/// A header's name.
struct Name(String);

impl<'de> Deserialize<'de> for Name {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = String::deserialize(deserializer)?;
        let is_token =
            |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
        if name.is_empty() || !name.bytes().all(is_token) {
            return Err(D::Error::custom("is not a header's name: letters, digits and hyphens"));
        }
        Ok(Self(name))
    }
}

/// A header's value.
struct Value(String);

impl<'de> Deserialize<'de> for Value {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = String::deserialize(deserializer)?;
        if value.bytes().any(|byte| (byte < 0x20 && byte != b'\t') || byte == 0x7f) {
            return Err(D::Error::custom(
                "a header's value is one line, without control characters",
            ));
        }
        Ok(Self(value))
    }
}
