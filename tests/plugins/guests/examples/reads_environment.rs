//! Looks for what a plugin must not see, by the standard library, and reports each as 1 or as a
//! count: `variables`, `arguments`, `folders`, `files`, `written`, `connections`, `listeners`,
//! `names`. All are 0 in a good sandbox. What it could see it logs.

use std::fs;
use std::io;
use std::net::{TcpListener, TcpStream, ToSocketAddrs};

use probehost_sdk::{ConfigError, Plan, Probe, Problem, Run, Unit, log};

#[probehost_sdk::config]
struct Config {
    /// Where to try a TCP connection: `127.0.0.1:8080`.
    address: String,
}

/// How many of these worked.
fn count<T, const N: usize>(attempts: [io::Result<T>; N]) -> usize {
    attempts.into_iter().flatten().count()
}

struct Fixture;

impl Probe for Fixture {
    type Config = Config;
    const DESCRIPTION: &'static str = "Looks around.";

    fn plan(config: &Config) -> Result<Plan, ConfigError> {
        let _ = config;
        Ok(Plan { subject: "nothing:0".to_owned(), endpoints: Vec::new() })
    }

    fn check(config: &Config, run: &mut Run) -> Result<(), Problem> {
        let address = config.address.as_str();
        let counts = [
            (
                "variables",
                std::env::vars_os().inspect(|seen| log::info(&format!("{seen:?}"))).count(),
            ),
            ("arguments", std::env::args_os().count()),
            ("folders", count([fs::read_dir("/"), fs::read_dir(".")])),
            ("files", count(["/etc/passwd", "/proc/self/environ", "Cargo.toml"].map(fs::read))),
            ("written", count(["/tmp/probehost", "probehost"].map(|path| fs::write(path, "x")))),
            ("connections", count([TcpStream::connect(address)])),
            ("listeners", count([TcpListener::bind("127.0.0.1:0")])),
            ("names", count([("localhost", 80).to_socket_addrs()])),
        ];
        for (name, count) in counts {
            run.measure(name, Unit::Number, count as f64);
        }
        Ok(())
    }
}

probehost_sdk::plugin!(Fixture);
