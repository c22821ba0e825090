//! Takes up a changed config file and changed plugin files while the host runs.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex as StdMutex, PoisonError};
use std::time::{Duration, SystemTime};

use probehost_config::{Config, ConfigErrors};
use probehost_model::SYSTEM_PRINCIPAL;
use probehost_store::StoreError;
use tokio::sync::Notify;
use tokio::time::{MissedTickBehavior, interval};
use tokio_util::sync::CancellationToken;
use tracing::{error, info, warn};

use super::kinds::Setup;
use super::saving::{log_resolved, save};
use super::{HostNotifier, Saver};

/// How often it is looked whether a file has changed. A change is taken up when two looks in a
/// row see the same, so that a file that is still being written is left alone.
const LOOK: Duration = Duration::from_secs(2);

/// What a reload needs of a host.
pub(crate) struct Reloader {
    pub(crate) path: PathBuf,
    pub(crate) saver: Arc<Saver>,
    pub(crate) notifier: HostNotifier,
    pub(crate) asked: Notify,
    pub(crate) state: ReloadState,
}

/// What came of the last reload; for `/healthz`.
#[derive(Debug, Clone, Default)]
pub(crate) struct ReloadState(Arc<StdMutex<Option<String>>>);

impl ReloadState {
    /// Why the file as it is now was not taken up. None: it was.
    pub(crate) fn problem(&self) -> Option<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn set(&self, problem: Option<String>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = problem;
    }
}

/// Why a reload changed nothing.
#[derive(Debug, thiserror::Error)]
enum ReloadError {
    #[error("{0}")]
    Config(#[from] ConfigErrors),
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Reloader {
    /// Looks for changes since `taken_up` until `stop`, and at once when asked. What changed
    /// while the host was starting is such a change too.
    pub(crate) async fn watch(self: Arc<Self>, mut taken_up: Look, stop: CancellationToken) {
        let mut looks = interval(LOOK);
        looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut before = taken_up.clone();
        loop {
            let asked = tokio::select! {
                biased;
                () = stop.cancelled() => return,
                () = self.asked.notified() => true,
                _ = looks.tick() => false,
            };
            let now = self.look();
            let settled = now == before && now != taken_up;
            before.clone_from(&now);
            if asked || settled {
                taken_up = now;
                tokio::select! {
                    biased;
                    () = stop.cancelled() => return,
                    () = self.reload() => {}
                }
            }
        }
    }

    /// Takes up the files as they are now. What is wrong with them is logged and told by
    /// `/healthz`, and changes nothing.
    async fn reload(&self) {
        match self.take_up().await {
            Ok(()) => self.state.set(None),
            Err(problem) => {
                let text = problem.to_string();
                error!("reload of {}: nothing is changed:\n{text}", self.path.display());
                self.state.set(Some(text));
            }
        }
    }

    async fn take_up(&self) -> Result<(), ReloadError> {
        let Saver { current, kinds, store, monitor, .. } = &*self.saver;
        let mut current = current.lock().await;
        let loaded = kinds.load_directory().await;
        let config = Config::load(&self.path)?;
        let resolved = kinds.resolve(&config);
        if !resolved.errors.is_empty() {
            return Err(resolved.errors.into());
        }
        log_resolved(&resolved, kinds);
        for table in needs_restart(&current, &config) {
            warn!("{table} has changed; that takes effect with the next start");
        }
        kinds.set_operator(&Setup::of(&config));
        self.notifier.set(config.notify.clone());
        let prober = monitor.prober();
        prober.forget_plans();
        let clock = monitor.clock();
        let saved = save(store, prober, resolved.targets, clock, SYSTEM_PRINCIPAL).await?;
        let probed = self.saver.take_effect(&saved, &loaded).await?;
        info!(probed, "{} is taken up", self.path.display());
        *current = config;
        Ok(())
    }

    fn look(&self) -> Look {
        Look::at(&self.path, self.saver.kinds.directory())
    }
}

/// What tells one state of the files from another.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Look {
    config: Option<Vec<u8>>,
    plugins: Vec<File>,
}

impl Look {
    pub(crate) fn at(path: &Path, directory: Option<&Path>) -> Self {
        // The content, not its time: a swapped symlink or a restored copy can have an old one.
        let config = std::fs::read(path).ok();
        Self { config, plugins: directory.map(files).unwrap_or_default() }
    }
}

/// A plugin file: its path, size, and when and as which file it was written.
type File = (PathBuf, u64, Option<SystemTime>, u64);

fn files(directory: &Path) -> Vec<File> {
    use std::os::unix::fs::MetadataExt as _;
    let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
    let mut files: Vec<File> = entries
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "wasm"))
        .filter_map(|path| {
            let found = std::fs::metadata(&path).ok()?;
            Some((path, found.len(), found.modified().ok(), found.ino()))
        })
        .collect();
    files.sort();
    files
}

/// The tables that are read at the start only, and differ.
fn needs_restart(before: &Config, now: &Config) -> Vec<&'static str> {
    [
        ("[server]", before.server != now.server),
        ("[store]", before.store != now.store),
        ("[history]", before.history != now.history),
        ("[probes] concurrency", before.probes.concurrency != now.probes.concurrency),
        ("[plugins] directory", before.plugins.directory != now.plugins.directory),
        ("[plugins] cache", before.plugins.cache != now.plugins.cache),
        ("sha256 of a plugin", pins(before) != pins(now)),
        ("[tls]", before.tls != now.tls),
        ("[ssh]", before.ssh != now.ssh),
        ("[secrets]", before.secrets != now.secrets),
        ("[containers]", before.containers != now.containers),
        ("[commands]", before.commands != now.commands),
        ("[lifecycle] pool_ttl", before.lifecycle.pool_ttl != now.lifecycle.pool_ttl),
        ("[log]", before.log != now.log),
    ]
    .into_iter()
    .filter_map(|(table, differs)| differs.then_some(table))
    .collect()
}

fn pins(config: &Config) -> Vec<(&String, [u8; 32])> {
    let all = config.plugins.by_name.iter();
    all.filter_map(|(name, settings)| Some((name, settings.sha256?))).collect()
}
