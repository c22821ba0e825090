//! A secret in a check's config, by its name.

use std::fmt;

use schemars::JsonSchema;
use serde::de::{Deserialize, Deserializer, Error, MapAccess, Visitor};

/// A secret in a check's config: `{ secret = "name" }`. It is a name and nothing else; the host
/// looks the secret up when it is used, and the plugin never sees it.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct Secret {
    /// The secret's name. The host looks for a file of that name in its directory of secrets, and
    /// for the environment variable PROBEHOST_SECRET_NAME.
    #[schemars(length(min = 1, max = 64))]
    secret: String,
}

impl Secret {
    #[cfg(not(target_arch = "wasm32"))]
    pub(crate) fn named(name: &str) -> Self {
        Self { secret: name.to_owned() }
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.secret
    }
}

impl<'de> Deserialize<'de> for Secret {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(SecretVisitor)
    }
}

/// Reads the table. Whoever writes a secret itself in its place is told so without an echo of it.
struct SecretVisitor;

impl<'de> Visitor<'de> for SecretVisitor {
    type Value = Secret;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a secret by its name, { secret = \"name\" }")
    }

    fn visit_str<E: Error>(self, _: &str) -> Result<Secret, E> {
        Err(E::custom(
            "a secret is given by its name, { secret = \"name\" }, and never stands in a config itself",
        ))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Secret, A::Error> {
        let mut name = None;
        while let Some(key) = map.next_key::<String>()? {
            if key != "secret" {
                return Err(A::Error::unknown_field(&key, &["secret"]));
            }
            name = Some(map.next_value()?);
        }
        name.map(|secret| Secret { secret }).ok_or_else(|| A::Error::missing_field("secret"))
    }
}
