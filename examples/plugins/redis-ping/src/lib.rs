//! The probe kind `redis-ping`: whether a Redis server answers `PING` with `PONG`.
//!
//! An example of a probe that speaks a protocol of its own over a connection. It has no password to
//! give: of a server that wants one it can be said that it does.

use std::time::Instant;

use probehost_sdk::tcp::{Connection, TlsMode};
use probehost_sdk::{ConfigError, Plan, Probe, Problem, Reason, Run, Unit};

/// Longest answer to `PING`, in bytes.
const MAX_ANSWER: u32 = 512;

/// Config of a check of kind `redis-ping`.
#[probehost_sdk::config]
pub struct Config {
    /// A name or an IP address, without brackets.
    host: String,
    /// Usually 6379.
    #[schemars(range(min = 1))]
    port: u16,
    /// Whether the server speaks TLS. Its certificate has to be good.
    #[serde(default)]
    tls: bool,
    /// Whether the server wants a password. Then it is well when it says so, and unwell when it
    /// answers without one.
    #[serde(default)]
    password: bool,
}

/// The probe kind.
#[derive(Debug)]
pub struct RedisPing;

impl Probe for RedisPing {
    type Config = Config;
    const DESCRIPTION: &'static str = "Whether a Redis server answers PING.";

    fn plan(config: &Config) -> Result<Plan, ConfigError> {
        if config.host.is_empty() {
            return Err(ConfigError::at("host", "is empty; name the server"));
        }
        if config.port == 0 {
            return Err(ConfigError::at("port", "must be from 1 to 65535"));
        }
        Ok(Plan::tcp(&config.host, config.port))
    }

    fn check(config: &Config, run: &mut Run) -> Result<(), Problem> {
        let mut redis = run.record_tcp(Connection::open(&config.host, config.port))?;
        if config.tls {
            let done = redis.start_tls(TlsMode::Verify);
            run.record_tls(&redis, done)?;
        }
        let asked = Instant::now();
        redis.write(b"PING\r\n")?;
        let answer = redis.read_line(MAX_ANSWER)?;
        run.measure("answer", Unit::Seconds, asked.elapsed().as_secs_f64());
        let who = redis.peer();
        let Some(answer) = answer else {
            let message = format!("{who} closed the connection instead of answering PING");
            return Err(Problem::failure(Reason::Network, message));
        };
        judge(who, &answer, config.password)
    }
}

/// What an answer says of the server. Messages hold none of its text.
fn judge(who: &str, answer: &[u8], password: bool) -> Result<(), Problem> {
    let (reason, what) = match (answer, password) {
        (b"+PONG", false) => return Ok(()),
        (b"+PONG", true) => (Reason::Answer, "answers without a password"),
        (answer, true) if answer.starts_with(b"-NOAUTH ") => return Ok(()),
        (answer, false) if answer.starts_with(b"-NOAUTH ") => (Reason::Auth, "wants a password"),
        (answer, _) if answer.starts_with(b"-DENIED ") => {
            (Reason::Auth, "is in protected mode and answers its own machine only")
        }
        (answer, _) if answer.starts_with(b"-LOADING ") => {
            (Reason::Answer, "is still loading its data")
        }
        (answer, _) if answer.starts_with(b"-MASTERDOWN ") => {
            (Reason::Answer, "is a replica without its master")
        }
        (answer, _) if answer.starts_with(b"-") => (Reason::Answer, "answers PING with an error"),
        _ => (Reason::Answer, "does not speak the protocol of Redis"),
    };
    Err(Problem::failure(reason, format!("{who} {what}")))
}

probehost_sdk::plugin!(RedisPing);

#[cfg(test)]
mod tests;
