//! The status of one check.

use crate::words::words;

/// The status of one check (contract T1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Status {
    /// Nothing conclusive is known.
    #[default]
    Unknown,
    /// The last word is a pass, or too few failures to say otherwise.
    Healthy,
    /// A sticky failure, or as many failures in a row as the threshold.
    Unhealthy,
}

words!(Status, "status", {
    Unknown => "unknown",
    Healthy => "healthy",
    Unhealthy => "unhealthy",
});
