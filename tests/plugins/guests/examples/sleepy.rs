//! Sleeps for a minute in `check`, then passes.

use std::time::Duration;

use probehost_test_guests::{Context, Odd, Report, pass};

struct Fixture;

impl Odd for Fixture {
    fn check(_: String, _: Context) -> Report {
        std::thread::sleep(Duration::from_secs(60));
        pass()
    }
}

probehost_test_guests::odd!(Fixture);
