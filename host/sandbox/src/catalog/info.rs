//! What can be told of each plugin, served or failed.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use crate::manifest::Manifest;

/// Where a plugin came from.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Source {
    /// Part of the binary.
    Builtin,
    /// A file of the plugin directory.
    File(PathBuf),
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Builtin => f.write_str("built in"),
            Self::File(path) => path.display().fmt(f),
        }
    }
}

/// Whether a plugin can be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PluginState {
    /// It serves probes.
    Ready,
    /// It could not be loaded; the text says what is wrong and what to do. When an earlier version
    /// of it still serves, that has an entry of its own.
    Failed(String),
}

/// What can be told of a plugin.
#[derive(Debug, Clone)]
pub struct PluginInfo {
    /// The probe kind; of a file that failed, its name without `.wasm`.
    pub name: String,
    /// Of the plugin, when it could say.
    pub version: Option<String>,
    /// Where it came from.
    pub source: Source,
    /// Of its bytes, in hexadecimal; none when they were not read.
    pub sha256: Option<String>,
    /// In bytes, when it is known.
    pub size: Option<u64>,
    /// What the SDK it was built with wrote of itself: `sdk=0.1.0;wit=1.0.0`.
    pub sdk: Option<String>,
    /// The version of the plugin contract that it was built for; none when it failed.
    pub contract: Option<String>,
    /// The capabilities it can use: `http`, `log`.
    pub imports: Vec<String>,
    /// What it says of itself; none when it failed.
    pub manifest: Option<Manifest>,
    /// Whether it serves.
    pub state: PluginState,
    /// How long it took to compile, or to find in the cache.
    pub compile_time: Option<Duration>,
}
