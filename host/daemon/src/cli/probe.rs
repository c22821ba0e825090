//! `probehost probe KIND key=value…`: one probe, without a store.

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use probehost_monitor::Evidence;
use probehost_monitor::ports::{NoEvidence, Prober};
use serde_json::{Map, Value};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::USAGE;
use super::machine::{self, MachineArgs, seconds};
use super::shown::{Shown, exit_code};
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
    #[command(flatten)]
    machine: MachineArgs,
    /// The deadline in seconds. Without it, the kind's own.
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    timeout: Option<Duration>,
    /// Print one JSON object.
    #[arg(long)]
    json: bool,
}

pub(crate) async fn probe(args: ProbeArgs) -> ExitCode {
    match run(&args).await {
        Ok((title, took, evidence)) => {
            let shown = Shown { title: &title, took, evidence: &evidence };
            if args.json {
                println!("{}", shown.json());
            } else {
                print!("{}", shown.text(&[], false));
            }
            exit_code(&evidence.outcome)
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
        only: Some(args.kind.clone()),
        ..args.machine.setup()
    };
    let told = |error: AppError| error.to_string();
    let kinds = Arc::new(Kinds::load(&setup).await.map_err(told)?);
    let Some(plugin) = kinds.catalog().get(&args.kind) else {
        return Err(kinds.problem(&args.kind).unwrap_or_default());
    };
    let config = config(&args.config, &plugin.manifest().config_schema)?;
    let timeout = args.timeout.unwrap_or(plugin.manifest().timeout);
    let prober = Arc::new(Arc::clone(&kinds).prober(&setup).map_err(told)?);
    let check = machine::check(&args.kind, &config, timeout);
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

#[cfg(test)]
mod tests {
    use serde_json::json;

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
}
