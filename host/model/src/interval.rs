//! How often a check runs: what was asked for, and what it comes to.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// The bounds that a probe kind sets, in seconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct IntervalBounds {
    /// When nothing is asked for.
    pub default: u32,
    /// The shortest.
    pub minimum: u32,
    /// The longest.
    pub maximum: u32,
}

/// An interval as it was asked for, in whole seconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct IntervalSetting(Option<i64>);

/// What was changed about an interval that was asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Clamp {
    /// Below zero: the default was taken.
    Negative,
    /// Under the kind's minimum, which was taken.
    RaisedToMinimum,
    /// Over the kind's maximum, which was taken.
    LoweredToMaximum,
}

/// What an interval comes to (contract S6). Everything that uses an interval uses this.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EffectiveInterval {
    /// None: scheduled probing is off.
    pub interval: Option<Duration>,
    /// What was changed, so that it can be logged once.
    pub clamp: Option<Clamp>,
}

impl IntervalSetting {
    /// Nothing is asked for.
    pub const DEFAULT: Self = Self(None);

    /// From a file, where a value is a whole number or an error of the file.
    #[must_use]
    pub const fn from_seconds(seconds: i64) -> Self {
        Self(Some(seconds))
    }

    /// From an environment variable: anything but a whole number from 0 up means the default.
    #[must_use]
    pub fn from_env(text: &str) -> Self {
        Self(text.trim().parse::<i64>().ok().filter(|seconds| *seconds >= 0))
    }

    /// Whether anything is asked for.
    #[must_use]
    pub const fn is_set(self) -> bool {
        self.0.is_some()
    }

    /// What it comes to under the bounds of a probe kind.
    #[must_use]
    pub fn effective(self, bounds: IntervalBounds) -> EffectiveInterval {
        let (seconds, clamp) = match self.0 {
            None => (bounds.default, None),
            Some(0) => return EffectiveInterval { interval: None, clamp: None },
            Some(asked) if asked < 0 => (bounds.default, Some(Clamp::Negative)),
            Some(asked) if asked < i64::from(bounds.minimum) => {
                (bounds.minimum, Some(Clamp::RaisedToMinimum))
            }
            Some(asked) => match u32::try_from(asked) {
                Ok(fits) if fits <= bounds.maximum => (fits, None),
                _ => (bounds.maximum, Some(Clamp::LoweredToMaximum)),
            },
        };
        EffectiveInterval { interval: Some(Duration::from_secs(u64::from(seconds))), clamp }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SSH: IntervalBounds = IntervalBounds { default: 60, minimum: 15, maximum: 3600 };

    fn seconds(setting: IntervalSetting) -> (Option<u64>, Option<Clamp>) {
        let effective = setting.effective(SSH);
        (effective.interval.map(|interval| interval.as_secs()), effective.clamp)
    }

    /// S6, K5: the rules for a value from a file.
    #[test]
    fn file_values() {
        for (asked, interval, clamp) in [
            (-1, Some(60), Some(Clamp::Negative)),
            (0, None, None),
            (1, Some(15), Some(Clamp::RaisedToMinimum)),
            (14, Some(15), Some(Clamp::RaisedToMinimum)),
            (15, Some(15), None),
            (3600, Some(3600), None),
            (3601, Some(3600), Some(Clamp::LoweredToMaximum)),
            (i64::MAX, Some(3600), Some(Clamp::LoweredToMaximum)),
        ] {
            assert_eq!(seconds(IntervalSetting::from_seconds(asked)), (interval, clamp), "{asked}");
        }
        assert_eq!(seconds(IntervalSetting::DEFAULT), (Some(60), None));
    }

    /// S6: the environment falls back to the default, never to a bound.
    #[test]
    fn environment_values() {
        for text in ["", "  ", "-5", "1.5", "1e3", "soon", "99999999999999999999"] {
            assert_eq!(IntervalSetting::from_env(text), IntervalSetting::DEFAULT, "{text:?}");
        }
        assert_eq!(seconds(IntervalSetting::from_env("0")), (None, None));
        assert_eq!(seconds(IntervalSetting::from_env(" 30 ")), (Some(30), None));
    }
}
