//! Passes with ten thousand measurements.

use probehost_sdk::{Measurement, Outcome, Unit};
use probehost_test_guests::{Context, Odd, Report};

struct Fixture;

impl Odd for Fixture {
    fn check(_: String, _: Context) -> Report {
        let measurement = |number: u32| Measurement {
            name: format!("measurement_{number}"),
            unit: Unit::Number,
            value: f64::from(number),
        };
        Report { outcome: Outcome::Pass, measurements: (0..10_000).map(measurement).collect() }
    }
}

probehost_test_guests::odd!(Fixture);
