//! What a plugin says of itself, checked before anything relies on it.

use std::time::Duration;

use probehost_model::{IntervalBounds, sanitize};
use semver::Version;
use serde_json::Value;

/// Longest name of a probe kind, in bytes.
pub const MAX_NAME_BYTES: usize = 64;

/// Longest version, in bytes. It is part of every text that tells of a fault.
const MAX_VERSION_BYTES: usize = 64;

/// Longest deadline that a plugin can have by default.
const MAX_TIMEOUT: Duration = Duration::from_secs(600);

/// What a plugin says of itself.
#[derive(Debug, Clone, PartialEq)]
pub struct Manifest {
    /// The probe kind: 1 to 64 lower-case letters, digits and hyphens.
    pub name: String,
    /// Of the plugin.
    pub version: Version,
    /// One sentence for people.
    pub description: String,
    /// JSON Schema of a check's config, always an object.
    pub config_schema: Value,
    /// How often checks of this kind run; `minimum <= default <= maximum`, none of them zero.
    pub interval: IntervalBounds,
    /// Deadline of a probe when its check names none: 1 ms to 10 minutes.
    pub timeout: Duration,
    /// Failures in a row until `unhealthy` when the check says nothing, 1 or more.
    pub threshold: u32,
    /// How many probes of this kind may run at once, 1 or more. None: no limit of its own.
    pub concurrency: Option<u32>,
}

/// What is wrong with a manifest. Each text names the field, what it holds and what would be right.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ManifestError {
    /// The name.
    #[error(
        "name is {0:?}; use 1 to {MAX_NAME_BYTES} lower-case letters, digits and single hyphens, beginning with a letter"
    )]
    Name(String),
    /// The version.
    #[error(
        "version is {0:?}; give a semantic version of at most {MAX_VERSION_BYTES} bytes, as 1.2.3"
    )]
    Version(String),
    /// The schema, and why.
    #[error("config-schema {0}; give a JSON Schema object")]
    Schema(String),
    /// The bounds.
    #[error("interval is {} s with a minimum of {} s and a maximum of {} s; give 1 <= minimum <= default <= maximum",
        .0.default, .0.minimum, .0.maximum)]
    Interval(IntervalBounds),
    /// The deadline.
    #[error("timeout-ms is {0}; give 1 to {max}", max = MAX_TIMEOUT.as_millis())]
    Timeout(u32),
    /// The threshold.
    #[error("threshold is 0; give 1 or more")]
    Threshold,
    /// The limit on probes at once.
    #[error("concurrency is 0, so that no probe could run; give 1 or more, or leave it out")]
    Concurrency,
}

/// A manifest as it came from a plugin.
#[derive(Debug)]
pub(crate) struct Raw {
    pub(crate) name: String,
    pub(crate) version: String,
    pub(crate) description: String,
    pub(crate) config_schema: String,
    pub(crate) interval: IntervalBounds,
    pub(crate) timeout_ms: u32,
    pub(crate) threshold: u32,
    pub(crate) concurrency: Option<u32>,
}

impl Raw {
    /// Bytes of text, by which the answer's size is counted.
    pub(crate) fn size(&self) -> usize {
        self.name.len() + self.version.len() + self.description.len() + self.config_schema.len()
    }
}

impl TryFrom<Raw> for Manifest {
    type Error = ManifestError;

    fn try_from(raw: Raw) -> Result<Self, ManifestError> {
        if !is_name(&raw.name) {
            return Err(ManifestError::Name(sanitize(&raw.name)));
        }
        let Some(version) =
            Version::parse(&raw.version).ok().filter(|_| raw.version.len() <= MAX_VERSION_BYTES)
        else {
            return Err(ManifestError::Version(sanitize(&raw.version)));
        };
        let config_schema = match serde_json::from_str::<Value>(&raw.config_schema) {
            Ok(schema) if schema.is_object() => schema,
            Ok(_) => return Err(ManifestError::Schema("is JSON, but no object".into())),
            Err(error) => return Err(ManifestError::Schema(format!("is no JSON ({error})"))),
        };
        let IntervalBounds { default, minimum, maximum } = raw.interval;
        if minimum == 0 || minimum > default || default > maximum {
            return Err(ManifestError::Interval(raw.interval));
        }
        let timeout = Duration::from_millis(u64::from(raw.timeout_ms));
        if timeout.is_zero() || timeout > MAX_TIMEOUT {
            return Err(ManifestError::Timeout(raw.timeout_ms));
        }
        if raw.threshold == 0 {
            return Err(ManifestError::Threshold);
        }
        if raw.concurrency == Some(0) {
            return Err(ManifestError::Concurrency);
        }
        Ok(Self {
            name: raw.name,
            version,
            description: sanitize(&raw.description),
            config_schema,
            interval: raw.interval,
            timeout,
            threshold: raw.threshold,
            concurrency: raw.concurrency,
        })
    }
}

/// Whether a probe kind can have this name: 1 to 64 bytes, lower-case words of letters and digits
/// joined by single hyphens, the first one with a letter first.
#[must_use]
pub fn is_name(name: &str) -> bool {
    name.len() <= MAX_NAME_BYTES
        && name.starts_with(|c: char| c.is_ascii_lowercase())
        && name.split('-').all(|word| {
            !word.is_empty() && word.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit())
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn raw() -> Raw {
        Raw {
            name: "http-head".into(),
            version: "1.0.0".into(),
            description: "Asks.".into(),
            config_schema: "{}".into(),
            interval: IntervalBounds { default: 30, minimum: 5, maximum: 3600 },
            timeout_ms: 10_000,
            threshold: 2,
            concurrency: None,
        }
    }

    /// P10, G4: each field is checked, and the text names it.
    #[test]
    fn every_field_is_checked() {
        assert!(Manifest::try_from(raw()).is_ok());
        let interval = |minimum, default, maximum| Raw {
            interval: IntervalBounds { default, minimum, maximum },
            ..raw()
        };
        for (bad, field) in [
            (Raw { name: String::new(), ..raw() }, "name"),
            (Raw { name: "Http".into(), ..raw() }, "name"),
            (Raw { name: "../x".into(), ..raw() }, "name"),
            (Raw { name: "a--b".into(), ..raw() }, "name"),
            (Raw { name: "a-".into(), ..raw() }, "name"),
            (Raw { name: "1a".into(), ..raw() }, "name"),
            (Raw { name: "a".repeat(65), ..raw() }, "name"),
            (Raw { version: "1".into(), ..raw() }, "version"),
            (Raw { version: format!("1.0.0+{}", "a".repeat(64)), ..raw() }, "version"),
            (Raw { config_schema: "[]".into(), ..raw() }, "config-schema"),
            (Raw { config_schema: "{".into(), ..raw() }, "config-schema"),
            (interval(0, 30, 60), "interval"),
            (interval(31, 30, 60), "interval"),
            (interval(5, 61, 60), "interval"),
            (Raw { timeout_ms: 0, ..raw() }, "timeout-ms"),
            (Raw { timeout_ms: 600_001, ..raw() }, "timeout-ms"),
            (Raw { threshold: 0, ..raw() }, "threshold"),
            (Raw { concurrency: Some(0), ..raw() }, "concurrency"),
        ] {
            let text = Manifest::try_from(bad).unwrap_err().to_string();
            assert!(text.starts_with(field), "{text}");
        }
    }
}
