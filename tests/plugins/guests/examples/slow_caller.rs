//! Sends its request again and again in one run, and reports how many were answered as
//! `answered`.

use probehost_sdk::http::Request;
use probehost_sdk::{ConfigError, Plan, Probe, Problem, Run, Unit, Url};

#[probehost_sdk::config]
struct Config {
    /// Where the request goes.
    url: Url,
    /// How many requests.
    calls: u32,
}

struct Fixture;

impl Probe for Fixture {
    type Config = Config;
    const DESCRIPTION: &'static str = "Sends many requests.";

    fn plan(config: &Config) -> Result<Plan, ConfigError> {
        Ok(Plan::http(&config.url))
    }

    fn check(config: &Config, run: &mut Run) -> Result<(), Problem> {
        let mut answered = 0_u32;
        for _ in 0..config.calls {
            Request::head(&config.url).send()?;
            answered += 1;
        }
        run.measure("answered", Unit::Number, answered.into());
        Ok(())
    }
}

probehost_sdk::plugin!(Fixture);
