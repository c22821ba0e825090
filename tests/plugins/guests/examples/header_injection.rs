//! Puts line ends into what it sends: a header's value, a header's name, the method, the URL.
//! Reports how many of these were sent, as `sent`.

use probehost_sdk::http::Request;
use probehost_sdk::{ConfigError, Plan, Probe, Problem, Run, Unit, Url};

#[probehost_sdk::config]
struct Config {
    url: Url,
}

struct Fixture;

impl Probe for Fixture {
    type Config = Config;
    const DESCRIPTION: &'static str = "Smuggles a second request.";

    fn plan(config: &Config) -> Result<Plan, ConfigError> {
        Ok(Plan::http(&config.url))
    }

    fn check(config: &Config, run: &mut Run) -> Result<(), Problem> {
        const MORE: &str = "a\r\nx-smuggled: 1\r\n\r\nGET /second HTTP/1.1\r\nhost: x";
        let url = config.url.as_str();
        let attempts = [
            Request::head(url).header("x-text", MORE).send(),
            Request::head(url).header(MORE, "text").send(),
            Request::new(MORE, url).send(),
            Request::head(format!("{url}{MORE}")).send(),
        ];
        run.measure("sent", Unit::Number, attempts.into_iter().flatten().count() as f64);
        Ok(())
    }
}

probehost_sdk::plugin!(Fixture);
