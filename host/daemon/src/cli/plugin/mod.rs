//! `probehost plugin …`: the way of an author, from nothing to a plugin that is good to hand out.

mod build;
mod check;
mod inspect;
mod loaded;
mod new;
mod refresh;
mod size;
mod test;

use std::process::ExitCode;

use clap::Subcommand;
use serde_json::Value;

#[derive(Debug, Subcommand)]
pub(crate) enum PluginCommand {
    /// Make a project that builds as it is: a small probe, its test, a README, a CI file.
    New(new::NewArgs),
    /// Bring the contract and the SDK in a project up to those of this binary.
    Refresh(refresh::RefreshArgs),
    /// Build a project to a component, with the tools of its language.
    Build(build::BuildArgs),
    /// Run a plugin once against a real target, with the grants that a check of this config gets.
    ///
    /// Exits with 0 when it passes, 2 when it fails, and 3 when nothing can be said.
    Test(Box<test::TestArgs>),
    /// Show what a plugin says of itself, what it wants, and what its checks are configured with.
    Inspect(inspect::InspectArgs),
    /// Hold a plugin against the contract: manifest, schema, plan, deadlines, limits.
    ///
    /// Exits with 0 when all is well and with 1 when something is not.
    Check(Box<check::CheckArgs>),
}

pub(crate) async fn plugin(command: PluginCommand) -> ExitCode {
    match command {
        PluginCommand::New(args) => new::new(&args),
        PluginCommand::Refresh(args) => refresh::refresh(&args),
        PluginCommand::Build(args) => build::build(&args),
        PluginCommand::Test(args) => test::test(&args).await,
        PluginCommand::Inspect(args) => inspect::inspect(&args).await,
        PluginCommand::Check(args) => check::check(&args).await,
    }
}

/// A check's config as an argument.
fn config(text: &str) -> Result<Value, String> {
    let like = "give a JSON object, as '{\"url\": \"https://example.com\"}'";
    match serde_json::from_str::<Value>(text) {
        Ok(config) if config.is_object() => Ok(config),
        Ok(_) => Err(format!("it is JSON, but no object; {like}")),
        Err(error) => Err(format!("it is no JSON ({error}); {like}")),
    }
}
