//! Writes megabytes to standard output and standard error in `check`, then passes.

use probehost_test_guests::{Context, Odd, Report, pass};

struct Fixture;

impl Odd for Fixture {
    fn check(_: String, _: Context) -> Report {
        for line in 0..100_000 {
            println!("line {line} of standard output");
            eprintln!("line {line} of standard error");
        }
        pass()
    }
}

probehost_test_guests::odd!(Fixture);
