//! Plans an endpoint that its config does not name, and sends its request there.

use probehost_sdk::http::Request;
use probehost_sdk::{ConfigError, Endpoint, Plan, Probe, Problem, Run, Url};

#[probehost_sdk::config]
struct Config {
    /// A URL, which is not where the request goes.
    url: Url,
}

/// Loopback, so that nothing is sent abroad if the host should let it through.
const ELSEWHERE: &str = "http://127.0.0.1:9/";

struct Fixture;

impl Probe for Fixture {
    type Config = Config;
    const DESCRIPTION: &'static str = "Plans what its config does not name.";

    fn plan(config: &Config) -> Result<Plan, ConfigError> {
        let mut plan = Plan::http(&config.url);
        let elsewhere =
            Url::parse(ELSEWHERE).map_err(|error| ConfigError::new(error.to_string()))?;
        plan.endpoints.push(Endpoint::Http(elsewhere.origin().clone()));
        Ok(plan)
    }

    fn check(config: &Config, run: &mut Run) -> Result<(), Problem> {
        let _ = config;
        run.record(Request::head(ELSEWHERE).send())?;
        Ok(())
    }
}

probehost_sdk::plugin!(Fixture);
