//! What a plugin costs by the language that it is written in: to load, and for each run.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use probehost::{Kinds, Setup};
use probehost_sandbox::Plugin;
use tokio::runtime::{Builder, Runtime};

use crate::cost::{self, Meter};
use crate::{Failed, report};

/// Runs of each plugin.
const RUNS: usize = 300;

/// The examples: language, name, and a config of a check.
const EXAMPLES: [(&str, &str, &str); 4] = [
    ("Rust", "redis-ping", r#"{"host":"127.0.0.1","port":6379}"#),
    ("C", "tcp-banner", r#"{"host":"127.0.0.1","port":25}"#),
    ("TypeScript", "json-assert", r#"{"url":"http://127.0.0.1/","path":"a","equals":1}"#),
    ("Python", "dns-answer", r#"{"name":"a.example"}"#),
];

/// A run is measured by a plan: a fresh instance, the language's start, a config read, and all of it
/// dropped; what a probe waits for on a network is the same in all of them.
pub(crate) fn bench() -> Result<(), Failed> {
    report::part("Languages: time to load, and CPU of a fresh instance with one call");
    let runtime = Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let cache = tempfile::tempdir()?;
    for (language, name, config) in EXAMPLES {
        let Some(file) = find(name) else {
            report::figure(
                &format!("{language}: {name}"),
                &format!("not built: probehost plugin build examples/plugins/{name}"),
            );
            continue;
        };
        let size = std::fs::metadata(&file)?.len();
        let (cold, _) = load(&runtime, &file, cache.path())?;
        let (cached, plugin) = load(&runtime, &file, cache.path())?;
        let micros = runtime.block_on(runs(&plugin, config))?;
        report::figure(
            &format!("{language}: {name}, {} KiB", size >> 10),
            &format!(
                "{:.0} ms compiled, {:.1} ms from the cache, {micros:.0} µs a run",
                cold.as_secs_f64() * 1e3,
                cached.as_secs_f64() * 1e3
            ),
        );
    }
    Ok(())
}

/// Where building it has put it.
fn find(name: &str) -> Option<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2)?;
    // Where an author builds it, and where the tests do.
    let below = [
        format!("examples/plugins/{name}/dist/{name}.wasm"),
        format!("target/plugins/wasm32-wasip2/plugin/{}.wasm", name.replace('-', "_")),
        format!("target/tmp/{name}/{name}.wasm"),
        format!("target/tmp/plugin-road/ts-{name}/{name}/dist/{name}.wasm"),
        format!("target/tmp/plugin-road/python-{name}/{name}/dist/{name}.wasm"),
    ];
    below.into_iter().map(|place| root.join(place)).find(|path| path.is_file())
}

/// Loads it as a host does that has just started. Gives the time that it took.
fn load(runtime: &Runtime, file: &Path, cache: &Path) -> Result<(Duration, Plugin), Failed> {
    let setup = Setup {
        cache: Some(cache.to_owned()),
        concurrency: 4,
        only: Some("none".to_owned()),
        ..Setup::default()
    };
    let kinds = runtime.block_on(Kinds::load(&setup))?;
    let began = Instant::now();
    let info = runtime.block_on(kinds.catalog().load_one(file))?;
    let took = began.elapsed();
    let plugin = kinds.catalog().get(&info.name).ok_or("the plugin did not load")?;
    Ok((took, plugin))
}

async fn runs(plugin: &Plugin, config: &str) -> Result<f64, Failed> {
    for _ in 0..RUNS / 10 {
        plugin.plan(config).await?;
    }
    let meter = Meter::start(cost::own)?;
    for _ in 0..RUNS {
        plugin.plan(config).await?;
    }
    Ok(meter.stop()?.micros_each(RUNS))
}
