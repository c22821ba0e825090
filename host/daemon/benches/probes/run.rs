//! One sandboxed run without I/O: a fresh store, an instance, one call, and all of it dropped.

use std::sync::Arc;
use std::time::Duration;

use probehost::{Kinds, Setup};
use probehost_capability::resolve::Resolver;
use probehost_capability::{Capabilities, Options, Run};
use probehost_model::Outcome;
use probehost_model::grant::Grants;
use probehost_sandbox::{CheckRequest, Plugin};
use tokio::runtime::Builder;
use tokio::time::Instant;

use crate::cost::{self, Meter};
use crate::fleet::KIND;
use crate::{Failed, report};

/// Long enough that what the kernel does now and then is in it.
const TIME: Duration = Duration::from_secs(2);

/// Runs are counted in lots, so that looking at the clock costs nothing.
const LOT: usize = 64;

const AIM_MICROS: f64 = 25.0;

#[derive(Debug, Clone, Copy)]
enum Call {
    Check,
    Plan,
}

pub(crate) fn bench() -> Result<(), Failed> {
    report::part("One sandboxed run without I/O, CPU of each");
    for threads in [1, 2] {
        let runtime = Builder::new_multi_thread().worker_threads(threads).enable_all().build()?;
        let setup = Setup { concurrency: 16, ..Setup::default() };
        let kinds = runtime.block_on(Kinds::load(&setup))?;
        for fixture in ["raw", "echo"] {
            let bytes = probehost_test_plugins::component(fixture);
            runtime.block_on(kinds.catalog().load_builtin(fixture, bytes))?;
        }
        let config = r#"{"url":"http://127.0.0.1:8080","path":"/health"}"#;
        for (kind, call, what, config) in [
            ("raw", Call::Check, "check of a bare plugin", "{}"),
            ("echo", Call::Check, "check of a trivial plugin made with the SDK", "{}"),
            ("echo", Call::Plan, "plan of a trivial plugin made with the SDK", "{}"),
            (KIND, Call::Plan, "plan of http-head (once per config)", config),
        ] {
            let plugin = kinds.catalog().get(kind).ok_or("a plugin did not load")?;
            let micros = runtime.block_on(measure(threads, &plugin, call, config))?;
            let what = format!("{what}, {threads} at once");
            report::below(&what, micros, AIM_MICROS, "µs");
        }
    }
    Ok(())
}

async fn measure(
    threads: usize,
    plugin: &Plugin,
    call: Call,
    config: &'static str,
) -> Result<f64, Failed> {
    let resolver = Resolver::with_servers(&[([127, 0, 0, 1], 53).into()])?;
    let options = Options { resolver, system_roots: false, root_files: Vec::new() };
    let capabilities = Capabilities::new(options)?;
    turns(plugin, &capabilities, call, config, TIME / 10).await?;
    let meter = Meter::start(cost::own)?;
    let tasks: Vec<_> = (0..threads)
        .map(|_| {
            let (plugin, capabilities) = (plugin.clone(), capabilities.clone());
            tokio::spawn(async move { turns(&plugin, &capabilities, call, config, TIME).await })
        })
        .collect();
    let mut runs = 0;
    for task in tasks {
        runs += task.await??;
    }
    Ok(meter.stop()?.micros_each(runs))
}

/// Runs for a while, and says how often.
async fn turns(
    plugin: &Plugin,
    capabilities: &Capabilities,
    call: Call,
    config: &str,
    time: Duration,
) -> Result<usize, Failed> {
    let grants = Arc::new(Grants::default());
    let until = Instant::now() + time;
    let mut runs = 0;
    while Instant::now() < until {
        for _ in 0..LOT {
            match call {
                Call::Check => check(plugin, capabilities, &grants, config).await?,
                Call::Plan => drop(plugin.plan(config).await?),
            }
        }
        runs += LOT;
    }
    Ok(runs)
}

async fn check(
    plugin: &Plugin,
    capabilities: &Capabilities,
    grants: &Arc<Grants>,
    config: &str,
) -> Result<(), Failed> {
    let deadline = Instant::now() + Duration::from_secs(10);
    let run = Run::new("bench", Arc::clone(grants), deadline);
    let capabilities = capabilities.clone();
    let request = CheckRequest { config, target: "target", check: "check", run, capabilities };
    match plugin.check(request).await.outcome {
        Outcome::Pass => Ok(()),
        other => Err(format!("a run came to {other:?}").into()),
    }
}
