//! The probe kind `tls-expiry`: whether a server's TLS certificate is good, and for long enough.
//!
//! An example of a probe that looks at what the host knows of a connection. An expired or otherwise
//! bad certificate is a `tls` failure, one that is good for too few days only is an `answer`.

use probehost_sdk::tcp::{Connection, TlsMode};
use probehost_sdk::{ConfigError, Plan, Probe, Problem, Reason, Run};

/// Config of a check of kind `tls-expiry`.
#[probehost_sdk::config]
pub struct Config {
    /// A name or an IP address, without brackets.
    host: String,
    /// Usually 443.
    #[schemars(range(min = 1))]
    port: u16,
    /// The name that the certificate has to be for, where it is not the host's.
    #[serde(default)]
    server_name: Option<String>,
    /// How many days the certificate has to be good for.
    #[serde(default = "fortnight")]
    days: u16,
    /// Whether the certificate has to be one that the host trusts. Without, only its dates count:
    /// for private authorities that the host does not know.
    #[serde(default = "yes")]
    trusted: bool,
}

fn fortnight() -> u16 {
    14
}

fn yes() -> bool {
    true
}

/// The probe kind.
#[derive(Debug)]
pub struct TlsExpiry;

impl Probe for TlsExpiry {
    type Config = Config;
    const DESCRIPTION: &'static str = "Whether a TLS certificate is good, and for long enough.";

    fn plan(config: &Config) -> Result<Plan, ConfigError> {
        if config.host.is_empty() {
            return Err(ConfigError::at("host", "is empty; name the server"));
        }
        if config.port == 0 {
            return Err(ConfigError::at("port", "must be from 1 to 65535"));
        }
        if config.server_name.as_ref().is_some_and(String::is_empty) {
            return Err(ConfigError::at("server_name", "is empty; leave it out, or name one"));
        }
        Ok(Plan::tcp(&config.host, config.port))
    }

    fn check(config: &Config, run: &mut Run) -> Result<(), Problem> {
        let mut server = run.record_tcp(Connection::open(&config.host, config.port))?;
        let mode = if config.trusted { TlsMode::Verify } else { TlsMode::Inspect };
        let done = match &config.server_name {
            Some(name) => server.start_tls_for(name, mode),
            None => server.start_tls(mode),
        };
        // A certificate that was refused has been measured, too.
        run.record_tls(&server, done)?;
        let who = server.peer();
        let Some(certificate) = server.certificate() else {
            return Err(Problem::inconclusive(format!("{who} showed no certificate to be read")));
        };
        judge(who, certificate.days_left, config.days)
    }
}

/// Whether so many days are enough.
fn judge(who: &str, left: f64, wanted: u16) -> Result<(), Problem> {
    if left < 0.0 {
        let message = format!("the certificate of {who} expired {:.1} days ago", -left);
        return Err(Problem::failure(Reason::Tls, message));
    }
    if left < f64::from(wanted) {
        let message =
            format!("the certificate of {who} expires in {left:.1} days, {wanted} are wanted");
        return Err(Problem::failure(Reason::Answer, message));
    }
    Ok(())
}

probehost_sdk::plugin!(TlsExpiry);

#[cfg(test)]
mod tests;
