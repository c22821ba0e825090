//! What of this machine a single probe may use, as arguments; and the check that it is.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use probehost_capability::process::Command;
use probehost_model::{CheckId, Thresholds, Timestamp};
use probehost_monitor::ports::CheckSeen;
use serde_json::Value;

use crate::app::Setup;

/// What of this machine a probe may use.
#[derive(Debug, Default, Args)]
pub(crate) struct MachineArgs {
    /// A PEM file of certificates to trust, besides the system's. Can be given again.
    #[arg(long = "ca-file", value_name = "FILE")]
    ca_files: Vec<PathBuf>,
    /// The file of known hosts by which SSH jump hosts are verified, and to which new ones are
    /// added. Without it, ~/.ssh/known_hosts.
    #[arg(long = "known-hosts", value_name = "FILE")]
    known_hosts: Option<PathBuf>,
    /// A folder with one file for each secret. They are looked for in the environment too, as
    /// PROBEHOST_SECRET_NAME.
    #[arg(long, value_name = "DIR")]
    secrets: Option<PathBuf>,
    /// A file of secrets, name = "text" in TOML. Nobody but its owner may use it.
    #[arg(long = "secrets-file", value_name = "FILE")]
    secrets_file: Option<PathBuf>,
    /// The address of the container engine. Without it, Docker's usual socket.
    #[arg(long, value_name = "unix:///PATH or tcp://HOST:PORT")]
    engine: Option<String>,
    /// A folder with ca.pem, cert.pem and key.pem, for TLS with an engine on a TCP port.
    #[arg(long = "engine-tls", value_name = "DIR")]
    engine_tls: Option<PathBuf>,
    /// A program that the plugin may talk to, by the name that the config gives: its words as a
    /// JSON list. Can be given again.
    #[arg(long = "command", value_name = "NAME=[\"PROGRAM\",…]", value_parser = command)]
    commands: Vec<(String, Command)>,
}

impl MachineArgs {
    /// For one probe at a time, with no plugins but the built-in ones.
    pub(crate) fn setup(&self) -> Setup {
        Setup {
            root_files: self.ca_files.clone(),
            known_hosts: self.known_hosts.clone(),
            secrets: self.secrets.clone(),
            secrets_file: self.secrets_file.clone(),
            engine: self.engine.clone(),
            engine_tls: self.engine_tls.clone(),
            commands: self.commands.iter().cloned().collect(),
            concurrency: 1,
            ..Setup::default()
        }
    }
}

/// A check that no file holds.
pub(crate) fn check(kind: &str, config: &Value, timeout: Duration) -> CheckSeen {
    CheckSeen {
        id: CheckId::new("command-line", kind),
        target_name: kind.to_owned(),
        kind: kind.to_owned(),
        config: config.to_string().into(),
        interval: None,
        timeout,
        thresholds: Thresholds { failure: 1, inconclusive: 1 },
        seen_updated_at: Timestamp::from_micros(0),
        managed: false,
        last_attempt_at: None,
    }
}

/// A deadline as an argument.
pub(crate) fn seconds(text: &str) -> Result<Duration, String> {
    let wrong = || format!("{text:?} is not a time; give seconds, more than 0: 2.5");
    let seconds = text.parse::<f64>().map_err(|_| wrong())?;
    let time = Duration::try_from_secs_f64(seconds).map_err(|_| wrong())?;
    if time.is_zero() { Err(wrong()) } else { Ok(time) }
}

/// `NAME=["PROGRAM","ARGUMENT"]`
fn command(text: &str) -> Result<(String, Command), String> {
    let like = "write NAME=[\"PROGRAM\",\"ARGUMENT\"]";
    let (name, words) = text.split_once('=').ok_or(like)?;
    let argv: Vec<String> =
        serde_json::from_str(words).map_err(|error| format!("{error}; {like}"))?;
    if argv.is_empty() {
        return Err(like.to_owned());
    }
    Ok((name.to_owned(), Command { argv, env: Vec::new(), cwd: None }))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// P10: a timeout that is none is refused.
    #[test]
    fn a_timeout_is_more_than_nothing() {
        assert_eq!(seconds("2.5"), Ok(Duration::from_millis(2500)));
        for wrong in ["0", "-1", "NaN", "soon", "1e30"] {
            assert!(seconds(wrong).is_err(), "{wrong}");
        }
    }
}
