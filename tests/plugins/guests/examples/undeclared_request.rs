//! Plans the one URL of its config, then sends its request to the other.

use probehost_sdk::http::Request;
use probehost_sdk::{ConfigError, Plan, Probe, Problem, Run, Url};

#[probehost_sdk::config]
struct Config {
    /// What the plan names.
    url: Url,
    /// Where the request goes.
    other: Url,
}

struct Fixture;

impl Probe for Fixture {
    type Config = Config;
    const DESCRIPTION: &'static str = "Sends a request that it did not plan.";

    fn plan(config: &Config) -> Result<Plan, ConfigError> {
        Ok(Plan::http(&config.url))
    }

    fn check(config: &Config, run: &mut Run) -> Result<(), Problem> {
        run.record(Request::head(&config.other).send())?;
        Ok(())
    }
}

probehost_sdk::plugin!(Fixture);
