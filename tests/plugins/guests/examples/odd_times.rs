//! Describes itself with times that can't be: no deadline at all, and a least interval over the
//! greatest.

use probehost_sdk::Interval;
use probehost_test_guests::{Manifest, Odd, manifest};

struct Fixture;

impl Odd for Fixture {
    fn describe(krate: &str) -> Manifest {
        Manifest {
            timeout_ms: 0,
            interval: Interval { default: u32::MAX, minimum: u32::MAX, maximum: 0 },
            ..manifest(krate)
        }
    }
}

probehost_test_guests::odd!(Fixture);
