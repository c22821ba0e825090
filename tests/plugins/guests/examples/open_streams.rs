//! Opens answers until it may not, gives one back and opens another; reads `pieces` of that one and
//! gives back none of the rest. It reports how many it could open as `open`, and the bytes as `bytes`.

use probehost_sdk::http::{ErrorKind, Request};
use probehost_sdk::{ConfigError, Plan, Probe, Problem, Run, Unit, Url};

#[probehost_sdk::config]
struct Config {
    /// Where the requests go.
    url: Url,
    /// How many pieces of the last answer to read.
    pieces: u32,
}

struct Fixture;

impl Probe for Fixture {
    type Config = Config;
    const DESCRIPTION: &'static str = "Leaves answers open.";

    fn plan(config: &Config) -> Result<Plan, ConfigError> {
        Ok(Plan::http(&config.url))
    }

    fn check(config: &Config, run: &mut Run) -> Result<(), Problem> {
        let mut open = Vec::new();
        loop {
            match Request::get(&config.url).open() {
                Ok((_, body)) => open.push(body),
                Err(error) if error.kind == ErrorKind::Denied => break,
                Err(error) => return Err(error.into()),
            }
        }
        run.measure("open", Unit::Number, open.len() as f64);
        open.pop();
        let (_, last) = Request::get(&config.url).open()?;
        let mut bytes = 0;
        for _ in 0..config.pieces {
            bytes += last.read(1 << 10)?.map_or(0, |piece| piece.len());
        }
        run.measure("bytes", Unit::Bytes, bytes as f64);
        open.push(last);
        std::mem::forget(open);
        Ok(())
    }
}

probehost_sdk::plugin!(Fixture);
