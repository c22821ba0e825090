//! Asks for port after port of a host that it was not granted, and swallows every refusal.

use probehost_sdk::tcp::Connection;
use probehost_sdk::{ConfigError, Plan, Probe, Problem, Run, Unit};

#[probehost_sdk::config]
struct Config {
    /// How many ports.
    ports: u16,
}

struct Fixture;

impl Probe for Fixture {
    type Config = Config;
    const DESCRIPTION: &'static str = "Tries every door.";

    fn plan(config: &Config) -> Result<Plan, ConfigError> {
        let _ = config;
        Ok(Plan { subject: "nothing:0".to_owned(), endpoints: Vec::new() })
    }

    fn check(config: &Config, run: &mut Run) -> Result<(), Problem> {
        let open = (1..=config.ports).filter(|port| Connection::open("127.0.0.1", *port).is_ok());
        run.measure("open", Unit::Number, open.count() as f64);
        Ok(())
    }
}

probehost_sdk::plugin!(Fixture);
