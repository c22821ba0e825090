//! Opens connections until it may not, and never gives one back; reports how many as `open`.

use probehost_sdk::tcp::{Connection, ErrorKind};
use probehost_sdk::{ConfigError, Plan, Probe, Problem, Run, Unit};

#[probehost_sdk::config]
struct Config {
    host: String,
    port: u16,
}

struct Fixture;

impl Probe for Fixture {
    type Config = Config;
    const DESCRIPTION: &'static str = "Leaves connections open.";

    fn plan(config: &Config) -> Result<Plan, ConfigError> {
        Ok(Plan::tcp(&config.host, config.port))
    }

    fn check(config: &Config, run: &mut Run) -> Result<(), Problem> {
        let mut open = 0_u32;
        loop {
            match Connection::open(&config.host, config.port) {
                Ok(connection) => std::mem::forget(connection),
                Err(error) if error.kind == ErrorKind::Invalid => break,
                Err(error) => return Err(error.into()),
            }
            open += 1;
        }
        run.measure("open", Unit::Number, open.into());
        Ok(())
    }
}

probehost_sdk::plugin!(Fixture);
