//! `probehost man` and `probehost completions`: made of the command line itself.

use std::io;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Command};
use clap_complete::Shell;

use super::fail;

#[derive(Debug, Args)]
pub(crate) struct ManArgs {
    /// The folder to write the pages to, one for each command. Without it, the first page is printed.
    #[arg(long, value_name = "DIR")]
    directory: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct CompletionsArgs {
    /// For which shell.
    shell: Shell,
}

pub(crate) fn man(args: &ManArgs, command: Command) -> ExitCode {
    let written = match &args.directory {
        Some(directory) => clap_mangen::generate_to(command, directory),
        None => clap_mangen::Man::new(command).render(&mut io::stdout()),
    };
    match written {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            fail(&format!("the manual can't be written: {error}; see that the folder exists"))
        }
    }
}

pub(crate) fn completions(args: &CompletionsArgs, mut command: Command) -> ExitCode {
    clap_complete::generate(args.shell, &mut command, "probehost", &mut io::stdout());
    ExitCode::SUCCESS
}
