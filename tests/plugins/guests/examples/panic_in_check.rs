//! Panics in `check`, with a text that names a number from its config.

use probehost_sdk::{ConfigError, Plan, Probe, Problem, Run};

#[probehost_sdk::config]
struct Config {
    /// The number in the text.
    #[serde(default)]
    number: u32,
}

struct Fixture;

impl Probe for Fixture {
    type Config = Config;
    const DESCRIPTION: &'static str = "Panics.";

    fn plan(config: &Config) -> Result<Plan, ConfigError> {
        let _ = config;
        Ok(Plan { subject: "nothing:0".to_owned(), endpoints: Vec::new() })
    }

    #[allow(clippy::panic, reason = "that is the point")]
    fn check(config: &Config, run: &mut Run) -> Result<(), Problem> {
        let _ = run;
        panic!("the probe lost its way at {}", config.number)
    }
}

probehost_sdk::plugin!(Fixture);
