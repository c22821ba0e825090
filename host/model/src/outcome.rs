//! What one probe found.

use serde::{Deserialize, Serialize};

use crate::words::words;
use crate::{Reason, sanitize};

/// A failure of the target.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// Which of the closed set it is.
    pub reason: Reason,
    message: String,
}

impl Failure {
    /// A failure; the message is made fit for people (see [`sanitize`]).
    #[must_use]
    pub fn new(reason: Reason, message: &str) -> Self {
        Self { reason, message: sanitize(message) }
    }

    /// For people: names host and port. At most 512 bytes, no control characters (contract P8).
    #[must_use]
    pub fn message(&self) -> &str {
        &self.message
    }
}

/// What one probe found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "outcome", rename_all = "lowercase")]
pub enum Outcome {
    /// The target is well.
    Pass,
    /// The target is unwell.
    Fail(Failure),
    /// Nothing can be said about the target.
    Inconclusive {
        /// Why; fit for people (see [`sanitize`]).
        error: String,
    },
}

impl Outcome {
    /// A failure with its reason and message.
    #[must_use]
    pub fn fail(reason: Reason, message: &str) -> Self {
        Self::Fail(Failure::new(reason, message))
    }

    /// Nothing can be said, and why.
    #[must_use]
    pub fn inconclusive(error: &str) -> Self {
        Self::Inconclusive { error: sanitize(error) }
    }

    /// The word for it in API and metrics: `pass`, `fail`, `inconclusive`.
    #[must_use]
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::Fail(_) => "fail",
            Self::Inconclusive { .. } => "inconclusive",
        }
    }
}

/// The unit of a measurement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// A plain number: a status code, a count.
    Number,
    /// Seconds.
    Seconds,
    /// Bytes.
    Bytes,
    /// Days.
    Days,
    /// From 0 to 1.
    Ratio,
}

words!(Unit, "unit", {
    Number => "number",
    Seconds => "seconds",
    Bytes => "bytes",
    Days => "days",
    Ratio => "ratio",
});

/// One number that a probe measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct Measurement {
    /// Lower-case words joined by underscores: `first_byte`.
    pub name: String,
    /// What `value` counts.
    pub unit: Unit,
    /// Always finite.
    pub value: f64,
}
