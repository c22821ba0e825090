//! How spans of time and hosts are written for people.

use std::fmt;
use std::time::Duration;

/// `0.1 ms`, `250 ms`, `1.5 s`, `10 s`.
pub(crate) struct Span(pub(crate) Duration);

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // What would be rounded to 1000 ms is a second.
        let (value, unit) = if self.0 < Duration::from_micros(999_500) {
            (self.0.as_secs_f64() * 1000.0, "ms")
        } else {
            (self.0.as_secs_f64(), "s")
        };
        // One decimal, and none where it says nothing.
        let tenths = (value * 10.0).round();
        if value >= 100.0 || tenths % 10.0 == 0.0 {
            write!(f, "{value:.0} {unit}")
        } else {
            write!(f, "{value:.1} {unit}")
        }
    }
}

/// `host:port`, with brackets around an IPv6 address.
#[derive(Debug, Clone, Copy)]
pub(crate) struct HostPort<'a>(pub(crate) &'a str, pub(crate) u16);

impl fmt::Display for HostPort<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.contains(':') {
            write!(f, "[{}]:{}", self.0, self.1)
        } else {
            write!(f, "{}:{}", self.0, self.1)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_are_short() {
        for (micros, text) in [
            (0, "0 ms"),
            (90, "0.1 ms"),
            (1_000, "1 ms"),
            (1_240, "1.2 ms"),
            (99_960, "100 ms"),
            (250_400, "250 ms"),
            (999_400, "999 ms"),
            (999_990, "1 s"),
            (1_000_000, "1 s"),
            (1_540_000, "1.5 s"),
            (10_000_300, "10 s"),
            (120_400_000, "120 s"),
        ] {
            assert_eq!(Span(Duration::from_micros(micros)).to_string(), text);
        }
    }
}
