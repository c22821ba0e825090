//! Request headers in a check's config.

use std::borrow::Cow;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Deserialize, Deserializer, Error, MapAccess, Visitor};

/// Request headers in a check's config: a table of names and values, each checked for
/// what HTTP allows. They keep their order.
///
/// A value is a text, or a secret by its name: `{ secret = "api-key", prefix = "Bearer " }`. The
/// host puts a secret on the wire; the plugin never sees it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Headers(Vec<(String, HeaderValue)>);

/// What a header says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HeaderValue {
    /// This.
    Text(String),
    /// A secret by its name.
    Secret {
        /// Goes before it: `Bearer `.
        prefix: String,
        /// Its name.
        name: String,
    },
}

impl From<&str> for HeaderValue {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<&Self> for HeaderValue {
    fn from(value: &Self) -> Self {
        value.clone()
    }
}

impl Headers {
    /// Names and values.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &HeaderValue)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value))
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
        json_schema!({ "type": "object", "additionalProperties": {
            "type": ["string", "object"],
            "required": ["secret"],
            "properties": { "secret": { "type": "string" }, "prefix": { "type": "string" } },
            "additionalProperties": false,
        } })
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
        let mut headers: Vec<(String, HeaderValue)> = Vec::new();
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
struct Value(HeaderValue);

impl<'de> Deserialize<'de> for Value {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ValueVisitor).map(Self)
    }
}

struct ValueVisitor;

impl<'de> Visitor<'de> for ValueVisitor {
    type Value = HeaderValue;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a text, or a secret by its name, { secret = \"name\" }")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<HeaderValue, E> {
        one_line(text).map(HeaderValue::Text)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<HeaderValue, A::Error> {
        let (mut secret, mut prefix) = (None, String::new());
        while let Some(key) = map.next_key::<String>()? {
            match key.as_str() {
                "secret" => secret = Some(map.next_value::<String>()?),
                "prefix" => prefix = one_line(&map.next_value::<String>()?)?,
                _ => return Err(A::Error::unknown_field(&key, &["secret", "prefix"])),
            }
        }
        let name = secret.ok_or_else(|| A::Error::missing_field("secret"))?;
        Ok(HeaderValue::Secret { prefix, name })
    }
}

fn one_line<E: Error>(text: &str) -> Result<String, E> {
    if text.bytes().any(|byte| (byte < 0x20 && byte != b'\t') || byte == 0x7f) {
        return Err(E::custom("a header's value is one line, without control characters"));
    }
    Ok(text.to_owned())
}
