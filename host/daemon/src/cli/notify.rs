//! `probehost notify`: tries a sink, lists what was told to whom, and has a dead one told again.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::{Args, Subcommand};
use probehost_config::Config;
use probehost_model::notify::{DeliveryState, Sink};
use probehost_monitor::Clock;
use probehost_notify::ports::{SendError, Wire as _};
use probehost_notify::{HttpWire, LIMIT, describe, trial};
use reqwest::Method;

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
        host: HostArgs,
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
        host: HostArgs,
    },
}

#[derive(Debug, Args)]
pub(crate) struct HostArgs {
    /// Where the host serves its API.
    #[arg(long, value_name = "URL", default_value = "http://127.0.0.1:9640")]
    url: String,
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
            let path = format!("/api/v1/notifications?limit={limit}{state}");
            match ask(Method::GET, &host.url, &path).await {
                Ok(text) if json => {
                    println!("{text}");
                    ExitCode::SUCCESS
                }
                Ok(text) => match serde_json::from_str::<Notifications>(&text) {
                    Ok(page) => {
                        print!("{}", render(&page.notifications));
                        ExitCode::SUCCESS
                    }
                    Err(error) => fail(&not_ours(&host.url, &error)),
                },
                Err(message) => fail(&message),
            }
        }
        NotifyCommand::Replay { id, host } => {
            let path = format!("/api/v1/notifications/{id}/replay");
            match ask(Method::POST, &host.url, &path).await {
                Ok(_) => {
                    println!("{id} is tried again; `probehost notify list` shows what comes of it");
                    ExitCode::SUCCESS
                }
                Err(message) => fail(&message),
            }
        }
    }
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
    Ok(HttpWire::new(setup.capabilities()?, setup.secrets()))
}

async fn send(wire: &HttpWire, sink: &Sink) -> Result<(), SendError> {
    let late = || SendError::later(format!("no answer within {} s", LIMIT.as_secs()));
    let message = trial(Clock::System.now());
    let sent = tokio::time::timeout(LIMIT, wire.send(sink, &message, LIMIT)).await;
    sent.unwrap_or_else(|_| Err(late()))
}

async fn ask(method: Method, url: &str, path: &str) -> Result<String, String> {
    let url = url.trim_end_matches('/');
    let client = reqwest::Client::builder()
        .no_proxy()
        .timeout(Duration::from_secs(30))
        .build()
        .map_err(|error| format!("the HTTP client could not start: {error}"))?;
    let answer = client.request(method, format!("{url}{path}")).send().await.map_err(|error| {
        // The innermost one is what the system said; those around it name layers of the client.
        let first = std::error::Error::source(&error);
        let cause = std::iter::successors(first, |error| error.source()).last();
        let cause = cause.map(ToString::to_string).unwrap_or_default();
        format!("no host answers at {url} ({cause}); is `probehost serve` running there? Give its address with --url")
    })?;
    let status = answer.status();
    let text = answer.text().await.map_err(|error| format!("{url}: {error}"))?;
    if status.is_success() {
        return Ok(text);
    }
    let error: Option<serde_json::Value> = serde_json::from_str(&text).ok();
    let message = error.as_ref().and_then(|error| error.pointer("/error/message")?.as_str());
    Err(format!("{url} answered {status}: {}", message.unwrap_or(&text)))
}

fn not_ours(url: &str, error: &serde_json::Error) -> String {
    format!("{url} does not answer as this version's API does: {error}")
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
