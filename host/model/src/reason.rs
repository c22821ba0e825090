//! Why a probe failed: a closed set.

use crate::words::words;

/// Why a probe failed (contract P6). A failure has exactly one reason; the variants stand
/// in the fixed order of classification of contract P7, with the two that only a runtime
/// can tell (`stopped`, `oom`) before `unknown`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
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

words!(Reason, "reason", {
    Config => "config",
    Timeout => "timeout",
    HostKey => "host-key",
    Tls => "tls",
    Auth => "auth",
    Network => "network",
    Answer => "answer",
    Stopped => "stopped",
    Oom => "oom",
    Unknown => "unknown",
});

impl Reason {
    /// Whether one failure is enough for `unhealthy`, whatever the threshold (contract T3):
    /// it will repeat on the next probe, so waiting would buy no confidence.
    #[must_use]
    pub const fn is_sticky(self) -> bool {
        matches!(self, Self::Config | Self::HostKey)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// T3: two reasons are sticky.
    #[test]
    fn two_are_sticky() {
        let sticky: Vec<_> = Reason::ALL.into_iter().filter(|r| r.is_sticky()).collect();
        assert_eq!(sticky, [Reason::Config, Reason::HostKey]);
    }
}
