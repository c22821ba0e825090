//! Recurses in `check` without an end.

use probehost_test_guests::{Context, Odd, Report, pass};

struct Fixture;

/// Not a tail call, so that each level takes its place on the stack.
#[allow(unconditional_recursion, reason = "that is the point")]
#[inline(never)]
fn deeper(level: u64) -> u64 {
    std::hint::black_box(deeper(level.wrapping_mul(31))) ^ level
}

impl Odd for Fixture {
    fn check(_: String, _: Context) -> Report {
        let mut report = pass();
        report.measurements.truncate(usize::try_from(deeper(1)).unwrap_or_default());
        report
    }
}

probehost_test_guests::odd!(Fixture);
