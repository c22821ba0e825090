//! Why a probe failed: a closed set.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// Why a probe failed (contract P6). A failure has exactly one reason; the variants stand
/// in the fixed order of classification of contract P7, with the two that only a runtime
/// can tell (`stopped`, `oom`) before `unknown`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reason {
    /// The check's own config is wrong.
    Config,
    /// A deadline expired while the target was being waited for.
    Timeout,
    /// The target offered another host key than the pinned one.
    HostKey,
    /// TLS could not be established, or a certificate is not good.
    Tls,
    /// The target refused the credentials.
    Auth,
    /// It could not be reached.
    Network,
    /// It answered, and the answer says that it is unwell.
    Answer,
    /// The process or container is not running.
    Stopped,
    /// The kernel killed it for want of memory.
    Oom,
    /// None of the above.
    Unknown,
}

impl Reason {
    /// Every reason, in the order of classification.
    pub const ALL: [Self; 10] = [
        Self::Config,
        Self::Timeout,
        Self::HostKey,
        Self::Tls,
        Self::Auth,
        Self::Network,
        Self::Answer,
        Self::Stopped,
        Self::Oom,
        Self::Unknown,
    ];

    /// The word for it in records, API and metrics.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Config => "config",
            Self::Timeout => "timeout",
            Self::HostKey => "host-key",
            Self::Tls => "tls",
            Self::Auth => "auth",
            Self::Network => "network",
            Self::Answer => "answer",
            Self::Stopped => "stopped",
            Self::Oom => "oom",
            Self::Unknown => "unknown",
        }
    }

    /// Whether one failure is enough for `unhealthy`, whatever the threshold (contract T3):
    /// it will repeat on the next probe, so waiting would buy no confidence.
    #[must_use]
    pub const fn is_sticky(self) -> bool {
        matches!(self, Self::Config | Self::HostKey)
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Reason {
    type Err = UnknownWord;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::ALL
            .into_iter()
            .find(|reason| reason.as_str() == text)
            .ok_or_else(|| UnknownWord::new("reason", text))
    }
}

/// A word that is not one of a closed set.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{word:?} is not a {set}")]
pub struct UnknownWord {
    set: &'static str,
    word: String,
}

impl UnknownWord {
    pub(crate) fn new(set: &'static str, word: &str) -> Self {
        Self { set, word: word.to_owned() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// P6, T3: the set is closed, its words are stable, and two are sticky.
    #[test]
    fn words_round_trip_and_two_are_sticky() {
        for reason in Reason::ALL {
            assert_eq!(reason.as_str().parse(), Ok(reason));
            assert_eq!(serde_json::to_value(reason).unwrap(), reason.as_str());
        }
        assert!("Config".parse::<Reason>().is_err());
        let sticky: Vec<_> = Reason::ALL.into_iter().filter(|r| r.is_sticky()).collect();
        assert_eq!(sticky, [Reason::Config, Reason::HostKey]);
    }
}
