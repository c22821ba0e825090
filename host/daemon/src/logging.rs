//! The host's own log, on standard error.

use probehost_config::{Log, LogFormat};
use tracing_subscriber::EnvFilter;
use tracing_subscriber::util::TryInitError;

/// Starts the log. The environment variable `PROBEHOST_LOG` (`debug`, or
/// `warn,probehost_monitor=debug`) goes before the file.
///
/// # Errors
/// When a log was started already.
pub(crate) fn start(log: Log) -> Result<(), TryInitError> {
    use tracing_subscriber::util::SubscriberInitExt as _;
    let filter = EnvFilter::try_from_env("PROBEHOST_LOG").unwrap_or_else(|_| {
        // Wasmtime and hyper have nothing to say to an operator below a warning.
        let level = log.level.as_str();
        EnvFilter::new(format!("{level},wasmtime=warn,cranelift_codegen=warn,hyper=warn"))
    });
    let lines = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .with_target(false);
    match log.format {
        LogFormat::Text => lines.with_ansi(is_terminal()).finish().try_init(),
        LogFormat::Json => lines.json().flatten_event(true).finish().try_init(),
    }
}

fn is_terminal() -> bool {
    use std::io::IsTerminal as _;
    std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none()
}
