//! Panics when it is asked what it is.

use probehost_test_guests::{Manifest, Odd};

struct Fixture;

impl Odd for Fixture {
    #[allow(clippy::panic, reason = "it is what this one does")]
    fn describe(_: &str) -> Manifest {
        panic!("no name")
    }
}

probehost_test_guests::odd!(Fixture);
