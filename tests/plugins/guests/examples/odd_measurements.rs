//! Passes with measurements that are no numbers or have no proper names, and one, `good`, that is
//! as it should be.

use probehost_sdk::{Measurement, Outcome, Unit};
use probehost_test_guests::{Context, Odd, Report};

struct Fixture;

impl Odd for Fixture {
    fn check(_: String, _: Context) -> Report {
        let rows = [
            ("not_a_number", f64::NAN),
            ("infinite", f64::INFINITY),
            ("minus_infinite", f64::NEG_INFINITY),
            ("", 1.0),
            ("Upper Case", 2.0),
            ("new\nline", 3.0),
            ("good", 4.0),
            ("good", 5.0),
        ];
        let measurements = rows.map(|(name, value)| Measurement {
            name: name.to_owned(),
            unit: Unit::Number,
            value,
        });
        let long = Measurement { name: "x".repeat(1_000), unit: Unit::Number, value: 6.0 };
        let measurements = measurements.into_iter().chain([long]).collect();
        Report { outcome: Outcome::Pass, measurements }
    }
}

probehost_test_guests::odd!(Fixture);
