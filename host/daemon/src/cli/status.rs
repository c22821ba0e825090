//! `probehost status`: what a running host knows, as a table.

use std::process::ExitCode;

use clap::Args;
use probehost_model::Status;
use serde_json::json;

use super::client::{ApiArgs, Client};
use super::fleet::{fetch, render};
use super::watch::watch;
use crate::api::TargetView;

#[derive(Debug, Args)]
pub(crate) struct StatusArgs {
    #[command(flatten)]
    api: ApiArgs,
    /// Print the API's JSON instead of a table.
    #[arg(long)]
    json: bool,
    /// Keep the table up to date until Ctrl-C.
    #[arg(long, conflicts_with = "json")]
    watch: bool,
}

const UNKNOWN: u8 = 3;

pub(crate) async fn status(args: StatusArgs) -> ExitCode {
    let fetched = match Client::new(&args.api) {
        Ok(client) if args.watch => return watch(&client).await,
        Ok(client) => fetch(&client).await,
        Err(message) => Err(message),
    };
    let targets = match fetched {
        Ok(targets) => targets,
        Err(message) => {
            eprintln!("probehost: {message}");
            return ExitCode::from(UNKNOWN);
        }
    };
    if args.json {
        println!("{}", json!({ "targets": targets }));
    } else {
        print!("{}", render(&targets));
    }
    exit_code(&targets)
}

fn exit_code(targets: &[TargetView]) -> ExitCode {
    let enabled = targets.iter().filter(|target| target.enabled);
    let statuses = || enabled.clone().flat_map(|target| &target.checks).map(|check| check.status);
    if statuses().any(|status| status == Status::Unhealthy) {
        ExitCode::from(2)
    } else if statuses().any(|status| status == Status::Unknown) {
        ExitCode::from(UNKNOWN)
    } else {
        ExitCode::SUCCESS
    }
}
