//! The command line: parse, call, render.

mod audit;
mod check_config;
mod client;
mod fleet;
mod grants;
mod healthz;
mod init;
mod machine;
mod manual;
mod notify;
mod plugin;
mod probe;
mod serve;
mod shown;
mod ssh_fingerprint;
mod status;
mod table;
mod token;
mod watch;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{CommandFactory as _, Parser, Subcommand};

/// Usage errors (`EX_USAGE`), so that they can't be taken for the outcome of a probe.
const USAGE: u8 = 64;

/// Health monitoring whose probes are sandboxed WebAssembly components.
#[derive(Debug, Parser)]
#[command(name = "probehost", version, about)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Write a config file to begin with, with every part of it explained.
    Init(init::InitArgs),
    /// Watch the targets of a config file until SIGTERM or Ctrl-C.
    Serve {
        /// The config file.
        #[arg(long, short, value_name = "FILE", default_value = "probehost.toml")]
        config: PathBuf,
    },
    /// Check a config file without starting: every key, every check's config against its
    /// plugin's schema, and every plugin's plan. Exits with 1 when something is wrong.
    CheckConfig {
        /// The config file.
        #[arg(value_name = "FILE", default_value = "probehost.toml")]
        config: PathBuf,
    },
    /// Show what each check may reach, and why: its own config names it, or an `allow` does.
    ///
    /// Exits with 1 when a check wants what it is not granted; the line that would grant it is
    /// shown.
    Grants(grants::GrantsArgs),
    /// Probe once, without a store: shows outcome, phases, calls and log.
    ///
    /// Exits with 0 when it passes, 2 when it fails, and 3 when nothing can be said: what
    /// Nagios and Icinga expect of a check.
    Probe(Box<probe::ProbeArgs>),
    /// Verify the audit, or write it out.
    #[command(subcommand)]
    Audit(audit::AuditCommand),
    /// Notifications: try a sink, list what was told, have a dead one told again.
    #[command(subcommand)]
    Notify(notify::NotifyCommand),
    /// Write a plugin of your own: make a project, build it, try it, look at it, check it.
    #[command(subcommand)]
    Plugin(plugin::PluginCommand),
    /// Show the host keys that an SSH server offers, to be pinned in a check's config.
    ///
    /// Nothing vouches for them: compare them with what the server itself says before you pin one.
    SshFingerprint(ssh_fingerprint::SshFingerprintArgs),
    /// Show what a running host knows, as a table.
    ///
    /// Exits with 0 when every enabled check is healthy, 2 when one is unhealthy, and 3 when
    /// one is unknown or the host can't be asked.
    Status(status::StatusArgs),
    /// Ask a running host whether it can do its work, for supervisors such as a container's health
    /// check. Needs no token.
    ///
    /// Exits with 0 when it can, and with 1 when not, or when no host answers. What it watches has
    /// no part in it.
    Healthz(healthz::HealthzArgs),
    /// Make, list and revoke access tokens. The first one ends the time in which everybody on this
    /// machine may do everything.
    #[command(subcommand)]
    Token(token::TokenCommand),
    /// Write the manual's pages.
    Man(manual::ManArgs),
    /// Print what completes commands in a shell.
    Completions(manual::CompletionsArgs),
}

/// Runs the command that the arguments name.
pub(crate) fn run() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            let wrong = error.use_stderr();
            // Nothing to be done when the terminal is gone.
            let _ = error.print();
            return if wrong { ExitCode::from(USAGE) } else { ExitCode::SUCCESS };
        }
    };
    let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return fail(&format!("the async runtime could not start: {error}")),
    };
    let code = match cli.command {
        Command::Serve { config } => runtime.block_on(serve::serve(&config)),
        Command::CheckConfig { config } => runtime.block_on(check_config::check_config(&config)),
        Command::Grants(args) => runtime.block_on(grants::grants(args)),
        Command::Probe(args) => runtime.block_on(probe::probe(*args)),
        Command::Audit(command) => runtime.block_on(audit::audit(command)),
        Command::Notify(command) => runtime.block_on(notify::notify(command)),
        Command::Plugin(command) => runtime.block_on(plugin::plugin(command)),
        Command::SshFingerprint(args) => runtime.block_on(ssh_fingerprint::ssh_fingerprint(&args)),
        Command::Status(args) => runtime.block_on(status::status(args)),
        Command::Healthz(args) => runtime.block_on(healthz::healthz(&args)),
        Command::Init(args) => init::init(&args),
        Command::Man(args) => manual::man(&args, Cli::command()),
        Command::Completions(args) => manual::completions(&args, Cli::command()),
        Command::Token(command) => runtime.block_on(token::token(command)),
    };
    // A resolver's thread may still be waiting for an answer that nobody wants any more.
    runtime.shutdown_background();
    code
}

/// Says what went wrong, and gives the exit code of a command that could not do its work.
fn fail(message: &str) -> ExitCode {
    eprintln!("probehost: {message}");
    ExitCode::FAILURE
}
