//! `probehost plugin check FILE`: a plugin held against the contract, with servers that misbehave.

mod aim;
mod configs;
mod servers;
mod targets;

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::Args;
use probehost_config::Schema;
use probehost_model::Reason;
use probehost_model::grant::Pattern;
use probehost_sandbox::Options;
use serde_json::Value;

use super::config;
use super::loaded::Loaded;
use super::size;
use crate::cli::fail;
use crate::cli::machine::{MachineArgs, seconds};

#[derive(Debug, Args)]
pub(crate) struct CheckArgs {
    /// The component.
    file: PathBuf,
    /// A config that its checks could have. Hosts in it are replaced by servers on loopback that
    /// misbehave; without it, nothing is run against a server.
    #[arg(long, value_name = "JSON", value_parser = config)]
    config: Option<Value>,
    /// What an operator would grant besides what the config names. Can be given again.
    #[arg(long = "allow", value_name = "ENDPOINT")]
    allow: Vec<Pattern>,
    /// The deadline of each run in seconds.
    #[arg(long, value_name = "SECONDS", value_parser = seconds, default_value = "2")]
    timeout: Duration,
    #[command(flatten)]
    machine: MachineArgs,
}

pub(crate) async fn check(args: &CheckArgs) -> ExitCode {
    let loaded = match Loaded::load(&args.file, &args.machine, &args.allow, false).await {
        Ok(loaded) => loaded,
        Err(message) => return fail(&message),
    };
    let mut report = Report::default();
    report.good(&format!("it loads ({})", loaded.load_time()));
    manifest(&loaded, &mut report);
    let usable = configs::check(&loaded, args.config.as_ref(), &mut report).await;
    match &args.config {
        Some(config) if usable => {
            let reached = targets::check(&loaded, config, args, &mut report).await;
            reasons(&reached, &report);
        }
        // What is wrong with it has been told.
        Some(_) => {}
        None => {
            report.note("it was run against no server: give a config that names one, with --config")
        }
    }
    let title = loaded.plugin.title();
    match report.wrong {
        0 => {
            println!("pass: {title} keeps to the contract in all {} points", report.good);
            ExitCode::SUCCESS
        }
        wrong => {
            println!("{title}: {wrong} of {} points are wrong", wrong + report.good);
            ExitCode::FAILURE
        }
    }
}

/// Which reasons were seen, and where the others come from: whether each that the plugin means to
/// tell apart can be reached, its author knows.
fn reasons(reached: &BTreeSet<&'static str>, report: &Report) {
    if reached.is_empty() {
        return;
    }
    let seen = |reason: &Reason| *reason == Reason::Config || reached.contains(reason.as_str());
    let (seen, others): (Vec<Reason>, Vec<Reason>) =
        Reason::ALL.iter().partition(|reason| seen(reason));
    let list = |reasons: &[Reason]| {
        reasons.iter().map(|reason| reason.as_str()).collect::<Vec<_>>().join(", ")
    };
    report.note(&format!(
        "it failed with these reasons: {}; not met here: {} (try a target that shows them with plugin test)",
        list(&seen),
        list(&others)
    ));
}

/// What loading does not look at: what people and rules rely on.
fn manifest(loaded: &Loaded, report: &mut Report) {
    let manifest = loaded.plugin.manifest();
    if manifest.description.trim().is_empty() {
        report.wrong("its description is empty", "say in one sentence what a check of it tells");
    } else {
        report.good("it describes itself");
    }
    let shortest = Duration::from_secs(manifest.interval.default.into());
    if manifest.timeout > shortest {
        report.wrong(
            &format!(
                "its timeout of {} is longer than its interval of {} s",
                size::time(manifest.timeout),
                manifest.interval.default
            ),
            "a probe would still run when the next is due: choose a shorter timeout",
        );
    } else {
        report.good("its timeout ends before the next probe is due");
    }
    match Schema::compile(&manifest.config_schema) {
        Ok(_) => report.good("its config-schema is a JSON Schema"),
        Err(error) => report.wrong(
            &format!("its config-schema is no JSON Schema: {error}"),
            "give one of draft 2020-12 that refers to nothing else",
        ),
    }
    let (taken, most) =
        (loaded.info.compile_time.unwrap_or_default(), Options::default().compile_time);
    if taken > most {
        report.note(&format!(
            "it took {} to compile here, and a host gives up after {}",
            size::time(taken),
            size::time(most)
        ));
    }
}

/// What was found, told as it is found.
#[derive(Debug, Default)]
struct Report {
    good: usize,
    wrong: usize,
}

impl Report {
    fn good(&mut self, what: &str) {
        self.good += 1;
        println!("ok     {what}");
    }

    fn wrong(&mut self, what: &str, remedy: &str) {
        self.wrong += 1;
        println!("WRONG  {what}; {remedy}");
    }

    fn note(&self, what: &str) {
        println!("note   {what}");
    }
}
