//! Traps in `check` without a word.

use probehost_test_guests::{Context, Odd, Report};

struct Fixture;

impl Odd for Fixture {
    fn check(_: String, _: Context) -> Report {
        std::process::abort()
    }
}

probehost_test_guests::odd!(Fixture);
