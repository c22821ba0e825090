//! Closed sets of words: each variant of an enum has one, everywhere the same.

/// A word that is not one of a closed set.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{word:?} is not a {set}: it is one of {known}")]
pub struct UnknownWord {
    set: &'static str,
    word: String,
    known: String,
}

impl UnknownWord {
    pub(crate) fn new(set: &'static str, word: &str, known: &[&str]) -> Self {
        Self { set, word: word.to_owned(), known: known.join(", ") }
    }
}

/// Gives an enum its words, in config, store, API, metrics and audit alike: `ALL`, `as_str`,
/// `Display`, `FromStr`, serde as text, and a schema for the API's description.
macro_rules! words {
    ($name:ident, $set:literal, { $($variant:ident => $word:literal),+ $(,)? }) => {
        impl $name {
            /// Every one, in order.
            pub const ALL: [Self; [$($word),+].len()] = [$(Self::$variant),+];

            /// The word for it, the same everywhere.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $word),+
                }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(self.as_str())
            }
        }

        impl std::str::FromStr for $name {
            type Err = $crate::words::UnknownWord;

            fn from_str(text: &str) -> Result<Self, Self::Err> {
                match text {
                    $($word => Ok(Self::$variant),)+
                    other => Err($crate::words::UnknownWord::new($set, other, &[$($word),+])),
                }
            }
        }

        impl utoipa::PartialSchema for $name {
            fn schema() -> utoipa::openapi::RefOr<utoipa::openapi::schema::Schema> {
                utoipa::openapi::ObjectBuilder::new()
                    .schema_type(utoipa::openapi::schema::Type::String)
                    .enum_values(Some([$($word),+]))
                    .into()
            }
        }

        impl utoipa::ToSchema for $name {}

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.as_str())
            }
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = std::borrow::Cow::<'_, str>::deserialize(deserializer)?;
                text.parse().map_err(serde::de::Error::custom)
            }
        }
    };
}

pub(crate) use words;

#[cfg(test)]
mod tests {
    use crate::lifecycle::{AttemptPhase, LifecycleState, UpdateVerdict, Verdict};
    use crate::{AccessRole, Action, Layer, Reason, Role, Status, Trigger, Unit};

    /// P6, T1, A1, A4, L1, L6: the words are fixed, and read back to what they stand for.
    #[test]
    fn words_are_fixed_and_read_back() {
        macro_rules! check {
            ($($name:ident: $words:expr),+ $(,)?) => {$(
                assert_eq!($name::ALL.map($name::as_str), $words);
                for each in $name::ALL {
                    assert_eq!(each.as_str().parse(), Ok(each));
                    let json = serde_json::to_value(each).unwrap();
                    assert_eq!(json, each.as_str());
                    assert_eq!(serde_json::from_value::<$name>(json).unwrap(), each);
                }
            )+};
        }
        check! {
            Reason: ["config", "timeout", "host-key", "tls", "auth", "network", "answer", "stopped",
                "oom", "unknown"],
            Status: ["unknown", "healthy", "unhealthy"],
            Trigger: ["scheduled", "manual", "saved"],
            Role: ["liveness", "readiness"],
            Action: ["transition", "probe", "target-changed", "capability-denied", "lifecycle",
                "restart", "quarantine", "release", "update", "token-changed"],
            AccessRole: ["viewer", "operator", "admin"],
            LifecycleState: ["unknown", "running", "offline", "restarting", "quarantined",
                "updating"],
            Verdict: ["unknown", "healthy", "unhealthy"],
            AttemptPhase: ["decided", "issued", "started", "ready", "failed"],
            UpdateVerdict: ["promote", "wait", "rollback"],
            Layer: ["container", "transport", "application"],
            Unit: ["number", "seconds", "bytes", "days", "ratio"],
        }
        let error = "Healthy".parse::<Status>().unwrap_err();
        let text = "\"Healthy\" is not a status: it is one of unknown, healthy, unhealthy";
        assert_eq!(error.to_string(), text);
        assert!(serde_json::from_str::<Status>("\"up\"").is_err());
    }
}
