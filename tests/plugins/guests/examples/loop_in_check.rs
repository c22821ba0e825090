//! Never comes back from `check`, and uses its CPU.

use probehost_test_guests::{Context, Odd, Report};

struct Fixture;

impl Odd for Fixture {
    fn check(_: String, _: Context) -> Report {
        loop {
            std::hint::spin_loop();
        }
    }
}

probehost_test_guests::odd!(Fixture);
