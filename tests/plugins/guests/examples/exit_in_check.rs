//! Ends its process in `check`, as a program that is done would.

use probehost_test_guests::{Context, Odd, Report};

struct Fixture;

impl Odd for Fixture {
    fn check(_: String, _: Context) -> Report {
        std::process::exit(0)
    }
}

probehost_test_guests::odd!(Fixture);
