//! One plugin from a file, loaded as a host would, and what can be done with it.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use probehost_config::Schema;
use probehost_model::grant::Pattern;
use probehost_model::{Outcome, Reason};
use probehost_monitor::Evidence;
use probehost_monitor::ports::NoEvidence;
use probehost_sandbox::{Catalog, Options, Plugin, PluginInfo, Sandbox, SandboxError};
use serde_json::Value;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::size;
use crate::app::{Kinds, SandboxProber, Usage};
use crate::cli::machine::{self, MachineArgs};

/// More than a host gives a plugin: who is told that it is too slow wants to know by how much.
const COMPILE_LIMIT: Duration = Duration::from_secs(600);

/// A plugin that loaded.
#[derive(Debug)]
pub(super) struct Loaded {
    pub(super) plugin: Plugin,
    pub(super) info: PluginInfo,
    /// Whether its code was compiled before.
    pub(super) cached: bool,
    prober: SandboxProber,
}

/// What one run showed.
#[derive(Debug)]
pub(super) struct Tried {
    pub(super) evidence: Evidence,
    pub(super) took: Duration,
    /// None: it came to no run.
    pub(super) usage: Option<Usage>,
}

impl Loaded {
    /// Loads a file. `allow` is what an operator would grant it besides what a config names. With
    /// `cold`, compiled code from before is not used.
    pub(super) async fn load(
        file: &Path,
        machine: &MachineArgs,
        allow: &[Pattern],
        cold: bool,
    ) -> Result<Self, String> {
        let sandbox = sandbox(cold).map_err(|error| error.to_string())?;
        let catalog = Catalog::new(sandbox, std::collections::BTreeMap::new());
        let info =
            catalog.load_one(file).await.map_err(|error| format!("{}: {error}", file.display()))?;
        let cached = catalog.sandbox().cache_hits() > 0;
        let gone = || format!("{}: the plugin {} is not there", file.display(), info.name);
        let plugin = catalog.get(&info.name).ok_or_else(gone)?;
        let kinds = Kinds::of_catalog(catalog, &info.name, allow.to_vec());
        let prober = Arc::new(kinds).prober(&machine.setup()).map_err(|error| error.to_string())?;
        Ok(Self { plugin, info, cached, prober })
    }

    /// Runs one probe as a host would: what the schema refuses never gets to the plugin.
    pub(super) async fn run(&self, config: &Value, timeout: Duration) -> Result<Tried, String> {
        let began = Instant::now();
        let manifest = self.plugin.manifest();
        let refused = match Schema::compile(&manifest.config_schema) {
            Ok(schema) => schema.refuses(config),
            Err(error) => vec![format!("its config-schema is no JSON Schema: {error}")],
        };
        if !refused.is_empty() {
            let outcome = Outcome::fail(Reason::Config, &refused.join("; "));
            let evidence = without_run(&manifest.name, outcome);
            return Ok(Tried { evidence, took: began.elapsed(), usage: None });
        }
        let check = machine::check(&manifest.name, config, timeout);
        let cancel = CancellationToken::new();
        let ran = self.prober.probe_metered(&check, began + timeout, &cancel).await;
        let (evidence, usage) = ran.map_err(|none| match none {
            NoEvidence::NotImplemented(help) | NoEvidence::Cancelled(help) => help,
        })?;
        Ok(Tried { evidence, took: began.elapsed(), usage })
    }

    /// How long it took to load, and why that long.
    pub(super) fn load_time(&self) -> String {
        let time = self.info.compile_time.unwrap_or_default();
        let host = Options::default().compile_time;
        let time_text = size::time(time);
        if self.cached {
            format!("{time_text}, compiled before")
        } else if time > host {
            format!("{time_text}, compiled; a host gives up after {}", size::time(host))
        } else {
            format!("{time_text}, compiled")
        }
    }
}

fn without_run(subject: &str, outcome: Outcome) -> Evidence {
    Evidence {
        outcome,
        subject: subject.to_owned(),
        measurements: Vec::new(),
        layers: &[],
        log: Vec::new(),
        calls: Vec::new(),
        denied: Vec::new(),
    }
}

fn sandbox(cold: bool) -> Result<Sandbox, SandboxError> {
    let without = Options { instances: 4, compile_time: COMPILE_LIMIT, ..Options::default() };
    if cold {
        return Sandbox::new(without);
    }
    match Sandbox::new(Options { cache: cache_folder(), ..without.clone() }) {
        // It only costs time to do without.
        Err(SandboxError::Cache(error)) => {
            eprintln!("probehost: compiled code is not kept: {error}");
            Sandbox::new(without)
        }
        made => made,
    }
}

/// Where compiled code is kept for the author's next run.
fn cache_folder() -> Option<PathBuf> {
    let home = || Some(PathBuf::from(std::env::var_os("HOME")?).join(".cache"));
    let cache = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from).or_else(home)?;
    cache.is_absolute().then(|| cache.join("probehost/compiled"))
}
