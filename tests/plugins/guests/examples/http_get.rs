//! Sends one request as its config says and reports the size of the body as `body`, in bytes, and
//! the headers as `headers`. It logs the URL that answered.

use std::collections::BTreeMap;

use probehost_sdk::http::Request;
use probehost_sdk::{ConfigError, Plan, Probe, Problem, Run, Unit, Url, log};

#[probehost_sdk::config]
struct Config {
    /// Where the request goes.
    url: Url,
    /// The method.
    #[serde(default = "get")]
    method: String,
    /// How many bytes of the body to read.
    #[serde(default = "limit")]
    limit: u32,
    /// How many redirects to follow; the host sees to its own limit.
    #[serde(default)]
    redirects: u8,
    /// Request headers, as they stand.
    #[serde(default)]
    headers: BTreeMap<String, String>,
}

fn get() -> String {
    "GET".to_owned()
}

fn limit() -> u32 {
    64 << 10
}

struct Fixture;

impl Probe for Fixture {
    type Config = Config;
    const DESCRIPTION: &'static str = "Sends one request.";

    fn plan(config: &Config) -> Result<Plan, ConfigError> {
        Ok(Plan::http(&config.url))
    }

    fn check(config: &Config, run: &mut Run) -> Result<(), Problem> {
        let headers = config.headers.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        let request = Request::new(&config.method, &config.url)
            .headers(headers)
            .redirects(config.redirects)
            .body_limit(config.limit);
        let answer = run.record(request.send())?;
        log::info(&answer.url);
        run.measure("body", Unit::Bytes, answer.body.len() as f64);
        run.measure("headers", Unit::Number, answer.headers.len() as f64);
        Ok(())
    }
}

probehost_sdk::plugin!(Fixture);
