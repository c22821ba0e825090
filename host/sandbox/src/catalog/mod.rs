//! The plugins of a host: built in, and from files that can come, change and go while it runs.

mod info;
mod load;

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};

pub use info::{PluginInfo, PluginState, Source};

use crate::load_error::LoadError;
use crate::plugin::Plugin;
use crate::sandbox::Sandbox;
use load::Fresh;

/// The plugins of a host. Reading is a lookup under a lock that is held for no longer than that;
/// loading is one at a time, and a plugin that fails to load leaves all others as they are.
#[derive(Debug)]
pub struct Catalog {
    sandbox: Sandbox,
    /// SHA-256 by probe kind, from the operator.
    pins: BTreeMap<String, String>,
    entries: RwLock<Entries>,
    loading: tokio::sync::Mutex<()>,
}

#[derive(Debug, Default)]
struct Entries {
    builtin: BTreeMap<String, Arc<Entry>>,
    /// By probe kind. A file takes precedence over a built-in plugin of the same name.
    files: BTreeMap<String, Arc<Entry>>,
    /// By source and, since all built-in plugins have the same one, by name.
    failed: BTreeMap<(Source, String), Failed>,
}

#[derive(Debug)]
struct Failed {
    info: PluginInfo,
    /// The bytes alone are not the reason, so the same ones may load the next time.
    retry: bool,
}

#[derive(Debug)]
struct Entry {
    plugin: Plugin,
    info: PluginInfo,
}

/// What a look at the plugin directory came to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Changes {
    /// Probe kinds that have a new version to serve them.
    pub loaded: Vec<String>,
    /// Probe kinds whose file is gone. A built-in plugin of the name serves again.
    pub removed: Vec<String>,
    /// Files that could not be loaded, with what is wrong and what to do. What they replaced serves on.
    pub failed: Vec<(PathBuf, String)>,
}

impl Catalog {
    /// An empty catalog. `pins` holds the SHA-256, in hexadecimal, of each probe kind that the
    /// operator has pinned: no other bytes may serve it (contract G6).
    #[must_use]
    pub fn new(sandbox: Sandbox, pins: BTreeMap<String, String>) -> Self {
        Self { sandbox, pins, entries: RwLock::default(), loading: tokio::sync::Mutex::default() }
    }

    /// The sandbox that the plugins run in.
    #[must_use]
    pub const fn sandbox(&self) -> &Sandbox {
        &self.sandbox
    }

    /// The plugin that serves a probe kind.
    #[must_use]
    pub fn get(&self, kind: &str) -> Option<Plugin> {
        let entries = self.entries.read().unwrap_or_else(PoisonError::into_inner);
        let entry = entries.files.get(kind).or_else(|| entries.builtin.get(kind))?;
        Some(entry.plugin.clone())
    }

    /// All that serve, by name, and then all that failed.
    #[must_use]
    pub fn list(&self) -> Vec<PluginInfo> {
        let entries = self.entries.read().unwrap_or_else(PoisonError::into_inner);
        let mut serving: BTreeMap<_, _> = entries.builtin.iter().collect();
        serving.extend(&entries.files);
        let serving = serving.into_values().map(|entry| entry.info.clone());
        serving.chain(entries.failed.values().map(|failed| failed.info.clone())).collect()
    }

    /// Loads a plugin that is part of the binary; gives its probe kind.
    ///
    /// # Errors
    /// Says what is wrong with it. It is listed as failed then.
    pub async fn load_builtin(&self, name: &str, bytes: &[u8]) -> Result<String, LoadError> {
        let _one = self.loading.lock().await;
        let sha256 = load::sha256(bytes);
        let fresh = load::load(&self.sandbox, bytes.into(), &sha256, &self.pins).await;
        let mut info = PluginInfo::unread(name, Source::Builtin);
        info.sha256 = Some(sha256);
        info.size = u64::try_from(bytes.len()).ok();
        let mut entries = self.entries.write().unwrap_or_else(PoisonError::into_inner);
        match fresh {
            Ok(fresh) => {
                let entry = Entry::new(fresh, info);
                let name = entry.info.name.clone();
                entries.builtin.insert(name.clone(), Arc::new(entry));
                Ok(name)
            }
            Err(error) => {
                entries.fail(info, &error);
                Err(error)
            }
        }
    }

    /// Looks at the `*.wasm` files of a directory, in the order of their names, and loads those that
    /// are new or have changed since the last look (contract G1). Call it at start and on changes.
    ///
    /// # Errors
    /// Only when the directory itself can't be read; what is wrong with a file is in the result,
    /// the first time that the file is seen with those bytes.
    pub async fn load_dir(&self, directory: &Path) -> io::Result<Changes> {
        let _one = self.loading.lock().await;
        let mut paths = BTreeSet::new();
        for entry in std::fs::read_dir(directory)? {
            let path = entry?.path();
            if path.extension().is_some_and(|extension| extension == "wasm") {
                paths.insert(path);
            }
        }
        let mut changes = Changes::default();
        self.forget(&paths, &mut changes);
        for path in paths {
            self.load_file(path, &mut changes).await;
        }
        Ok(changes)
    }

    /// Loads one file, whatever its name, even when it holds what it held before.
    ///
    /// # Errors
    /// Says what is wrong with it; what served before serves on.
    pub async fn load_one(&self, path: &Path) -> Result<PluginInfo, LoadError> {
        let _one = self.loading.lock().await;
        let bytes = load::read(path, self.sandbox.options().file_size)?;
        let sha256 = load::sha256(&bytes);
        let mut info = PluginInfo::unread("", Source::File(path.to_owned()));
        info.size = u64::try_from(bytes.len()).ok();
        info.sha256 = Some(sha256.clone());
        let fresh = load::load(&self.sandbox, bytes.into(), &sha256, &self.pins).await?;
        let entry = Entry::new(fresh, info);
        let info = entry.info.clone();
        self.serve(entry)?;
        Ok(info)
    }

    /// Lets go of what came from files that are not there any more.
    fn forget(&self, paths: &BTreeSet<PathBuf>, changes: &mut Changes) {
        let gone = |source: &Source| matches!(source, Source::File(path) if !paths.contains(path));
        let mut entries = self.entries.write().unwrap_or_else(PoisonError::into_inner);
        entries.failed.retain(|(source, _), _| !gone(source));
        entries.files.retain(|name, entry| {
            let gone = gone(&entry.info.source);
            if gone {
                changes.removed.push(name.clone());
            }
            !gone
        });
    }

    async fn load_file(&self, path: PathBuf, changes: &mut Changes) {
        let source = Source::File(path.clone());
        let stem = path.file_stem().unwrap_or_default().to_string_lossy();
        let mut info = PluginInfo::unread(&probehost_model::sanitize(&stem), source);
        match self.fresh(&path, &mut info).await {
            Ok(Some(fresh)) => match self.serve(Entry::new(fresh, info.clone())) {
                Ok(name) => changes.loaded.push(name),
                Err(error) => self.fail(path, info, &error, changes),
            },
            Ok(None) => {}
            Err(error) => self.fail(path, info, &error, changes),
        }
    }

    /// Loads a file. None: it is what it was at the last look.
    async fn fresh(&self, path: &Path, info: &mut PluginInfo) -> Result<Option<Fresh>, LoadError> {
        info.size = std::fs::metadata(path).ok().map(|found| found.len());
        let bytes = load::read(path, self.sandbox.options().file_size)?;
        let sha256 = load::sha256(&bytes);
        info.sha256 = Some(sha256.clone());
        if self.is_known(info) {
            return Ok(None);
        }
        load::load(&self.sandbox, bytes.into(), &sha256, &self.pins).await.map(Some)
    }

    /// Whether a file holds the same bytes as at the last look.
    fn is_known(&self, now: &PluginInfo) -> bool {
        let entries = self.entries.read().unwrap_or_else(PoisonError::into_inner);
        let same = |then: &PluginInfo| then.source == now.source && then.sha256 == now.sha256;
        match entries.failed.get(&(now.source.clone(), now.name.clone())) {
            Some(failed) => same(&failed.info) && !failed.retry,
            None => entries.files.values().any(|entry| same(&entry.info)),
        }
    }

    /// Lets a file's plugin serve, in place of what that file held before.
    fn serve(&self, entry: Entry) -> Result<String, LoadError> {
        let mut entries = self.entries.write().unwrap_or_else(PoisonError::into_inner);
        let (name, source) = (entry.info.name.clone(), entry.info.source.clone());
        if let Some(other) = entries.files.get(&name).filter(|other| other.info.source != source) {
            return Err(LoadError::Duplicate { name, other: other.info.source.to_string() });
        }
        entries.files.retain(|_, other| other.info.source != source);
        entries.failed.retain(|(other, _), _| *other != source);
        entries.files.insert(name.clone(), Arc::new(entry));
        Ok(name)
    }

    fn fail(&self, path: PathBuf, info: PluginInfo, error: &LoadError, changes: &mut Changes) {
        changes.failed.push((path, error.to_string()));
        self.entries.write().unwrap_or_else(PoisonError::into_inner).fail(info, error);
    }
}

impl Entries {
    fn fail(&mut self, mut info: PluginInfo, error: &LoadError) {
        info.state = PluginState::Failed(error.to_string());
        let retry = error.may_pass();
        self.failed.insert((info.source.clone(), info.name.clone()), Failed { info, retry });
    }
}

impl Entry {
    fn new(fresh: Fresh, mut info: PluginInfo) -> Self {
        let manifest = fresh.plugin.manifest();
        info.name.clone_from(&manifest.name);
        info.version = Some(manifest.version.to_string());
        info.sdk = fresh.sdk;
        info.contract = Some(fresh.contract);
        info.imports = fresh.imports;
        info.manifest = Some(manifest.clone());
        info.state = PluginState::Ready;
        info.compile_time = Some(fresh.compile_time);
        Self { plugin: fresh.plugin, info }
    }
}

impl PluginInfo {
    /// Of a plugin that was not looked at yet.
    fn unread(name: &str, source: Source) -> Self {
        Self {
            name: name.to_owned(),
            version: None,
            source,
            sha256: None,
            size: None,
            sdk: None,
            contract: None,
            imports: Vec::new(),
            manifest: None,
            state: PluginState::Ready,
            compile_time: None,
        }
    }
}
