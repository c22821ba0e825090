//! `probehost plugin test FILE`: one run against a real target, with all that there is to see.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, SystemTime};

use clap::Args;
use probehost_model::grant::Pattern;
use probehost_sandbox::Options;
use serde_json::{Map, Value, json};
use tokio::signal::unix::{SignalKind, signal};

use super::config;
use super::loaded::{Loaded, Tried};
use super::size;
use crate::cli::machine::{MachineArgs, seconds};
use crate::cli::shown::{Shown, exit_code, granted};
use crate::cli::{USAGE, fail};

/// How often a file that is watched is looked at.
const LOOK: Duration = Duration::from_millis(200);

#[derive(Debug, Args)]
pub(crate) struct TestArgs {
    /// The component.
    file: PathBuf,
    /// The check's config, as it would stand in a target. Without it, an empty one.
    #[arg(long, value_name = "JSON", value_parser = config)]
    config: Option<Value>,
    /// What an operator would grant besides what the config names: tcp://*.internal:6379. Can be
    /// given again.
    #[arg(long = "allow", value_name = "ENDPOINT")]
    allow: Vec<Pattern>,
    /// The deadline in seconds. Without it, the plugin's own.
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    timeout: Option<Duration>,
    /// Run again whenever the file has changed, until Ctrl-C.
    #[arg(long)]
    watch: bool,
    /// Print one JSON object for each run.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    machine: MachineArgs,
}

pub(crate) async fn test(args: &TestArgs) -> ExitCode {
    if args.watch { watch(args).await } else { once(args).await }
}

/// Runs it, and again on each change. The exit code is that of the last run.
async fn watch(args: &TestArgs) -> ExitCode {
    // One for all the time: Ctrl-C during a run counts too.
    let mut interrupt = match signal(SignalKind::interrupt()) {
        Ok(interrupt) => interrupt,
        Err(error) => return fail(&format!("Ctrl-C can't be waited for: {error}")),
    };
    let mut code = ExitCode::SUCCESS;
    loop {
        let seen = stamp(&args.file);
        tokio::select! {
            _ = interrupt.recv() => return code,
            ran = once(args) => code = ran,
        }
        eprintln!("watching {}; end with Ctrl-C", args.file.display());
        tokio::select! {
            _ = interrupt.recv() => return code,
            () = changed(&args.file, seen) => {}
        }
    }
}

async fn once(args: &TestArgs) -> ExitCode {
    let tried = async {
        let loaded = Loaded::load(&args.file, &args.machine, &args.allow, false).await?;
        let config = args.config.clone().unwrap_or_else(|| Value::Object(Map::new()));
        let timeout = args.timeout.unwrap_or(loaded.plugin.manifest().timeout);
        let tried = loaded.run(&config, timeout).await?;
        Ok::<_, String>((loaded, tried))
    };
    match tried.await {
        Ok((loaded, tried)) => {
            if args.json {
                println!("{}", as_json(&loaded, &tried));
            } else {
                print!("{}", as_text(&loaded, &tried));
            }
            exit_code(&tried.evidence.outcome)
        }
        Err(message) => {
            eprintln!("probehost: {message}");
            ExitCode::from(USAGE)
        }
    }
}

fn as_text(loaded: &Loaded, tried: &Tried) -> String {
    let mut used = Vec::new();
    if let Some(usage) = tried.usage {
        let memory = u64::try_from(usage.memory).unwrap_or(u64::MAX);
        let most = u64::try_from(Options::default().memory).unwrap_or(u64::MAX);
        used.push(("memory", format!("{} of {}", size::bytes(memory), size::bytes(most))));
        used.push(("CPU", size::time(usage.cpu)));
    }
    used.push(("load", loaded.load_time()));
    let title = loaded.plugin.title();
    Shown { title: &title, took: tried.took, evidence: &tried.evidence }.text(&used, true)
}

fn as_json(loaded: &Loaded, tried: &Tried) -> Value {
    let (title, evidence) = (loaded.plugin.title(), &tried.evidence);
    let mut shown = Shown { title: &title, took: tried.took, evidence }.json();
    if let Some(calls) = shown.get_mut("calls").and_then(Value::as_array_mut) {
        for (shown, call) in calls.iter_mut().zip(&evidence.calls) {
            if let Some(shown) = shown.as_object_mut() {
                shown.insert("granted".to_owned(), granted(evidence, call).into());
            }
        }
    }
    if let Some(shown) = shown.as_object_mut() {
        shown.insert("memory_bytes".to_owned(), json!(tried.usage.map(|usage| usage.memory)));
        let cpu = tried.usage.map(|usage| usage.cpu.as_secs_f64());
        shown.insert("cpu_seconds".to_owned(), json!(cpu));
        let load = loaded.info.compile_time.map(|time| time.as_secs_f64());
        shown.insert("load_seconds".to_owned(), json!(load));
        shown.insert("compiled_before".to_owned(), loaded.cached.into());
    }
    shown
}

/// What tells one state of a file from another. None: it is not there.
fn stamp(file: &Path) -> Option<(SystemTime, u64)> {
    let found = std::fs::metadata(file).ok()?;
    Some((found.modified().ok()?, found.len()))
}

/// Waits until the file is there, is another one than `seen`, and no longer grows.
async fn changed(file: &Path, seen: Option<(SystemTime, u64)>) {
    let mut before = seen;
    loop {
        tokio::time::sleep(LOOK).await;
        let now = stamp(file);
        if now.is_some() && now != seen && now == before {
            return;
        }
        before = now;
    }
}
