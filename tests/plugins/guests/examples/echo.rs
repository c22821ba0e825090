//! Answers what its config says, without network: the well-behaved one.

use probehost_sdk::{ConfigError, Plan, Probe, Problem, Reason, Run, Unit, log};

#[probehost_sdk::config]
struct Config {
    /// What to answer.
    #[serde(default)]
    outcome: Answer,
    /// Which reason to fail with.
    reason: Option<Why>,
    /// The message of a failure, or why nothing can be said.
    #[serde(default)]
    message: String,
    /// How many measurements to report: `echo_0` and so on, each of its own number.
    #[serde(default)]
    measurements: u32,
    /// How many lines to log: `line 0` and so on.
    #[serde(default)]
    lines: u32,
    /// The subject of the plan.
    subject: Option<String>,
}

#[probehost_sdk::config]
#[derive(Default, Clone, Copy)]
#[serde(rename_all = "lowercase")]
enum Answer {
    #[default]
    Pass,
    Fail,
    Inconclusive,
}

#[probehost_sdk::config]
#[derive(Clone, Copy)]
#[serde(rename_all = "kebab-case")]
enum Why {
    Config,
    Timeout,
    HostKey,
    Tls,
    Auth,
    Network,
    Answer,
    Stopped,
    Oom,
    Unknown,
}

struct Fixture;

impl Probe for Fixture {
    type Config = Config;
    const DESCRIPTION: &'static str = "Answers what its config says.";

    fn plan(config: &Config) -> Result<Plan, ConfigError> {
        let subject = config.subject.clone().unwrap_or_else(|| "echo:0".to_owned());
        Ok(Plan { subject, endpoints: Vec::new() })
    }

    fn check(config: &Config, run: &mut Run) -> Result<(), Problem> {
        for number in 0..config.lines {
            log::info(&format!("line {number}"));
        }
        for number in 0..config.measurements {
            run.measure(format!("echo_{number}"), Unit::Number, number.into());
        }
        let reason = match config.reason {
            Some(Why::Config) => Reason::Config,
            Some(Why::Timeout) => Reason::Timeout,
            Some(Why::HostKey) => Reason::HostKey,
            Some(Why::Tls) => Reason::Tls,
            Some(Why::Auth) => Reason::Auth,
            Some(Why::Network) => Reason::Network,
            Some(Why::Answer) => Reason::Answer,
            Some(Why::Stopped) => Reason::Stopped,
            Some(Why::Oom) => Reason::Oom,
            Some(Why::Unknown) | None => Reason::Unknown,
        };
        match config.outcome {
            Answer::Pass => Ok(()),
            Answer::Fail => Err(Problem::failure(reason, config.message.as_str())),
            Answer::Inconclusive => Err(Problem::inconclusive(config.message.as_str())),
        }
    }
}

probehost_sdk::plugin!(Fixture);
