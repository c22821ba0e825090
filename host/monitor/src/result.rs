//! What came of a probe.

use std::time::Duration;

use probehost_model::{CheckId, Layer, Measurement, Outcome, Refusal, Status, Timestamp, Trigger};
use serde::Serialize;

/// A line of a probe's log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, utoipa::ToSchema)]
pub struct LogLine {
    /// `debug`, `info` or `warn`.
    pub level: &'static str,
    /// Escaped and cut: fit for people.
    pub message: String,
}

/// One call of a capability in a probe.
#[derive(Debug, Clone, PartialEq, Serialize, utoipa::ToSchema)]
pub struct ProbeCall {
    /// The capability: `http`.
    pub capability: &'static str,
    /// What was asked for: `HEAD http://example.com/`.
    pub what: String,
    /// Seconds from the start of the probe.
    pub start: f64,
    /// Seconds it took.
    pub took: f64,
    /// What came of it: `ok`, or the error.
    pub result: String,
}

/// What one run of a plugin showed.
#[derive(Debug, Clone, PartialEq)]
pub struct Evidence {
    /// What it found.
    pub outcome: Outcome,
    /// What was probed, for people: a host and port.
    pub subject: String,
    /// What it measured.
    pub measurements: Vec<Measurement>,
    /// The layers of the target that it speaks of.
    pub layers: &'static [Layer],
    /// The log that goes with it.
    pub log: Vec<LogLine>,
    /// Its calls of capabilities, in order.
    pub calls: Vec<ProbeCall>,
    /// What it asked for and was not granted, each with the line that would grant it.
    pub denied: Vec<String>,
}

/// Whether the result was recorded (contract R4), and why not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Recording {
    /// It landed: the status it replaced, and the status now.
    Recorded {
        /// The status that the write replaced (contract T6).
        from: Status,
        /// The status now.
        to: Status,
    },
    /// It did not land, as it should be (contract R2).
    Refused(Refusal),
    /// The store could not be reached: the status is held as it was (contract R7).
    Unavailable(String),
}

/// The result of one probe.
#[derive(Debug, Clone, PartialEq)]
pub struct ProbeResult {
    /// Which check was probed.
    pub check: CheckId,
    /// What asked for it.
    pub trigger: Trigger,
    /// When it ended.
    pub at: Timestamp,
    /// How long it took, without the wait for a permit.
    pub took: Duration,
    /// What it showed.
    pub evidence: Evidence,
    /// Whether that was recorded.
    pub recording: Recording,
}

/// Why a probe has no result. Nothing was written, and nothing audited.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ProbeError {
    /// The plugin is missing or failed to load (contract P9).
    #[error("probe kind {kind:?} is not implemented: {help}")]
    NotImplemented {
        /// The probe kind.
        kind: String,
        /// What is missing and what to do.
        help: String,
    },
    /// The host is stopping: the probe was cancelled before it had a result (contract P4).
    #[error("the probe was abandoned because the host is stopping; by then: {met}")]
    Abandoned {
        /// What the probe had met by then.
        met: String,
    },
}
