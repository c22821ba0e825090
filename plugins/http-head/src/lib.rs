//! The probe kind `http-head`: an HTTP upstream that answers below 500 is well.
//!
//! It sends HEAD to the base URL plus the optional health path, once, on a fresh connection.
//! Any answer below 500 passes, for it comes from something that is up: a 405 says no more
//! than that HEAD is not allowed.

use probehost_sdk::http::Request;
use probehost_sdk::{ConfigError, Headers, Plan, Probe, Problem, Reason, Run, Url};

/// How many redirects a check may follow.
const MAX_REDIRECTS: u8 = 10;

/// Config of a check of kind `http-head`.
#[probehost_sdk::config]
pub struct Config {
    /// Base URL, http or https, without a user part.
    url: Url,
    /// Health path, joined to the base URL with one slash. It may hold a query.
    #[serde(default)]
    path: String,
    /// Request headers.
    #[serde(default)]
    headers: Headers,
    /// How many redirects to follow; each hop must be granted. With 0 a redirect is an answer.
    #[serde(default)]
    #[schemars(range(max = MAX_REDIRECTS))]
    redirects: u8,
}

impl Config {
    /// Where the request goes.
    fn target(&self) -> Result<Url, ConfigError> {
        self.url.join(&self.path).map_err(|error| ConfigError::at("path", error.to_string()))
    }
}

/// The probe kind.
#[derive(Debug)]
pub struct HttpHead;

impl Probe for HttpHead {
    type Config = Config;
    const DESCRIPTION: &'static str = "Whether an HTTP upstream answers a HEAD request below 500.";

    fn plan(config: &Config) -> Result<Plan, ConfigError> {
        if config.redirects > MAX_REDIRECTS {
            let message = format!("{} is too many, at most {MAX_REDIRECTS}", config.redirects);
            return Err(ConfigError::at("redirects", message));
        }
        Ok(Plan::http(&config.target()?))
    }

    fn check(config: &Config, run: &mut Run) -> Result<(), Problem> {
        let target = config.target()?;
        let request =
            Request::head(&target).headers(config.headers.iter()).redirects(config.redirects);
        let answer = run.record(request.send())?;
        if answer.status < 500 {
            return Ok(());
        }
        // After redirects it is another one that is unwell.
        let answered = Url::parse(&answer.url).unwrap_or(target);
        let (who, path) = (answered.origin().authority(), answered.path());
        let message = format!("{who} answered {} to HEAD {path}", answer.status_line());
        Err(Problem::failure(Reason::Answer, message))
    }
}

probehost_sdk::plugin!(HttpHead);

#[cfg(test)]
mod tests;
