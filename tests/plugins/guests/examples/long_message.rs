//! Fails with a message that is long and full of what terminals and pages act on.

use probehost_sdk::{Failure, Outcome, Reason};
use probehost_test_guests::{Context, Odd, Report};

struct Fixture;

impl Odd for Fixture {
    fn check(_: String, _: Context) -> Report {
        let nasty = "\u{1b}[2J\u{202e}<script>\0\r\nWARN forged\n";
        let failure = Failure { reason: Reason::Answer, message: nasty.repeat(1000) };
        Report { outcome: Outcome::Fail(failure), measurements: Vec::new() }
    }
}

probehost_test_guests::odd!(Fixture);
