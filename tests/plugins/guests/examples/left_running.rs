//! Starts programs until it may not, says their process ids, and gives none of them back.

use probehost_sdk::process::{ErrorKind, start};
use probehost_sdk::{ConfigError, Plan, Probe, Problem, Run, log};

#[probehost_sdk::config]
struct Config {
    command: String,
}

struct Fixture;

impl Probe for Fixture {
    type Config = Config;
    const DESCRIPTION: &'static str = "Leaves programs running.";

    fn plan(config: &Config) -> Result<Plan, ConfigError> {
        Ok(Plan::process(&config.command))
    }

    fn check(config: &Config, _: &mut Run) -> Result<(), Problem> {
        loop {
            let child = match start(&config.command) {
                Ok(child) => child,
                Err(error) if error.kind == ErrorKind::Denied => return Ok(()),
                Err(error) => return Err(error.into()),
            };
            let line = child.read_line(100)?.unwrap_or_default();
            log::info(&String::from_utf8_lossy(&line));
            std::mem::forget(child);
        }
    }
}

probehost_sdk::plugin!(Fixture);
