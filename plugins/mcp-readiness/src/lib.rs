//! The probe kind `mcp-readiness`: an MCP server that initializes and lists its tools is ready.
//!
//! It speaks to a URL, or to a program that the operator has named. It says `initialize` and
//! `notifications/initialized`, reads all pages of `tools/list`, calls one tool if the check wants
//! that, and ends the session. Credentials are named, and put on the wire by the host.

use std::time::{Duration, Instant};

use probehost_sdk::{ConfigError, Headers, Plan, Probe, Problem, Run, Unit, Url};
use serde_json::{Map, Value};

mod http;
mod rpc;
mod session;
mod sse;
mod stdio;
mod transport;

use http::Http;
use session::Session;
use stdio::Stdio;

/// Config of a check of kind `mcp-readiness`.
#[probehost_sdk::config]
pub struct Config {
    /// Where the server is, for streamable HTTP. Either this or `command`.
    url: Option<Url>,
    /// The program that is the server, by the name that it has under `[commands]` of the host's
    /// config, for standard input and output.
    command: Option<String>,
    /// Request headers, for HTTP. A value is a text, or a secret by its name.
    #[serde(default)]
    headers: Headers,
    /// Tools that must be there.
    #[serde(default)]
    tools: Vec<String>,
    /// A tool to call.
    call: Option<Call>,
}

/// A tool to call.
#[probehost_sdk::config]
struct Call {
    /// Its name.
    tool: String,
    /// What it is given.
    #[serde(default)]
    arguments: Map<String, Value>,
}

/// The probe kind.
#[derive(Debug)]
pub struct McpReadiness;

impl Probe for McpReadiness {
    type Config = Config;
    const DESCRIPTION: &'static str = "Whether an MCP server initializes and lists its tools.";
    const TIMEOUT: Duration = Duration::from_secs(10);

    fn plan(config: &Config) -> Result<Plan, ConfigError> {
        if config.call.as_ref().is_some_and(|call| call.tool.is_empty()) {
            return Err(ConfigError::at("call.tool", "is empty; name the tool to call"));
        }
        match (&config.url, &config.command) {
            (Some(url), None) => Ok(Plan::http(url)),
            (None, Some(command)) if command.is_empty() => {
                Err(ConfigError::at("command", "is empty; give a name of [commands]"))
            }
            (None, Some(_)) if config.headers.iter().next().is_some() => {
                Err(ConfigError::at("headers", "are of HTTP; take them out, or give a `url`"))
            }
            (None, Some(command)) => Ok(Plan::process(command)),
            (None, None) => Err(ConfigError::at("url", "is missing; give it, or a `command`")),
            (Some(_), Some(_)) => {
                Err(ConfigError::at("command", "stands beside `url`; give one of the two"))
            }
        }
    }

    fn check(config: &Config, run: &mut Run) -> Result<(), Problem> {
        let started = Instant::now();
        let verdict = match (&config.url, &config.command) {
            (Some(url), _) => over_http(url, config, run),
            (None, Some(command)) => {
                let mut transport = Stdio::start(command)?;
                Session::new(&mut transport).run(config, run)
            }
            (None, None) => Err(ConfigError::at("url", "is missing").into()),
        };
        run.measure("total", Unit::Seconds, started.elapsed().as_secs_f64());
        verdict
    }
}

/// The phases of the transport are those of the first request.
fn over_http(url: &Url, config: &Config, run: &mut Run) -> Result<(), Problem> {
    let mut transport = Http::new(url, &config.headers);
    let verdict = Session::new(&mut transport).run(config, run);
    if let Some(first) = &transport.first {
        for (name, seconds) in [
            ("dns", first.timings.dns),
            ("connect", first.timings.connect),
            ("tls", first.timings.tls),
            ("first_byte", first.timings.first_byte),
        ] {
            if let Some(seconds) = seconds {
                run.measure(name, Unit::Seconds, seconds);
            }
        }
        if let Some(certificate) = &first.certificate {
            run.measure("certificate_days", Unit::Days, certificate.days_left);
        }
    }
    verdict
}

probehost_sdk::plugin!(McpReadiness);

#[cfg(test)]
mod tests;
