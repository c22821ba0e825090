//! Never comes back from `describe`, and uses its CPU.

use probehost_test_guests::{Manifest, Odd};

struct Fixture;

impl Odd for Fixture {
    fn describe(_: &str) -> Manifest {
        loop {
            std::hint::spin_loop();
        }
    }
}

probehost_test_guests::odd!(Fixture);
