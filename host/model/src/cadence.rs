//! When a check is due, so that equal intervals don't fire together.

use std::time::Duration;

use crate::{CheckId, Timestamp};

/// A check's place within its interval: the same after every restart and on every host,
/// and spread evenly over the checks (contract S1).
#[must_use]
pub fn phase_of(check: &CheckId, interval: Duration) -> Duration {
    let span = u64::try_from(interval.as_micros()).unwrap_or(u64::MAX).max(1);
    let place = (u128::from(hash(check)) * u128::from(span)) >> 64;
    Duration::from_micros(u64::try_from(place).unwrap_or(0))
}

/// The first time strictly after `now` at which a check with this phase is due.
///
/// Due times are the multiples of the interval since the Unix epoch, plus the phase: nothing
/// has to be stored for a check to keep its phase over a restart or a reload.
#[must_use]
pub fn next_due(now: Timestamp, interval: Duration, phase: Duration) -> Timestamp {
    let span = i64::try_from(interval.as_micros()).unwrap_or(i64::MAX).max(1);
    let phase = i64::try_from(phase.as_micros()).unwrap_or(0);
    let into = now.as_micros().saturating_sub(phase).rem_euclid(span);
    Timestamp::from_micros(now.as_micros().saturating_add(span - into))
}

/// FNV-1a over the name, then a finalizer, because the high bits choose the phase.
/// Written out: the hashers of the standard library may change between versions, and a new
/// version of the host must not shift every phase.
fn hash(check: &CheckId) -> u64 {
    let bytes = check.target.bytes().chain([b'/']).chain(check.check.bytes());
    let mut hash = bytes.fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    });
    hash ^= hash >> 33;
    hash = hash.wrapping_mul(0xff51_afd7_ed55_8ccd);
    hash ^= hash >> 33;
    hash = hash.wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    hash ^ (hash >> 33)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MINUTE: Duration = Duration::from_secs(60);

    /// S1: equal intervals are spread: no tenth of the interval gets much more than its share.
    #[test]
    fn phases_are_spread() {
        let mut tenths = [0_u32; 10];
        for number in 0..1000 {
            let phase = phase_of(&CheckId::new(&format!("host-{number}"), "ping"), MINUTE);
            tenths[usize::try_from(phase.as_secs() / 6).unwrap()] += 1;
        }
        assert!(tenths.iter().all(|count| (60..=140).contains(count)), "{tenths:?}");
    }

    /// S1: the cadence is kept: each due time is one interval after the one before.
    #[test]
    fn due_times_are_an_interval_apart() {
        let phase = phase_of(&CheckId::new("web", "head"), MINUTE);
        let first = next_due(Timestamp::from_micros(1_764_456_769_123_456), MINUTE, phase);
        let second = next_due(first, MINUTE, phase);
        assert_eq!(second.since(first), MINUTE);
        // A look a moment earlier finds the same due time: a restart shifts nothing.
        assert_eq!(next_due(Timestamp::from_micros(first.as_micros() - 1), MINUTE, phase), first);
    }

    #[test]
    fn the_phase_of_a_name_never_changes() {
        let phase = phase_of(&CheckId::new("web", "head"), MINUTE);
        assert_eq!(phase, phase_of(&CheckId::new("web", "head"), MINUTE));
        assert_ne!(phase, phase_of(&CheckId::new("web", "tail"), MINUTE));
        assert!(phase < MINUTE);
    }
}
