//! For an author's tests: on machines that are not Wasm the capabilities are stubs, which a
//! test scripts, and a probe runs as the host would run it.
//!
//! What is scripted belongs to the test's own thread, so tests do not see each other's.
//! Calls from other threads find nothing scripted.
//!
//! ```
//! use probehost_sdk::native;
//! # use probehost_sdk::{ConfigError, Outcome, Plan, Probe, Problem, Run, Url, http};
//! # #[probehost_sdk::config]
//! # struct Config { url: Url }
//! # struct Up;
//! # impl Probe for Up {
//! #     type Config = Config;
//! #     const DESCRIPTION: &'static str = "Whether a URL answers.";
//! #     fn plan(config: &Config) -> Result<Plan, ConfigError> { Ok(Plan::http(&config.url)) }
//! #     fn check(config: &Config, run: &mut Run) -> Result<(), Problem> {
//! #         run.record(http::Request::head(&config.url).send())?;
//! #         Ok(())
//! #     }
//! # }
//!
//! native::http::answer_with(Ok(http::Response::new(204)));
//! let report = native::check::<Up>(r#"{"url": "http://example.com"}"#);
//! assert_eq!(report.outcome, Outcome::Pass);
//! assert_eq!(native::http::requests()[0].method(), "HEAD");
//! ```

pub mod container;
pub mod dns;
pub mod http;
pub mod log;
pub mod process;
pub mod ssh;
pub mod tcp;
pub mod udp;

use crate::bindings::probehost::plugin::types::{Context, Manifest};
use crate::{ConfigError, Plan, Probe, Report, Secret, guest};

/// What the plugin says of itself, for a crate `test` of version 0.0.0.
#[must_use]
pub fn describe<P: Probe>() -> Manifest {
    guest::describe::<P>("test", "0.0.0")
}

/// Reads a config, which is JSON, and plans.
///
/// # Errors
///
/// What is wrong with the config.
pub fn plan<P: Probe>(config: &str) -> Result<Plan, ConfigError> {
    guest::plan::<P>(config)
        .map_err(|error| ConfigError { path: error.path, message: error.message })
}

/// Reads a config, which is JSON, and runs one probe.
#[must_use]
pub fn check<P: Probe>(config: &str) -> Report {
    let context =
        Context { target: "target".to_owned(), check: "check".to_owned(), timeout_ms: 10_000 };
    guest::check::<P>(config, context)
}

/// A secret of this name, as a config has it.
#[must_use]
pub fn secret(name: &str) -> Secret {
    Secret::named(name)
}
