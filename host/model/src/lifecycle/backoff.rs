//! How long to wait before a restart (contract L3).

use std::time::Duration;

use super::Policy;

/// The wait before the next restart after `failures` restarts in a row that did not hold:
/// `base × multiplier^failures`, at most `cap`, spread by `jitter`.
///
/// `chance` is a random number from 0 to 1 (what lies outside is brought inside). The wait is
/// spread over `[d, d × (1 + jitter)]`; where that would pass `cap`, the whole range is moved
/// down to end there, so that targets that fail together spread at the cap, too. The
/// result is never under `base` nor over `cap`, whatever the numbers.
#[must_use]
pub fn delay(failures: u32, policy: &Policy, chance: f64) -> Duration {
    let base = policy.base.as_secs_f64();
    let cap = policy.cap.as_secs_f64().max(base);
    let power = policy.multiplier.max(1.0).powf(f64::from(failures));
    let plain = (base * power).min(cap);
    let spread = 1.0 + ratio(policy.jitter);
    let high = (plain * spread).min(cap);
    let low = plain.min(high / spread).max(base);
    let wait = low + ratio(chance) * (high - low);
    Duration::try_from_secs_f64(wait).unwrap_or(policy.cap).min(policy.cap).max(policy.base)
}

/// Brought inside 0 to 1; what is not a number is 0, where `clamp` would keep it.
const fn ratio(number: f64) -> f64 {
    if number.is_nan() { 0.0 } else { number.clamp(0.0, 1.0) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn seconds(failures: u32, policy: &Policy, chance: f64) -> f64 {
        delay(failures, policy, chance).as_secs_f64()
    }

    /// L3: base 1 s, multiplier 2, cap 5 min.
    #[test]
    fn doubles_up_to_the_cap() {
        let plain = Policy { jitter: 0.0, ..Policy::default() };
        let waits: Vec<_> =
            (0..11).map(|failures| delay(failures, &plain, 0.7).as_secs()).collect();
        assert_eq!(waits, [1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300]);
        assert_eq!(delay(u32::MAX, &plain, 1.0), plain.cap);
    }

    /// L3: jitter spreads upwards, and at the cap downwards.
    #[test]
    fn jitter_spreads_at_every_height() {
        let policy = Policy { jitter: 0.5, ..Policy::default() };
        let ends = |failures| (seconds(failures, &policy, 0.0), seconds(failures, &policy, 1.0));
        assert_eq!(ends(0), (1.0, 1.5));
        assert_eq!(ends(2), (4.0, 6.0));
        assert_eq!(ends(8), (200.0, 300.0));
        assert_eq!(ends(20), (200.0, 300.0));
    }

    proptest! {
        /// L3: within [base, cap] whatever comes in, and never less after one more failure.
        #[test]
        fn stays_within_base_and_cap(
            failures in any::<u32>(),
            base in 1_u64..100_000_000,
            over in 0_u64..1_000_000_000,
            multiplier in proptest::num::f64::ANY,
            jitter in proptest::num::f64::ANY,
            chance in proptest::num::f64::ANY,
        ) {
            let (base, cap) = (Duration::from_micros(base), Duration::from_micros(base + over));
            let policy = Policy { base, cap, multiplier, jitter, ..Policy::default() };
            let wait = delay(failures, &policy, chance);
            prop_assert!(base <= wait && wait <= cap, "{wait:?}");
            prop_assert!(delay(failures.saturating_add(1), &policy, chance) >= wait);
        }
    }
}
