//! `probehost notify`: tries a sink, lists what was told to whom, and has a dead one told again.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Subcommand;
use probehost_config::Config;
use probehost_model::notify::{DeliveryState, Sink};
use probehost_monitor::Clock;
use probehost_notify::ports::{SendError, Wire as _};
use probehost_notify::{HttpWire, LIMIT, describe, trial};
use serde_json::json;

use super::client::{ApiArgs, Client};
use super::fail;
use super::table::Table;
use crate::api::{NotificationView, Notifications};
use crate::app::{AppError, Setup};

#[derive(Debug, Subcommand)]
pub(crate) enum NotifyCommand {
    /// Send a test message, straight from the config file; no host has to run.
    ///
    /// Exits with 1 when a sink does not take it.
    Test {
        /// The sink. Without it, every one.
        sink: Option<String>,
        /// The config file.
        #[arg(long, short, value_name = "FILE", default_value = "probehost.toml")]
        config: PathBuf,
    },
    /// List notifications and what has become of each, newest first.
    List {
        #[command(flatten)]
        host: ApiArgs,
        /// Only these: pending, delivered or dead.
        #[arg(long)]
        state: Option<DeliveryState>,
        /// How many.
        #[arg(long, default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=1000))]
        limit: u32,
        /// Print the API's JSON instead of a table.
        #[arg(long)]
        json: bool,
    },
    /// Have a dead notification tried again, as if it were new.
    Replay {
        /// Its id, as the list shows it.
        id: i64,
        #[command(flatten)]
        host: ApiArgs,
    },
}

pub(crate) async fn notify(command: NotifyCommand) -> ExitCode {
    match command {
        NotifyCommand::Test { sink, config } => {
            let config = match Config::load(&config) {
                Ok(config) => config,
                Err(errors) => return fail(&errors.to_string()),
            };
            match test(&config, sink.as_deref()).await {
                Ok(true) => ExitCode::SUCCESS,
                Ok(false) => ExitCode::FAILURE,
                Err(message) => fail(&message),
            }
        }
        NotifyCommand::List { host, state, limit, json } => {
            let state = state.map(|state| format!("&state={state}")).unwrap_or_default();
            match list(&host, &format!("/notifications?limit={limit}{state}")).await {
                Ok(page) if json => {
                    println!("{}", json!(page));
                    ExitCode::SUCCESS
                }
                Ok(page) => {
                    print!("{}", render(&page.notifications));
                    ExitCode::SUCCESS
                }
                Err(message) => fail(&message),
            }
        }
        NotifyCommand::Replay { id, host } => match replay(&host, id).await {
            Ok(()) => {
                println!("{id} is tried again; `probehost notify list` shows what comes of it");
                ExitCode::SUCCESS
            }
            Err(message) => fail(&message),
        },
    }
}

async fn list(host: &ApiArgs, path: &str) -> Result<Notifications, String> {
    Client::new(host)?.get(path).await
}

async fn replay(host: &ApiArgs, id: i64) -> Result<(), String> {
    Client::new(host)?.post(&format!("/notifications/{id}/replay")).await
}

/// Tries one sink or all, and says of each what came of it. Gives whether all took it.
async fn test(config: &Config, only: Option<&str>) -> Result<bool, String> {
    let sinks = &config.notify.sinks;
    let known = || sinks.keys().cloned().collect::<Vec<_>>().join(", ");
    if sinks.is_empty() {
        return Err("there is no sink in the config; add one as [notify.sinks.NAME]".to_owned());
    }
    if let Some(name) = only.filter(|name| !sinks.contains_key(*name)) {
        return Err(format!("there is no sink {name:?} in the config; it has {}", known()));
    }
    let wire = wire(config).map_err(|error| error.to_string())?;
    let mut all = true;
    for (name, sink) in sinks.iter().filter(|(name, _)| only.is_none_or(|only| only == *name)) {
        let place = describe(sink).unwrap_or_else(|| "a place that a secret says".to_owned());
        match send(&wire, sink).await {
            Ok(()) => println!("{name}: {} at {place} took the test message", sink.kind),
            Err(error) => {
                all = false;
                println!("{name}: {} at {place} did not: {error}", sink.kind);
            }
        }
    }
    Ok(all)
}

fn wire(config: &Config) -> Result<HttpWire, AppError> {
    let setup = Setup::of(config);
    Ok(HttpWire::new(setup.capabilities()?, setup.secrets(), setup.root_files.clone()))
}

async fn send(wire: &HttpWire, sink: &Sink) -> Result<(), SendError> {
    let late = || SendError::later(format!("no answer within {} s", LIMIT.as_secs()));
    let message = trial(Clock::System.now());
    let sent = tokio::time::timeout(LIMIT, wire.send(sink, &message, LIMIT)).await;
    sent.unwrap_or_else(|_| Err(late()))
}

fn render(all: &[NotificationView]) -> String {
    let mut table = Table::new(&["ID", "CREATED", "SINK", "KIND", "OF", "STATE", "TRIES", "ERROR"]);
    for each in all {
        let of = match (&each.target, &each.check) {
            (None, _) => "many targets".to_owned(),
            (Some(target), None) => target.clone(),
            (Some(target), Some(check)) => format!("{target}/{check}"),
        };
        table.row([
            each.id.to_string(),
            each.created_at.clone(),
            each.sink.clone(),
            each.kind.to_string(),
            format!("{of} {}", each.to),
            each.state.to_string(),
            each.attempts.to_string(),
            each.last_error.clone(),
        ]);
    }
    table.to_string()
}
