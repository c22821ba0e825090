//! `probehost serve`: watches the targets of a config file until it is told to stop.

use std::path::Path;
use std::process::ExitCode;

use probehost_config::Config;
use tokio::signal::unix::{SignalKind, signal};
use tracing::{error, info};

use super::fail;
use crate::app::Host;
use crate::logging;

pub(crate) async fn serve(path: &Path) -> ExitCode {
    let config = match Config::load(path) {
        Ok(config) => config,
        Err(errors) => return fail(&errors.to_string()),
    };
    if let Err(error) = logging::start(config.log) {
        return fail(&format!("the log could not start: {error}"));
    }
    // Before anything runs, so that no signal falls into the gap.
    let signals = [SignalKind::terminate(), SignalKind::interrupt(), SignalKind::hangup()];
    let [mut terminate, mut interrupt, mut hangup] = match signals.map(signal) {
        [Ok(terminate), Ok(interrupt), Ok(hangup)] => [terminate, interrupt, hangup],
        [Err(error), ..] | [_, Err(error), _] | [.., Err(error)] => {
            return fail(&format!("signals can't be received: {error}"));
        }
    };
    let host = tokio::select! {
        started = Host::start(path, config) => match started {
            Ok(host) => host,
            Err(error) => return fail(&error.to_string()),
        },
        _ = terminate.recv() => return ExitCode::SUCCESS,
        _ = interrupt.recv() => return ExitCode::SUCCESS,
    };
    println!("probehost listening on {}", host.url());
    let signal = loop {
        tokio::select! {
            _ = terminate.recv() => break "SIGTERM",
            _ = interrupt.recv() => break "SIGINT",
            _ = hangup.recv() => host.reload(),
        }
    };
    info!(signal, "stopping");
    match host.stop().await {
        Ok(()) => {
            info!("stopped");
            ExitCode::SUCCESS
        }
        Err(failed) => {
            error!(error = %failed, "stopped badly");
            ExitCode::FAILURE
        }
    }
}
