//! `probehost healthz`: whether a running host can do its work.

use std::process::ExitCode;

use clap::Args;

use super::client::{ApiArgs, Client};
use super::fail;

#[derive(Debug, Args)]
pub(crate) struct HealthzArgs {
    #[command(flatten)]
    api: ApiArgs,
}

pub(crate) async fn healthz(args: &HealthzArgs) -> ExitCode {
    let asked = match Client::new(&args.api) {
        Ok(client) => client.healthz().await,
        Err(message) => Err(message),
    };
    match asked {
        Ok((said, works)) => {
            println!("{said}");
            if works { ExitCode::SUCCESS } else { ExitCode::FAILURE }
        }
        Err(message) => fail(&message),
    }
}
