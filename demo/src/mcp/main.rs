//! `demo-mcp`: a small MCP server to kill and to restart.

mod process;
mod server;

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use probehost_test_support::upstream::{Setup, UpstreamError};
use tokio::signal::unix::{SignalKind, signal};

use crate::process::ProcessError;
use crate::server::Server;

/// A small MCP server on loopback, over streamable HTTP: tools that echo, add, and tell for how long it runs.
#[derive(Debug, Parser)]
#[command(name = "demo-mcp", version)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Serve in the foreground until SIGTERM or SIGINT.
    Serve {
        /// Port on 127.0.0.1.
        #[arg(long)]
        port: u16,
        /// Folder to leave the process id in, as mcp.pid, once it listens.
        #[arg(long, value_name = "FOLDER")]
        dir: Option<PathBuf>,
    },
    /// End the server of a folder if it runs, and start a new one in the background.
    Restart {
        /// Port on 127.0.0.1.
        #[arg(long)]
        port: u16,
        /// The folder: its mcp.pid has the process id, its mcp.log what the server prints.
        #[arg(long, value_name = "FOLDER")]
        dir: PathBuf,
    },
    /// End the server of a folder if it runs.
    Stop {
        /// The folder.
        #[arg(long, value_name = "FOLDER")]
        dir: PathBuf,
    },
}

/// Why it ended early.
#[derive(Debug, thiserror::Error)]
enum McpError {
    #[error(transparent)]
    Listen(#[from] UpstreamError),
    #[error(transparent)]
    Process(#[from] ProcessError),
    #[error("could not listen for signals: {0}")]
    Signals(#[from] io::Error),
}

#[allow(clippy::print_stderr, reason = "this is a program for the terminal")]
#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    match run(Arguments::parse().command).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("demo-mcp: {error}");
            ExitCode::FAILURE
        }
    }
}

#[allow(clippy::print_stdout, reason = "this is a program for the terminal")]
async fn run(command: Command) -> Result<(), McpError> {
    match command {
        Command::Serve { port, dir } => {
            // As the first process of a container it ends by a signal only if it asks for it.
            let mut terminate = signal(SignalKind::terminate())?;
            let mut interrupt = signal(SignalKind::interrupt())?;
            let server = Server::default();
            let upstream = Setup::http(move |request| server.answer(request))
                .start_at(SocketAddr::from((Ipv4Addr::LOCALHOST, port)))?;
            if let Some(dir) = dir {
                process::note(&dir)?;
            }
            println!("an MCP server listens on {}{}", upstream.url(), server::PATH);
            tokio::select! {
                _ = terminate.recv() => {}
                _ = interrupt.recv() => {}
            }
            Ok(())
        }
        Command::Restart { port, dir } => {
            process::stop(&dir)?;
            let id = process::start(port, &dir)?;
            println!("an MCP server listens on port {port}, as process {id}");
            Ok(())
        }
        Command::Stop { dir } => Ok(process::stop(&dir)?),
    }
}
