//! Passes whatever its request came to, also when the deadline expired meanwhile.

use probehost_sdk::http::Request;
use probehost_sdk::{ConfigError, Plan, Probe, Problem, Run, Url, log};

#[probehost_sdk::config]
struct Config {
    /// Where the request goes.
    url: Url,
}

struct Fixture;

impl Probe for Fixture {
    type Config = Config;
    const DESCRIPTION: &'static str = "Passes whatever happened.";

    fn plan(config: &Config) -> Result<Plan, ConfigError> {
        Ok(Plan::http(&config.url))
    }

    fn check(config: &Config, run: &mut Run) -> Result<(), Problem> {
        if let Err(error) = run.record(Request::head(&config.url).send()) {
            log::warn(&format!("ignored: {error}"));
        }
        Ok(())
    }
}

probehost_sdk::plugin!(Fixture);
