//! Describes itself with a name that no probe kind can have.

use probehost_test_guests::{Manifest, Odd, manifest};

struct Fixture;

impl Odd for Fixture {
    fn describe(krate: &str) -> Manifest {
        Manifest { name: "Bad Manifest!".to_owned(), ..manifest(krate) }
    }
}

probehost_test_guests::odd!(Fixture);
