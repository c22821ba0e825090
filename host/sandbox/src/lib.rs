//! Plugins as sandboxed Wasm components: catalog, limits, one run.
//!
//! The only part of the product that imports wasmtime. A [`Sandbox`] is made once; a [`Catalog`]
//! loads plugins into it, from bytes and from files; a [`Plugin`] plans and probes, each
//! time in a fresh instance that holds nothing of an earlier one (contract P1).
//!
//! Whatever a plugin does ends as the contract says (P5, G4): traps, panics, loops, floods of
//! memory, output or log lines are told as an inconclusive outcome that names the plugin.

mod cache;
mod catalog;
mod compute;
mod engine;
mod fault;
mod inspect;
mod interfaces;
mod limits;
mod load_error;
mod manifest;
mod options;
mod plugin;
mod run;
mod sandbox;
mod state;
mod stdio;
mod ticker;
mod v1;
mod wasi;

pub use cache::CacheError;
pub use catalog::{Catalog, Changes, PluginInfo, PluginState, Source};
pub use fault::Fault;
pub use interfaces::CONTRACT_VERSION;
pub use load_error::LoadError;
pub use manifest::{MAX_NAME_BYTES, Manifest, ManifestError, is_name};
pub use options::{GRACE, Options, PURE_CPU, TICK};
pub use plugin::{PlanError, Plugin};
pub use run::{CheckRequest, RunReport, RunStats};
pub use sandbox::{Sandbox, SandboxError};
