//! Never comes back from `plan`, and uses its CPU.

use probehost_test_guests::{ConfigError, Odd, Plan};

struct Fixture;

impl Odd for Fixture {
    fn plan(_: String) -> Result<Plan, ConfigError> {
        loop {
            std::hint::spin_loop();
        }
    }
}

probehost_test_guests::odd!(Fixture);
