//! What all plugins of a host share: the engine, its clock, the linker, the places in the pool.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{Semaphore, SemaphorePermit};
use tokio::time::Instant;
use wasmtime::component::Linker;
use wasmtime::{Cache, Engine, Store};

use crate::cache::{self, CacheError};
use crate::compute::{Compute, Turns};
use crate::engine;
use crate::limits::Limiter;
use crate::options::{CALL_BYTES, HANDLES, Options};
use crate::state::{Granted, State};
use crate::ticker::Ticker;
use crate::v1;

/// Why there is no sandbox on this host.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SandboxError {
    /// The directory for compiled code was refused.
    #[error(transparent)]
    Cache(#[from] CacheError),
    /// A setting is out of its range.
    #[error("{setting} is {value}; give {range}")]
    Setting {
        /// Its name in [`Options`].
        setting: &'static str,
        /// As given.
        value: u64,
        /// What would be right.
        range: &'static str,
    },
    /// The engine could not be made: too little address space, most likely.
    #[error(
        "the engine could not be made for {instances} instances: {text}; allow more virtual memory \
             (ulimit -v), or configure fewer instances"
    )]
    Engine {
        /// How many were asked for.
        instances: u32,
        /// What it said.
        text: String,
    },
    /// The thread that stops loops could not be started.
    #[error("the epoch thread could not be started: {0}")]
    Thread(#[from] std::io::Error),
}

/// The sandbox: one for the whole host. Clones are the same sandbox.
///
/// Its thread ends when the last clone, and the last plugin loaded into it, is gone.
#[derive(Clone)]
pub struct Sandbox(Arc<Shared>);

struct Shared {
    engine: Engine,
    linker: Linker<State>,
    /// As many as the pool has places, so that a run never finds it full.
    places: Semaphore,
    turns: Turns,
    options: Options,
    cache: Option<Cache>,
    _ticker: Ticker,
}

impl Sandbox {
    /// Makes the engine and starts its clock.
    ///
    /// # Errors
    /// When a setting is out of range, the cache directory is not the host's own, or the system
    /// has no room for the pool.
    pub fn new(options: Options) -> Result<Self, SandboxError> {
        check(&options)?;
        let cache = options.cache.as_deref().map(cache::open).transpose()?;
        let failed = |error: wasmtime::Error| SandboxError::Engine {
            instances: options.instances,
            text: format!("{error:#}"),
        };
        let engine = engine::build(&options, cache.clone()).map_err(failed)?;
        let linker = v1::linker(&engine).map_err(failed)?;
        let ticker = Ticker::start(engine.weak())?;
        Ok(Self(Arc::new(Shared {
            linker,
            places: Semaphore::new(usize::try_from(options.instances).unwrap_or(usize::MAX)),
            turns: Turns::new(),
            options,
            engine,
            cache,
            _ticker: ticker,
        })))
    }

    /// What it was made with.
    #[must_use]
    pub fn options(&self) -> &Options {
        &self.0.options
    }

    /// How many modules were found in the cache, instead of being compiled. A plugin is one or more.
    #[must_use]
    pub fn cache_hits(&self) -> usize {
        self.0.cache.as_ref().map_or(0, Cache::cache_hits)
    }

    pub(crate) fn engine(&self) -> &Engine {
        &self.0.engine
    }

    pub(crate) fn linker(&self) -> &Linker<State> {
        &self.0.linker
    }

    /// Waits for a place in the pool, until `deadline` at most.
    pub(crate) async fn place(&self, deadline: Instant) -> Option<SemaphorePermit<'_>> {
        tokio::time::timeout_at(deadline, self.0.places.acquire()).await.ok()?.ok()
    }

    /// A store for one run, with all limits set.
    pub(crate) fn store(
        &self,
        deadline: Instant,
        budget: Option<Duration>,
        granted: Option<Granted>,
    ) -> Store<State> {
        let limiter = Limiter::new(self.0.options.memory);
        let compute = Compute::new(self.0.turns.clone(), deadline, budget);
        let mut store = Store::new(&self.0.engine, State::new(limiter, compute, granted));
        store.limiter(|state| &mut state.limiter);
        store.set_hostcall_fuel(CALL_BYTES);
        store.set_max_component_handles(HANDLES);
        store.set_epoch_deadline(1);
        store.epoch_deadline_callback(|mut store| Ok(store.data_mut().tick()?));
        store
    }
}

impl std::fmt::Debug for Sandbox {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Sandbox").field("options", &self.0.options).finish_non_exhaustive()
    }
}

fn check(options: &Options) -> Result<(), SandboxError> {
    let bad = |setting, value, range| Err(SandboxError::Setting { setting, value, range });
    let bytes = |size: usize| u64::try_from(size).unwrap_or(u64::MAX);
    if !(1..=10_000).contains(&options.instances) {
        return bad("instances", options.instances.into(), "1 to 10000");
    }
    let memory = bytes(options.memory);
    if memory == 0 || memory > 1 << 32 || !memory.is_multiple_of(64 << 10) {
        return bad("memory", memory, "a multiple of 65536 bytes, at most 4 GiB");
    }
    if options.output < 1024 {
        return bad("output", bytes(options.output), "1024 bytes or more");
    }
    if options.file_size == 0 {
        return bad("file_size", options.file_size, "1 byte or more");
    }
    if options.compile_time.is_zero() {
        return bad("compile_time", 0, "more than 0 s");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// P10: a setting out of its range is refused by its name, with what would be right.
    #[test]
    fn settings_have_ranges() {
        let options = Options::default;
        for (bad, name) in [
            (Options { instances: 0, ..options() }, "instances"),
            (Options { instances: 10_001, ..options() }, "instances"),
            (Options { memory: 0, ..options() }, "memory"),
            (Options { memory: (64 << 20) + 1, ..options() }, "memory"),
            (Options { output: 10, ..options() }, "output"),
            (Options { file_size: 0, ..options() }, "file_size"),
            (Options { compile_time: Duration::ZERO, ..options() }, "compile_time"),
        ] {
            let error = Sandbox::new(bad).err().unwrap().to_string();
            assert!(error.starts_with(name) && error.contains("; give "), "{error}");
        }
    }
}
