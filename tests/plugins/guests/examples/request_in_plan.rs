//! Sends a request in `plan`, where it has no capability.

use probehost_sdk::http::Request;
use probehost_sdk::{ConfigError, Plan, Probe, Problem, Run, Url};

#[probehost_sdk::config]
struct Config {
    /// Where the request goes.
    url: Url,
}

struct Fixture;

impl Probe for Fixture {
    type Config = Config;
    const DESCRIPTION: &'static str = "Sends a request too early.";

    fn plan(config: &Config) -> Result<Plan, ConfigError> {
        let answered = Request::head(&config.url).send().is_ok();
        let mut plan = Plan::http(&config.url);
        plan.subject = format!("answered: {answered}");
        Ok(plan)
    }

    fn check(config: &Config, run: &mut Run) -> Result<(), Problem> {
        run.record(Request::head(&config.url).send())?;
        Ok(())
    }
}

probehost_sdk::plugin!(Fixture);
