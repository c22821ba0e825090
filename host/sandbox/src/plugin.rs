//! A plugin that is loaded, and what can be asked of it without a network: what it is, what it plans.

use std::sync::Arc;
use std::time::Duration;

use probehost_model::Plan;
use tokio::time::Instant;

use crate::fault::{self, Fault};
use crate::manifest::{Manifest, Raw};
use crate::options::{PURE_CPU, PURE_WALL};
use crate::sandbox::Sandbox;
use crate::v1;

/// A plugin that is loaded. A clone is the same plugin; a run goes on with the version it began
/// with when the catalog has a newer one meanwhile (contract G1).
#[derive(Clone)]
pub struct Plugin(pub(crate) Arc<Loaded>);

pub(crate) struct Loaded {
    pub(crate) sandbox: Sandbox,
    pub(crate) ready: v1::Ready,
    pub(crate) manifest: Manifest,
}

/// Why there is no plan.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PlanError {
    /// The check's config is wrong: reason `config`, and nothing is sent (contract P2).
    #[error("{path}{}{message}", if path.is_empty() { "" } else { ": " })]
    Config {
        /// The key's path inside the config: `headers.0.name`; empty for the whole.
        path: String,
        /// What is wrong and what would be right.
        message: String,
    },
    /// The plugin is at fault; the outcome is inconclusive (contract P5).
    #[error("plugin {plugin}: {fault}")]
    Fault {
        /// Its name and version.
        plugin: String,
        /// What it did.
        fault: Fault,
    },
}

impl Plugin {
    /// What it says of itself.
    #[must_use]
    pub fn manifest(&self) -> &Manifest {
        &self.0.manifest
    }

    /// `http-head 1.2.0`, as faults name it.
    #[must_use]
    pub fn title(&self) -> String {
        format!("{} {}", self.0.manifest.name, self.0.manifest.version)
    }

    /// Asks what a check with this config (JSON) is about and what it will reach. The plugin has no
    /// capability meanwhile, and [`PURE_CPU`] to compute. The answer holds for as long as
    /// config and plugin stay.
    ///
    /// # Errors
    /// Says what is wrong with the config, or what the plugin did wrong.
    pub async fn plan(&self, config: &str) -> Result<Plan, PlanError> {
        let Loaded { sandbox, ready, .. } = &*self.0;
        let fault = |fault| PlanError::Fault { plugin: self.title(), fault };
        let answer =
            pure(sandbox, async |store| ready.plan(store, config).await).await.map_err(fault)?;
        match answer {
            Ok(plan) => v1::plan(plan, sandbox.options().output).map_err(fault),
            Err(error) => Err(v1::config_error(&error)),
        }
    }
}

impl std::fmt::Debug for Plugin {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Plugin").field(&self.title()).finish()
    }
}

/// Asks a plugin what it is.
pub(crate) async fn describe(sandbox: &Sandbox, ready: &v1::Ready) -> Result<Raw, Fault> {
    let answer = pure(sandbox, async |store| ready.describe(store).await).await?;
    let raw = v1::manifest(answer);
    let limit = sandbox.options().output;
    if raw.size() > limit { Err(Fault::Output { limit }) } else { Ok(raw) }
}

/// Runs a call that has no capability, within limits of its own.
async fn pure<T>(
    sandbox: &Sandbox,
    call: impl AsyncFnOnce(&mut wasmtime::Store<crate::state::State>) -> wasmtime::Result<T>,
) -> Result<T, Fault> {
    let deadline = Instant::now() + PURE_WALL;
    let Some(_place) = sandbox.place(deadline).await else {
        return Err(Fault::Host("all its instances were in use".into()));
    };
    let mut store = sandbox.store(deadline + Duration::from_secs(1), Some(PURE_CPU), None);
    let answer = tokio::time::timeout_at(deadline, call(&mut store)).await;
    match answer {
        Ok(Ok(answer)) => Ok(answer),
        Ok(Err(error)) => Err(fault::classify(&error, store.data())),
        Err(_) => Err(Fault::Slow),
    }
}
