//! The status of one check.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::reason::UnknownWord;

/// The status of one check (contract T1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// Nothing conclusive is known.
    #[default]
    Unknown,
    /// The last word is a pass, or too few failures to say otherwise.
    Healthy,
    /// A sticky failure, or as many failures in a row as the threshold.
    Unhealthy,
}

impl Status {
    /// Every status.
    pub const ALL: [Self; 3] = [Self::Unknown, Self::Healthy, Self::Unhealthy];

    /// The word for it in records, API and metrics.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Unknown => "unknown",
            Self::Healthy => "healthy",
            Self::Unhealthy => "unhealthy",
        }
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl FromStr for Status {
    type Err = UnknownWord;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::ALL
            .into_iter()
            .find(|status| status.as_str() == text)
            .ok_or_else(|| UnknownWord::new("status", text))
    }
}
