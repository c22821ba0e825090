//! `demo-fleet`: a handful of upstreams on loopback, well and unwell, and a managed MCP server, with a ready
//! configuration that watches them.

mod config;
mod container;
mod fleet;
mod follow;
mod managed;
mod roster;
mod table;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::{env, fs, io};

use clap::Parser;

use crate::fleet::{Fleet, FleetError};
use crate::follow::Shutdown;
use crate::managed::{Managed, ManagedError, Place, Runtime};
use crate::roster::{DEFAULT_BASE_PORT, LAST_BASE_PORT};

/// Starts the demo fleet on loopback, writes a configuration that watches it, and stays until it is interrupted.
#[derive(Debug, Parser)]
#[command(name = "demo-fleet", version)]
struct Arguments {
    /// Folder for the configuration and the demo's certificate authority; it is made when it is not there.
    #[arg(long, default_value = ".demo", value_name = "FOLDER")]
    dir: PathBuf,
    /// First of the ten ports in a row that the fleet takes on 127.0.0.1.
    #[arg(long, default_value_t = DEFAULT_BASE_PORT, value_name = "PORT",
          value_parser = clap::value_parser!(u16).range(1..=i64::from(LAST_BASE_PORT)))]
    base_port: u16,
    /// Write the configuration and start nothing.
    #[arg(long, conflicts_with = "command")]
    config_only: bool,
    /// A command to run once the fleet is up, after `--`; the fleet ends with it.
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

/// Why the demo ended early.
#[derive(Debug, thiserror::Error)]
enum DemoError {
    #[error("could not write {}: {source}", path.display())]
    Write { path: PathBuf, source: io::Error },
    #[error("could not find the current folder: {0}")]
    Folder(io::Error),
    #[error("could not find the program that runs: {0}")]
    Program(io::Error),
    #[error(transparent)]
    Fleet(#[from] FleetError),
    #[error(transparent)]
    Managed(#[from] ManagedError),
    #[error("could not listen for signals: {0}")]
    Signals(io::Error),
    #[error("could not run {}: {source}", command.display())]
    Command { command: OsString, source: io::Error },
}

#[allow(clippy::print_stderr, reason = "this is a program for the terminal")]
#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    match run(&Arguments::parse()).await {
        Ok(code) => code,
        Err(error) => {
            eprintln!("demo-fleet: {error}");
            ExitCode::FAILURE
        }
    }
}

#[allow(clippy::print_stdout, reason = "this is a program for the terminal")]
async fn run(arguments: &Arguments) -> Result<ExitCode, DemoError> {
    let dir = env::current_dir().map_err(DemoError::Folder)?.join(&arguments.dir);
    let ca_file = dir.join("demo-ca.pem");
    let config_file = dir.join("probehost.toml");
    let base_port = arguments.base_port;
    let place = Place::new(&dir, roster::managed_port(base_port)).map_err(DemoError::Program)?;
    fs::create_dir_all(&dir).map_err(|source| DemoError::Write { path: dir.clone(), source })?;
    if arguments.config_only {
        let runtime = Runtime::Command("nothing was started".to_owned());
        write(&config_file, &config::text(&ca_file, base_port, &place, &runtime))?;
        println!("wrote {}; the fleet itself was not started", config_file.display());
        return Ok(ExitCode::SUCCESS);
    }
    // Signals are caught from here on, so that none of them ends the process without cleaning up.
    let mut shutdown = Shutdown::listen().map_err(DemoError::Signals)?;
    let fleet = Fleet::start(base_port)?;
    let managed = Managed::start(place)?;
    let (place, runtime) = (managed.place(), managed.runtime());
    write(&ca_file, &fleet.ca_pem())?;
    write(&config_file, &config::text(&ca_file, base_port, place, runtime))?;
    print!("{}", table::render(base_port, place, runtime));
    if let Runtime::Command(why) = runtime {
        println!("\nmcp runs as a process and not as a container: {why}");
    }
    println!("\nto kill mcp:   {}", runtime.kill(&arguments.dir));
    println!("configuration: {}", config_file.display());
    let code = match arguments.command.split_first() {
        None => {
            println!("ready; Ctrl-C ends the fleet");
            shutdown.asked().await;
            ExitCode::SUCCESS
        }
        Some((command, args)) => shutdown
            .follow(command, args)
            .await
            .map_err(|source| DemoError::Command { command: command.clone(), source })?,
    };
    drop(managed);
    drop(fleet);
    Ok(code)
}

fn write(path: &Path, text: &str) -> Result<(), DemoError> {
    fs::write(path, text).map_err(|source| DemoError::Write { path: path.to_owned(), source })
}
