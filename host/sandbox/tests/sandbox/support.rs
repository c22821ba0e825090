//! One sandbox for all tests, and how they load and run plugins.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::LazyLock;
use std::time::Duration;

use probehost_capability::process::{Command, Commands};
use probehost_capability::secrets::Secrets;
use probehost_capability::{Capabilities, Run, Trace};
use probehost_model::grant::Grants;
use probehost_model::{Endpoint, Outcome};
use probehost_sandbox::{
    Catalog, CheckRequest, Fault, LoadError, Options, Plugin, RunReport, Sandbox,
};
use tokio::time::Instant;

/// Long enough for everything that is to end by itself, however busy the machine.
pub(crate) const AMPLE: Duration = Duration::from_secs(60);

static SANDBOX: LazyLock<Sandbox> = LazyLock::new(|| small_sandbox(16));

static CAPABILITIES: LazyLock<Capabilities> = LazyLock::new(|| {
    let mut options = probehost_capability::Options::system().unwrap();
    options.system_roots = false;
    let argv = ["sh", "-c", "echo $$; exec sleep 1000"].map(str::to_owned).to_vec();
    let sleeper = Command { argv, env: Vec::new(), cwd: None };
    let commands = Commands::from([("sleeper".to_owned(), sleeper)]);
    Capabilities::new(options).unwrap().with_commands(commands, Secrets::system(None))
});

/// A sandbox of `instances` places; all have one directory for compiled code.
pub(crate) fn small_sandbox(instances: u32) -> Sandbox {
    let cache = Path::new(env!("CARGO_TARGET_TMPDIR")).join("compiled");
    Sandbox::new(Options { instances, cache: Some(cache), ..Options::default() }).unwrap()
}

pub(crate) fn catalog() -> Catalog {
    Catalog::new(SANDBOX.clone(), BTreeMap::new())
}

pub(crate) fn capabilities() -> Capabilities {
    CAPABILITIES.clone()
}

/// Loads a fixture into the sandbox that all tests share.
pub(crate) async fn load(fixture: &str) -> Plugin {
    load_into(&catalog(), fixture).await
}

pub(crate) async fn load_into(catalog: &Catalog, fixture: &str) -> Plugin {
    let bytes = probehost_test_plugins::component(fixture);
    let kind = catalog.load_builtin(fixture, bytes).await.unwrap();
    assert_eq!(kind, fixture.replace('_', "-"));
    catalog.get(&kind).unwrap()
}

/// Why a fixture can't be loaded.
pub(crate) async fn refusal(fixture: &str) -> LoadError {
    let catalog = catalog();
    let bytes = probehost_test_plugins::component(fixture);
    let error = catalog.load_builtin(fixture, bytes).await.unwrap_err();
    assert!(catalog.get(&fixture.replace('_', "-")).is_none());
    well().await;
    error
}

/// A probe that is over.
#[derive(Debug)]
pub(crate) struct Probed {
    pub(crate) report: RunReport,
    pub(crate) trace: Trace,
}

impl Probed {
    /// The fault, and the text that names the plugin.
    pub(crate) fn fault(&self) -> (&Fault, &str) {
        match (&self.report.fault, &self.report.outcome) {
            (Some(fault), Outcome::Inconclusive { error }) => (fault, error),
            other => panic!("no fault: {other:?}"),
        }
    }

    pub(crate) fn measured(&self, name: &str) -> Option<f64> {
        self.report.measurements.iter().find(|m| m.name == name).map(|m| m.value)
    }

    pub(crate) fn lines(&self) -> Vec<&str> {
        self.trace.log.iter().map(|line| line.text.as_str()).collect()
    }
}

/// Plans and probes with what the plan names granted, within `timeout`.
pub(crate) async fn probe(plugin: &Plugin, config: &str, timeout: Duration) -> Probed {
    let plan = plugin.plan(config).await.unwrap();
    probe_with(plugin, config, plan.endpoints, timeout).await
}

pub(crate) async fn probe_with(
    plugin: &Plugin,
    config: &str,
    named: Vec<Endpoint>,
    timeout: Duration,
) -> Probed {
    let name = plugin.manifest().name.clone();
    let run = Run::new(name, Grants::new(named, Vec::new()), Instant::now() + timeout);
    let report = plugin.check(request(config, &run)).await;
    Probed { report, trace: run.take_trace() }
}

pub(crate) fn request<'a>(config: &'a str, run: &Run) -> CheckRequest<'a> {
    CheckRequest {
        config,
        target: "target",
        check: "check",
        run: run.clone(),
        capabilities: capabilities(),
    }
}

/// Probes once with a fixture that misbehaves. Its fault is told with its name and version, and a
/// well-behaved plugin still passes afterwards (P5).
pub(crate) async fn misbehave(fixture: &str, config: &str, timeout: Duration) -> Probed {
    let plugin = load(fixture).await;
    let probed = probe(&plugin, config, timeout).await;
    if probed.report.fault.is_some() {
        let (_, text) = probed.fault();
        let title = format!("plugin {} 0.1.0: ", fixture.replace('_', "-"));
        assert!(text.starts_with(&title), "{text}");
        assert_eq!(probed.report.measurements, []);
    }
    well().await;
    probed
}

/// A well-behaved plugin passes.
pub(crate) async fn well() {
    let echo = load("echo").await;
    let probed = probe(&echo, r#"{"measurements":1}"#, AMPLE).await;
    assert_eq!(probed.report.outcome, Outcome::Pass);
    assert_eq!(probed.measured("echo_0"), Some(0.0));
}
