//! The cost of one sandboxed run without I/O, in CPU time: `cargo bench -p probehost-sandbox`.
//!
//! Prints one line per case: the CPU time of a run and how many runs a second that was. Other work on
//! the machine hardly changes the first and very much the second.

#![allow(clippy::unwrap_used, reason = "a bench that can't run has nothing to tell")]

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use probehost_capability::{Capabilities, Run};
use probehost_model::Outcome;
use probehost_model::grant::Grants;
use probehost_sandbox::{Catalog, CheckRequest, Options, Plugin, Sandbox};
use rustix::time::{ClockId, clock_gettime};
use tokio::runtime::{Builder, Runtime};

/// Long enough that what the kernel does now and then is in it.
const TIME: Duration = Duration::from_secs(2);

fn main() {
    for threads in [1, 2] {
        let runtime =
            Builder::new_multi_thread().worker_threads(threads).enable_all().build().unwrap();
        for (fixture, what) in [("raw", "bindings alone"), ("echo", "made with the SDK")] {
            let plugin = runtime.block_on(load(fixture));
            for plan in [false, true] {
                let calls = if plan { "plan and check" } else { "check" };
                print!("{what}, {calls}, {threads} at once: ");
                measure(&runtime, threads, &plugin, plan);
            }
        }
    }
}

async fn load(fixture: &str) -> Plugin {
    let sandbox = Sandbox::new(Options::default()).unwrap();
    let catalog = Catalog::new(sandbox, BTreeMap::new());
    let bytes = probehost_test_plugins::component(fixture);
    let kind = catalog.load_builtin(fixture, bytes).await.unwrap();
    catalog.get(&kind).unwrap()
}

fn measure(runtime: &Runtime, threads: usize, plugin: &Plugin, plan: bool) {
    let mut system = probehost_capability::Options::system().unwrap();
    system.system_roots = false;
    let capabilities = Capabilities::new(system).unwrap();
    runtime.block_on(turns(plugin, &capabilities, plan, TIME / 10));
    let (began, cpu) = (Instant::now(), cpu());
    let tasks: Vec<_> = (0..threads)
        .map(|_| {
            let (plugin, capabilities) = (plugin.clone(), capabilities.clone());
            runtime.spawn(async move { turns(&plugin, &capabilities, plan, TIME).await })
        })
        .collect();
    let runs: u32 = tasks.into_iter().map(|task| runtime.block_on(task).unwrap()).sum();
    let (cpu, took) = (self::cpu() - cpu, began.elapsed());
    println!(
        "{:.1} µs of CPU, {:.0} a second",
        cpu.as_secs_f64() * 1e6 / f64::from(runs),
        f64::from(runs) / took.as_secs_f64()
    );
}

/// Runs for a while, and says how often.
async fn turns(plugin: &Plugin, capabilities: &Capabilities, plan: bool, time: Duration) -> u32 {
    let began = Instant::now();
    let mut runs = 0;
    while began.elapsed() < time {
        if plan {
            plugin.plan("{}").await.unwrap();
        }
        let deadline = tokio::time::Instant::now() + Duration::from_secs(10);
        let run = Run::new("bench", Grants::default(), deadline);
        let request = CheckRequest {
            config: "{}",
            target: "target",
            check: "check",
            run,
            capabilities: capabilities.clone(),
        };
        assert_eq!(plugin.check(request).await.outcome, Outcome::Pass);
        runs += 1;
    }
    runs
}

/// CPU time of the process so far, in user and kernel.
fn cpu() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(u64::try_from(time.tv_sec).unwrap(), u32::try_from(time.tv_nsec).unwrap())
}
