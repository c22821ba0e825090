//! The daemon: `app` puts the parts together, `api` and `cli` parse, call and render, `server`
//! holds the connections.

mod api;
mod app;
mod cli;
mod logging;
mod server;
mod web;

/// A probe allocates some hundred times, on whichever thread it happens to run: this allocator
/// makes a whole probe a sixth cheaper than the system's (docs/performance.md).
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

pub use app::{AppError, Kinds, Planned, SandboxProber, Setup, check_seen};
pub use server::CertificateError;

/// Runs the command line of `probehost`.
#[must_use]
pub fn main() -> std::process::ExitCode {
    cli::run()
}
