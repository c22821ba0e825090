//! Takes a handle for a timer in `check` again and again, and never gives one back.

use probehost_test_guests::{Context, Odd, Report};

struct Fixture;

impl Odd for Fixture {
    fn check(_: String, _: Context) -> Report {
        loop {
            std::mem::forget(wasip2::clocks::monotonic_clock::subscribe_duration(1));
        }
    }
}

probehost_test_guests::odd!(Fixture);
