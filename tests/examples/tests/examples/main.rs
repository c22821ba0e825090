//! The example plugins as components in the sandbox, against real servers.

#![allow(
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a helper of a test fails like the test itself"
)]

mod redis_ping;
mod tls_expiry;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use probehost_capability::resolve::Resolver;
use probehost_capability::{Capabilities, Options, Run, Trace};
use probehost_model::grant::{Grants, named_in};
use probehost_model::{Outcome, Reason};
use probehost_sandbox::{Catalog, CheckRequest, RunReport, Sandbox};
use probehost_test_examples::EXAMPLES;
use serde_json::Value;
use tokio::time::Instant;

/// Long enough for everything that is to end by itself, however busy the machine.
const AMPLE: Duration = Duration::from_secs(60);

/// Short enough to wait for.
const SHORT: Duration = Duration::from_secs(1);

/// Probes once with what the config names granted, trusting the authorities in these files.
async fn probe(
    kind: &str,
    config: &Value,
    timeout: Duration,
    root_files: Vec<PathBuf>,
) -> (RunReport, Trace) {
    let cache = Path::new(env!("CARGO_TARGET_TMPDIR")).join("compiled");
    let options =
        probehost_sandbox::Options { instances: 4, cache: Some(cache), ..Default::default() };
    let catalog = Catalog::new(Sandbox::new(options).unwrap(), BTreeMap::new());
    let example = EXAMPLES.iter().find(|example| example.name == kind).unwrap();
    assert_eq!(catalog.load_builtin(kind, example.bytes).await.unwrap(), kind);
    let plugin = catalog.get(kind).unwrap();
    let text = config.to_string();
    let plan = plugin.plan(&text).await.unwrap();
    // G2: what the config names is all that is granted.
    assert!(plan.endpoints.iter().all(|endpoint| named_in(config, endpoint)), "{plan:?}");
    let resolver = Resolver::fixed([("db.example".to_owned(), vec!["127.0.0.1".parse().unwrap()])]);
    let capabilities =
        Capabilities::new(Options { resolver, system_roots: false, root_files }).unwrap();
    let grants = Grants::new(plan.endpoints, Vec::new());
    let run = Run::new(kind, grants, Instant::now() + timeout);
    let request = CheckRequest {
        config: &text,
        target: "target",
        check: "check",
        run: run.clone(),
        capabilities,
    };
    let report = plugin.check(request).await;
    (report, run.take_trace())
}

fn measured(report: &RunReport, name: &str) -> Option<f64> {
    report.measurements.iter().find(|m| m.name == name).map(|m| m.value)
}

/// Reason and message of a failure.
fn failure(report: &RunReport) -> (Reason, &str) {
    match &report.outcome {
        Outcome::Fail(failure) => (failure.reason, failure.message()),
        other => panic!("no failure: {other:?} {:?}", report.fault),
    }
}
