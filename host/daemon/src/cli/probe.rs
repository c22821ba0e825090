//! `probehost probe KIND key=value…`: one probe, without a store.

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use probehost_capability::process::Command;
use probehost_config::PluginSettings;
use probehost_model::{CheckId, Measurement, Outcome, Thresholds, Timestamp, Unit};
use probehost_monitor::Evidence;
use probehost_monitor::ports::{CheckSeen, NoEvidence, Prober};
use serde_json::{Map, Value, json};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::USAGE;
use crate::app::{AppError, Kinds, Setup};

#[derive(Debug, Args)]
pub(crate) struct ProbeArgs {
    /// The probe kind: container-inspect, http-head, mcp-readiness, ssh-handshake, or a plugin of the
    /// directory.
    kind: String,
    /// The check's config, key by key: url=https://example.com redirects=2 headers.accept=*/*
    #[arg(value_name = "KEY=VALUE")]
    config: Vec<String>,
    /// Where further plugins (*.wasm) are.
    #[arg(long, value_name = "DIR")]
    plugins: Option<PathBuf>,
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
    /// The deadline in seconds. Without it, the kind's own.
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    timeout: Option<Duration>,
    /// Print one JSON object.
    #[arg(long)]
    json: bool,
}

fn seconds(text: &str) -> Result<Duration, String> {
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

pub(crate) async fn probe(args: ProbeArgs) -> ExitCode {
    match run(&args).await {
        Ok((title, took, evidence)) => {
            if args.json {
                println!("{}", as_json(&title, took, &evidence));
            } else {
                print!("{}", as_text(&title, took, &evidence));
            }
            ExitCode::from(match evidence.outcome {
                Outcome::Pass => 0,
                Outcome::Fail(_) => 2,
                Outcome::Inconclusive { .. } => 3,
            })
        }
        Err(message) => {
            eprintln!("probehost: {message}");
            ExitCode::from(USAGE)
        }
    }
}

async fn run(args: &ProbeArgs) -> Result<(String, Duration, Evidence), String> {
    let setup = Setup {
        directory: args.plugins.clone(),
        root_files: args.ca_files.clone(),
        known_hosts: args.known_hosts.clone(),
        secrets: args.secrets.clone(),
        secrets_file: args.secrets_file.clone(),
        engine: args.engine.clone(),
        engine_tls: args.engine_tls.clone(),
        commands: args.commands.iter().cloned().collect(),
        settings: std::iter::empty::<(String, PluginSettings)>().collect(),
        concurrency: 1,
        cache: None,
        only: Some(args.kind.clone()),
    };
    let told = |error: AppError| error.to_string();
    let kinds = Arc::new(Kinds::load(&setup).await.map_err(told)?);
    let Some(plugin) = kinds.catalog().get(&args.kind) else {
        return Err(kinds.problem(&args.kind).unwrap_or_default());
    };
    let config = config(&args.config, &plugin.manifest().config_schema)?;
    let timeout = args.timeout.unwrap_or(plugin.manifest().timeout);
    let prober = Arc::new(Arc::clone(&kinds).prober(&setup).map_err(told)?);
    let check = CheckSeen {
        id: CheckId::new("command-line", &args.kind),
        target_name: args.kind.clone(),
        kind: args.kind.clone(),
        config: config.to_string().into(),
        interval: None,
        timeout,
        thresholds: Thresholds { failure: 1, inconclusive: 1 },
        seen_updated_at: Timestamp::from_micros(0),
        managed: false,
        last_attempt_at: None,
    };
    let began = Instant::now();
    let cancel = CancellationToken::new();
    let evidence =
        prober.probe(&check, began + timeout, &cancel).await.map_err(|none| match none {
            NoEvidence::NotImplemented(help) | NoEvidence::Cancelled(help) => help,
        })?;
    Ok((plugin.title(), began.elapsed(), evidence))
}

/// The config that `key=value` words spell. A dot in a key goes a level down. A value is taken
/// as text where the plugin's schema wants text there, and as JSON where it is some.
fn config(words: &[String], schema: &Value) -> Result<Value, String> {
    let mut config = Value::Object(Map::new());
    for word in words {
        let (key, value) =
            word.split_once('=').filter(|(key, _)| !key.is_empty()).ok_or_else(|| {
                format!("{word:?} is not key=value; for example url=https://example.com")
            })?;
        let mut place = &mut config;
        let mut wanted = Some(schema);
        for part in key.split('.') {
            wanted = wanted.and_then(|schema| property(schema, part));
            place = place
                .as_object_mut()
                .ok_or_else(|| format!("{key}: what stands above it is given as a value already"))?
                .entry(part)
                .or_insert_with(|| Value::Object(Map::new()));
        }
        let text = || Value::String(value.to_owned());
        *place = if wanted.is_some_and(|schema| wants_text(schema, value)) {
            text()
        } else {
            serde_json::from_str(value).unwrap_or_else(|_| text())
        };
    }
    Ok(config)
}

/// The schema of a property, or of any other one where the schema allows them.
fn property<'s>(schema: &'s Value, name: &str) -> Option<&'s Value> {
    schema
        .get("properties")
        .and_then(|properties| properties.get(name))
        .or_else(|| schema.get("additionalProperties"))
}

fn wants_text(schema: &Value, value: &str) -> bool {
    match schema.get("type") {
        Some(Value::String(kind)) => kind == "string",
        Some(Value::Array(kinds)) => {
            kinds.iter().all(|kind| kind == "string" || kind == "null")
                // A text, or a table: only what looks like a table is one.
                || (kinds.iter().any(|kind| kind == "string") && !value.starts_with('{'))
        }
        _ => false,
    }
}

fn as_text(title: &str, took: Duration, evidence: &Evidence) -> String {
    let verdict = match &evidence.outcome {
        Outcome::Pass => "PASS".to_owned(),
        Outcome::Fail(failure) => format!("FAIL {}: {}", failure.reason, failure.message()),
        Outcome::Inconclusive { error } => format!("INCONCLUSIVE: {error}"),
    };
    let mut text = format!("{title}  {}\n{verdict}\n", evidence.subject);
    let mut line = |name: &str, value: String| text.push_str(&format!("  {name:<18} {value}\n"));
    for measurement in &evidence.measurements {
        line(&measurement.name, value(measurement));
    }
    line("took", milliseconds(took.as_secs_f64()));
    if !evidence.calls.is_empty() {
        text.push_str("calls\n");
    }
    for call in &evidence.calls {
        let (at, took) = (milliseconds(call.start), milliseconds(call.took));
        text.push_str(&format!(
            "  at {at}, {took}: {} {}: {}\n",
            call.capability, call.what, call.result
        ));
    }
    if !evidence.log.is_empty() {
        text.push_str("log\n");
    }
    for entry in &evidence.log {
        text.push_str(&format!("  {:<5} {}\n", entry.level, entry.message));
    }
    text
}

fn milliseconds(seconds: f64) -> String {
    format!("{:.1} ms", seconds * 1e3)
}

fn value(measurement: &Measurement) -> String {
    let value = measurement.value;
    match measurement.unit {
        Unit::Number => format!("{value}"),
        Unit::Seconds => milliseconds(value),
        Unit::Bytes => format!("{value} bytes"),
        Unit::Days => format!("{value:.1} days"),
        Unit::Ratio => format!("{:.1} %", value * 100.0),
    }
}

fn as_json(title: &str, took: Duration, evidence: &Evidence) -> Value {
    let (reason, message) = match &evidence.outcome {
        Outcome::Pass => (None, ""),
        Outcome::Fail(failure) => (Some(failure.reason), failure.message()),
        Outcome::Inconclusive { error } => (None, error.as_str()),
    };
    json!({
        "plugin": title,
        "subject": evidence.subject,
        "outcome": evidence.outcome.as_str(),
        "reason": reason,
        "message": message,
        "took_seconds": took.as_secs_f64(),
        "measurements": evidence.measurements,
        "calls": evidence.calls,
        "log": evidence.log,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(words: &[&str]) -> Result<Value, String> {
        let schema = json!({
            "properties": {
                "url": { "type": "string" },
                "path": { "type": ["string", "null"] },
                "redirects": { "type": "integer" },
                "headers": { "type": "object", "additionalProperties": {
                    "type": ["string", "object"], "properties": { "secret": { "type": "string" } },
                } },
            },
            "additionalProperties": false,
        });
        config(&words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>(), &schema)
    }

    #[test]
    fn words_spell_a_config() {
        let spelled =
            words(&["url=http://a/?x=1", "path=1", "redirects=2", "headers.x-n=3", "odd=[1]"]);
        let config = json!({
            "url": "http://a/?x=1", "path": "1", "redirects": 2, "headers": { "x-n": "3" }, "odd": [1],
        });
        assert_eq!(spelled, Ok(config));
    }

    #[test]
    fn what_is_no_config_is_said() {
        assert!(words(&["url"]).unwrap_err().contains("key=value"));
        assert!(words(&["=x"]).unwrap_err().contains("key=value"));
        assert!(words(&["url=x", "url.y=1"]).unwrap_err().contains("url.y"));
    }

    /// P10: a timeout that is none is refused.
    #[test]
    fn a_timeout_is_more_than_nothing() {
        assert_eq!(seconds("2.5"), Ok(Duration::from_millis(2500)));
        for wrong in ["0", "-1", "NaN", "soon", "1e30"] {
            assert!(seconds(wrong).is_err(), "{wrong}");
        }
    }
}
