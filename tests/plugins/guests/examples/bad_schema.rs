//! Describes its config with a JSON Schema that is not even JSON.

use probehost_test_guests::{Manifest, Odd, manifest};

struct Fixture;

impl Odd for Fixture {
    fn describe(krate: &str) -> Manifest {
        Manifest { config_schema: "{ url: string }".to_owned(), ..manifest(krate) }
    }
}

probehost_test_guests::odd!(Fixture);
