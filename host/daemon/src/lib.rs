//! The daemon: `app` puts the parts together, `api` and `cli` parse, call and render.

mod api;
mod app;
mod cli;
mod logging;

pub use app::{AppError, Kinds, Planned, SandboxProber, Setup, check_seen};

/// Runs the command line of `probehost`.
#[must_use]
pub fn main() -> std::process::ExitCode {
    cli::run()
}
