//! What the values of a policy may be, and how a layer is filled from numbers.

use std::time::Duration;

use super::policy::{PartialPolicy, PolicyError};

const DAY: f64 = 86_400.0;

impl PartialPolicy {
    /// Every key of a policy, as [`super::Policy`] and the config file name it.
    pub const KEYS: [&'static str; 8] = [
        "base",
        "multiplier",
        "cap",
        "jitter",
        "max_restarts",
        "healthy_reset",
        "start_budget",
        "quarantine_retry",
    ];

    /// Sets one of [`Self::KEYS`]; times are in seconds, and `max_restarts` is cut to a whole
    /// number. Any other key changes nothing.
    ///
    /// # Errors
    /// The number is out of the key's range, and nothing is set (contract P10).
    pub fn set(&mut self, key: &str, number: f64) -> Result<(), PolicyError> {
        let Some(key) = Self::KEYS.into_iter().find(|known| *known == key) else { return Ok(()) };
        check(key, number)?;
        let time = Duration::try_from_secs_f64(number).ok();
        match key {
            "base" => self.base = time,
            "multiplier" => self.multiplier = Some(number),
            "cap" => self.cap = time,
            "jitter" => self.jitter = Some(number),
            "max_restarts" => self.max_restarts = Some(number as u32),
            "healthy_reset" => self.healthy_reset = time,
            "start_budget" => self.start_budget = time,
            _ => self.quarantine_retry = time,
        }
        Ok(())
    }

    /// Every value of this layer that is out of its range, so that all can be shown at once.
    #[must_use]
    pub fn errors(&self) -> Vec<PolicyError> {
        let time = |time: Option<Duration>| time.map(|time| time.as_secs_f64());
        [
            ("base", time(self.base)),
            ("multiplier", self.multiplier),
            ("cap", time(self.cap)),
            ("jitter", self.jitter),
            ("max_restarts", self.max_restarts.map(f64::from)),
            ("healthy_reset", time(self.healthy_reset)),
            ("start_budget", time(self.start_budget)),
            ("quarantine_retry", time(self.quarantine_retry)),
        ]
        .into_iter()
        .filter_map(|(key, number)| check(key, number?).err())
        .collect()
    }
}

fn check(key: &'static str, number: f64) -> Result<(), PolicyError> {
    let (low, high, shown): (f64, f64, fn(f64) -> String) = match key {
        "multiplier" => (1.0, 100.0, plain),
        "jitter" => (0.0, 1.0, plain),
        "max_restarts" => (1.0, 1000.0, plain),
        "healthy_reset" => (1.0, 7.0 * DAY, seconds),
        "start_budget" => (1.0, DAY, seconds),
        // Turned off.
        "quarantine_retry" if number == 0.0 => return Ok(()),
        "quarantine_retry" => (60.0, 7.0 * DAY, seconds),
        _ => (0.001, DAY, seconds),
    };
    if (low..=high).contains(&number) {
        return Ok(());
    }
    let [value, low, high] = [number, low, high].map(shown);
    Err(PolicyError::Range { key, value, low, high })
}

/// Without the hundreds of digits that a number far out of range could have.
fn plain(number: f64) -> String {
    if number.abs() < 1e15 { number.to_string() } else { format!("{number:e}") }
}

/// A length of time as the config file writes it.
fn seconds(number: f64) -> String {
    format!("{} s", plain(number))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// P10, L10: each key that is out of range is named, with what would be right.
    #[test]
    fn errors_name_the_key() {
        let secs = |seconds| Some(Duration::from_secs(seconds));
        let odd = PartialPolicy {
            base: secs(0),
            multiplier: Some(f64::NAN),
            cap: secs(100_000),
            jitter: Some(1.5),
            max_restarts: Some(0),
            healthy_reset: secs(0),
            start_budget: secs(0),
            quarantine_retry: secs(5),
        };
        let texts: Vec<_> = odd.errors().iter().map(ToString::to_string).collect();
        assert_eq!(
            texts,
            [
                "base is 0 s; it must be from 0.001 s to 86400 s",
                "multiplier is NaN; it must be from 1 to 100",
                "cap is 100000 s; it must be from 0.001 s to 86400 s",
                "jitter is 1.5; it must be from 0 to 1",
                "max_restarts is 0; it must be from 1 to 1000",
                "healthy_reset is 0 s; it must be from 1 s to 604800 s",
                "start_budget is 0 s; it must be from 1 s to 86400 s",
                "quarantine_retry is 5 s; it must be from 60 s to 604800 s",
            ]
        );
        let none = PartialPolicy::default();
        let error = PartialPolicy::resolve(&none, [&odd], &none).unwrap_err();
        assert_eq!(error.key(), "base");
        let (high, low) =
            (PartialPolicy { base: secs(20), ..none }, PartialPolicy { cap: secs(10), ..none });
        let error = PartialPolicy::resolve(&high, [], &low).unwrap_err();
        assert_eq!(error.key(), "cap");
        let text = "cap is 10 s, under base, which is 20 s; raise cap or lower base";
        assert_eq!(error.to_string(), text);
    }

    /// L10, P10: every key takes a number at both ends of its range, and none beyond.
    #[test]
    fn numbers_fill_a_layer() {
        let table = [
            ("base", 0.001, 86_400.0, 0.000_9, 86_400.1),
            ("multiplier", 1.0, 100.0, 0.9, 100.5),
            ("cap", 0.001, 86_400.0, -1.0, f64::INFINITY),
            ("jitter", 0.0, 1.0, -0.1, 1.1),
            ("max_restarts", 1.0, 1000.0, 0.0, 1e300),
            ("healthy_reset", 1.0, 604_800.0, 0.5, 604_801.0),
            ("start_budget", 1.0, 86_400.0, 0.5, f64::NAN),
            ("quarantine_retry", 0.0, 604_800.0, 59.0, 604_801.0),
        ];
        assert_eq!(table.map(|(key, ..)| key), PartialPolicy::KEYS);
        for (key, low, high, under, over) in table {
            for number in [low, high] {
                let mut layer = PartialPolicy::default();
                layer.set(key, number).unwrap();
                assert_ne!(layer, PartialPolicy::default(), "{key} {number}");
                assert_eq!(layer.errors(), [], "{key} {number}");
            }
            for number in [under, over] {
                let mut layer = PartialPolicy::default();
                let error = layer.set(key, number).unwrap_err();
                assert_eq!((error.key(), layer), (key, PartialPolicy::default()), "{number}");
                assert!(error.to_string().len() < 100, "{error}");
            }
        }
    }

    /// Each key sets its own value.
    #[test]
    fn keys_are_not_mixed_up() {
        let mut layer = PartialPolicy::default();
        for (key, number) in
            PartialPolicy::KEYS.into_iter().zip([2.5, 3.0, 70.0, 0.5, 7.0, 80.0, 90.0, 100.0])
        {
            layer.set(key, number).unwrap();
        }
        layer.set("base_", 9.0).unwrap();
        let secs = |seconds| Some(Duration::from_secs_f64(seconds));
        let expected = PartialPolicy {
            base: secs(2.5),
            multiplier: Some(3.0),
            cap: secs(70.0),
            jitter: Some(0.5),
            max_restarts: Some(7),
            healthy_reset: secs(80.0),
            start_budget: secs(90.0),
            quarantine_retry: secs(100.0),
        };
        assert_eq!(layer, expected);
    }
}
