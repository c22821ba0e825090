//! Plans a hundred thousand endpoints, and a subject of a megabyte.

use probehost_sdk::Endpoint;
use probehost_test_guests::{ConfigError, Odd, Plan};

struct Fixture;

impl Odd for Fixture {
    fn plan(_: String) -> Result<Plan, ConfigError> {
        let endpoint = |number| Endpoint::Container(format!("container-{number}"));
        Ok(Plan { subject: "x".repeat(1 << 20), endpoints: (0..100_000).map(endpoint).collect() })
    }
}

probehost_test_guests::odd!(Fixture);
