//! The probe kind `ssh-handshake`: an SSH host that shows the pinned host key, and lets the
//! configured identity log in, is well.
//!
//! It dials, verifies, logs in and closes. It opens no session and runs no command. A host key
//! that is not the pinned one fails with `host-key` and is never taken for the new one.

use std::time::Duration;

use probehost_sdk::ssh::{Handshake, Identity};
use probehost_sdk::{ConfigError, Interval, Plan, Probe, Problem, Run, Secret};

mod host_key;

/// Config of a check of kind `ssh-handshake`.
#[probehost_sdk::config]
pub struct Config {
    /// The host: a name or an IP address, without brackets.
    #[schemars(length(min = 1, max = 255))]
    host: String,
    /// Its SSH port.
    #[serde(default = "ssh_port")]
    #[schemars(range(min = 1))]
    port: u16,
    /// The pinned host key: its type and fingerprint (ssh-ed25519 SHA256:…), or the fingerprint
    /// alone. `probehost ssh-fingerprint HOST` shows what a host offers.
    host_key: String,
    /// Who logs in.
    #[serde(default)]
    user: String,
    /// How to log in.
    identity: Login,
    /// The host to go through. It is verified against the known hosts of the monitoring host.
    jump: Option<Jump>,
}

/// A host to go through.
#[probehost_sdk::config]
struct Jump {
    /// The jump host: a name or an IP address, without brackets.
    #[schemars(length(min = 1, max = 255))]
    host: String,
    /// Its SSH port.
    #[serde(default = "ssh_port")]
    #[schemars(range(min = 1))]
    port: u16,
    /// Who logs in there.
    user: String,
    /// How to log in there.
    identity: Login,
}

/// How to log in.
#[probehost_sdk::config]
#[serde(rename_all = "snake_case")]
enum Login {
    /// Not at all: the check ends once the host key is verified.
    None,
    /// With the keys of an agent of the monitoring host.
    Agent(Agent),
    /// With a private key in a file of the monitoring host.
    KeyFile(KeyFile),
    /// With a password: the secret that it is.
    Password(Secret),
}

/// An agent.
#[probehost_sdk::config]
struct Agent {
    /// Its socket. Without it, the one of `SSH_AUTH_SOCK`.
    socket: Option<String>,
    /// The fingerprint (SHA256:…) of the one key to use. Without it, each in turn, at most five.
    key: Option<String>,
}

/// A private key in a file.
#[probehost_sdk::config]
struct KeyFile {
    /// The file, an absolute path.
    path: String,
    /// The secret that is its passphrase.
    passphrase: Option<Secret>,
}

const fn ssh_port() -> u16 {
    22
}

impl Login {
    /// `at` is the key under which it stands.
    fn check(&self, at: &str, user: &str) -> Result<(), ConfigError> {
        match self {
            Self::None => return Ok(()),
            Self::KeyFile(file) if !file.path.starts_with('/') => {
                let at = format!("{at}identity.key_file.path");
                return Err(ConfigError::at(at, "is not an absolute path"));
            }
            Self::Agent(Agent { key: Some(key), .. }) if !host_key::is_fingerprint(key) => {
                let at = format!("{at}identity.agent.key");
                return Err(ConfigError::at(at, "is not SHA256:…, as `ssh-add -l` shows it"));
            }
            Self::Agent(_) | Self::KeyFile(_) | Self::Password(_) => {}
        }
        if user.is_empty() {
            return Err(ConfigError::at(format!("{at}user"), "is missing; say who logs in"));
        }
        Ok(())
    }

    fn identity(&self) -> Identity {
        match self {
            Self::None => Identity::none(),
            Self::Agent(agent) => Identity::agent(agent.socket.as_deref(), agent.key.as_deref()),
            Self::KeyFile(file) => Identity::key_file(&file.path, file.passphrase.as_ref()),
            Self::Password(secret) => Identity::password(secret),
        }
    }
}

/// A port of its own stands in the config as a number, and none is 0.
fn check_host(at: &str, host: &str, port: u16) -> Result<(), ConfigError> {
    if host.is_empty() || host.contains(['/', '@', '[', ']', ' ']) {
        let message = "is not a name or an address; the port and the user have keys of their own";
        return Err(ConfigError::at(format!("{at}host"), message));
    }
    if port == 0 {
        return Err(ConfigError::at(format!("{at}port"), "is 0; give the port of the SSH server"));
    }
    Ok(())
}

/// The probe kind.
#[derive(Debug)]
pub struct SshHandshake;

impl Probe for SshHandshake {
    type Config = Config;
    const DESCRIPTION: &'static str =
        "Whether an SSH host shows the pinned host key and lets one log in.";
    const INTERVAL: Interval = Interval { default: 60, minimum: 15, maximum: 3600 };
    const TIMEOUT: Duration = Duration::from_secs(10);
    const THRESHOLD: u32 = 2;
    const CONCURRENCY: Option<u32> = Some(4);

    fn plan(config: &Config) -> Result<Plan, ConfigError> {
        check_host("", &config.host, config.port)?;
        host_key::check(&config.host_key)?;
        config.identity.check("", &config.user)?;
        let plan = Plan::ssh(&config.host, config.port);
        let Some(jump) = &config.jump else { return Ok(plan) };
        check_host("jump.", &jump.host, jump.port)?;
        if matches!(jump.identity, Login::None) {
            let message = "is none; a jump host lets nobody through without a login";
            return Err(ConfigError::at("jump.identity", message));
        }
        jump.identity.check("jump.", &jump.user)?;
        Ok(plan.through(&jump.host, jump.port))
    }

    fn check(config: &Config, run: &mut Run) -> Result<(), Problem> {
        // Without a pin nothing may be dialled, whoever calls this.
        host_key::check(&config.host_key)?;
        let handshake = Handshake::new(&config.host, config.port, &config.host_key)
            .login(&config.user, config.identity.identity());
        let handshake = match &config.jump {
            None => handshake,
            Some(jump) => {
                handshake.through(&jump.host, jump.port, &jump.user, jump.identity.identity())
            }
        };
        run.record_ssh(handshake.run())?;
        Ok(())
    }
}

probehost_sdk::plugin!(SshHandshake);

#[cfg(test)]
mod tests;
