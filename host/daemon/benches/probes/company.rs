//! What hostile plugins cost the others: the time of a well-behaved run alone and beside them.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use probehost::{Kinds, Setup};
use probehost_capability::resolve::Resolver;
use probehost_capability::{Capabilities, Options, Run};
use probehost_model::grant::Grants;
use probehost_sandbox::{CheckRequest, Plugin};
use tokio::runtime::Builder;

use crate::{Failed, report};

/// Well-behaved runs that are timed, one after the other, with a pause as a schedule has.
const RUNS: usize = 400;
const PAUSE: Duration = Duration::from_millis(2);
/// The deadline of a hostile run.
const DEADLINE: Duration = Duration::from_millis(500);
/// Hostile runs at once, twice the threads there are.
const AT_ONCE: usize = 4;

/// Each takes all that it can get of something: time, memory, the log, handles.
const HOSTILE: [&str; 4] = ["loop_in_check", "memory_bomb", "log_flood", "deep_recursion"];

pub(crate) fn bench() -> Result<(), Failed> {
    report::part(
        "A well-behaved run beside hostile plugins, by the clock: half of them, 99 of 100",
    );
    let runtime = Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let kinds = runtime.block_on(Kinds::load(&Setup { concurrency: 16, ..Setup::default() }))?;
    for fixture in HOSTILE.iter().chain(&["echo"]) {
        let bytes = probehost_test_plugins::component(fixture);
        runtime.block_on(kinds.catalog().load_builtin(fixture, bytes))?;
    }
    let get = |fixture: &str| {
        kinds.catalog().get(&fixture.replace('_', "-")).or_else(|| kinds.catalog().get(fixture))
    };
    let echo = get("echo").ok_or("echo did not load")?;
    runtime.block_on(async {
        let capabilities = capabilities()?;
        let alone = timed(&echo, &capabilities).await?;
        show("alone", &alone, &alone);
        for fixture in HOSTILE {
            let plugin = get(fixture).ok_or("a hostile plugin did not load")?;
            let stop = Arc::new(AtomicBool::new(false));
            let bullies: Vec<_> = (0..AT_ONCE)
                .map(|_| {
                    let (plugin, stop) = (plugin.clone(), Arc::clone(&stop));
                    let capabilities = capabilities.clone();
                    tokio::spawn(async move {
                        while !stop.load(Ordering::Relaxed) {
                            run(&plugin, &capabilities, DEADLINE).await;
                        }
                    })
                })
                .collect();
            let beside = timed(&echo, &capabilities).await?;
            stop.store(true, Ordering::Relaxed);
            for bully in bullies {
                bully.await?;
            }
            show(&format!("beside {AT_ONCE} × {fixture}"), &beside, &alone);
        }
        Ok(())
    })
}

fn capabilities() -> Result<Capabilities, Failed> {
    let resolver = Resolver::with_servers(&[([127, 0, 0, 1], 53).into()])?;
    Ok(Capabilities::new(Options { resolver, system_roots: false, root_files: Vec::new() })?)
}

async fn run(plugin: &Plugin, capabilities: &Capabilities, time: Duration) {
    let deadline = tokio::time::Instant::now() + time;
    let run = Run::new("bench", Arc::new(Grants::default()), deadline);
    let capabilities = capabilities.clone();
    let request = CheckRequest { config: "{}", target: "t", check: "c", run, capabilities };
    // A hostile run ends as a fault, each in its own way.
    let _ = plugin.check(request).await;
}

async fn timed(plugin: &Plugin, capabilities: &Capabilities) -> Result<Vec<Duration>, Failed> {
    let mut times = Vec::with_capacity(RUNS);
    for _ in 0..RUNS {
        let began = Instant::now();
        run(plugin, capabilities, Duration::from_secs(10)).await;
        times.push(began.elapsed());
        tokio::time::sleep(PAUSE).await;
    }
    times.sort_unstable();
    Ok(times)
}

fn show(what: &str, times: &[Duration], alone: &[Duration]) {
    let at = |times: &[Duration], percent: usize| {
        let place = times.len().saturating_sub(1) * percent / 100;
        times.get(place).copied().unwrap_or_default().as_secs_f64() * 1e3
    };
    let (half, most) = (at(times, 50), at(times, 99));
    let times_alone = half / at(alone, 50).max(f64::MIN_POSITIVE);
    report::figure(what, &format!("{half:.2} ms ({times_alone:.1} × alone), {most:.2} ms"));
}
