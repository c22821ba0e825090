//! Fails with a message of 50 MB.

use probehost_sdk::{Failure, Outcome, Reason};
use probehost_test_guests::{Context, Odd, Report};

struct Fixture;

impl Odd for Fixture {
    fn check(_: String, _: Context) -> Report {
        let failure = Failure { reason: Reason::Answer, message: "x".repeat(50 << 20) };
        Report { outcome: Outcome::Fail(failure), measurements: Vec::new() }
    }
}

probehost_test_guests::odd!(Fixture);
