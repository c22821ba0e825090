//! Counts its runs in a static and reports the count as `runs`. Of fresh instances it is 1,
//! always.

use std::sync::atomic::{AtomicU32, Ordering};

use probehost_sdk::{ConfigError, Plan, Probe, Problem, Run, Unit};

#[probehost_sdk::config]
struct Config {
    /// How many bytes to keep in memory from this run on.
    #[serde(default)]
    keep: usize,
}

static RUNS: AtomicU32 = AtomicU32::new(0);

struct Fixture;

impl Probe for Fixture {
    type Config = Config;
    const DESCRIPTION: &'static str = "Counts its runs.";

    fn plan(config: &Config) -> Result<Plan, ConfigError> {
        let _ = config;
        Ok(Plan { subject: "nothing:0".to_owned(), endpoints: Vec::new() })
    }

    fn check(config: &Config, run: &mut Run) -> Result<(), Problem> {
        let runs = RUNS.fetch_add(1, Ordering::Relaxed) + 1;
        run.measure("runs", Unit::Number, runs.into());
        std::mem::forget(std::hint::black_box(vec![runs; config.keep / size_of::<u32>()]));
        Ok(())
    }
}

probehost_sdk::plugin!(Fixture);
