//! Writes a hundred thousand lines to the log in `check`, then one of a megabyte, then passes.

use probehost_sdk::log;
use probehost_test_guests::{Context, Odd, Report, pass};

struct Fixture;

impl Odd for Fixture {
    fn check(_: String, _: Context) -> Report {
        for line in 0..100_000 {
            log::info(&format!("line {line}"));
        }
        log::warn(&"x".repeat(1 << 20));
        pass()
    }
}

probehost_test_guests::odd!(Fixture);
