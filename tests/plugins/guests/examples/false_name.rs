//! Says that it is `http-head`, of a version that is far ahead.

use probehost_test_guests::{Manifest, Odd, manifest};

struct Fixture;

impl Odd for Fixture {
    fn describe(krate: &str) -> Manifest {
        Manifest { name: "http-head".to_owned(), version: "999.0.0".to_owned(), ..manifest(krate) }
    }
}

probehost_test_guests::odd!(Fixture);
