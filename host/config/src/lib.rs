//! The configuration file of probehost: read, checked and with its defaults.
//!
//! [`Config::load`] takes the TOML apart and says everything that is wrong with it at once,
//! each thing with its line. What depends on the plugins (a kind's interval bounds and
//! defaults, the JSON Schema of a check's config) waits for [`Config::resolve`], which can
//! be asked again when a plugin changes. docs/config.md is the page for operators.

mod commands;
mod config;
mod depth;
mod error;
mod file_path;
mod help;
mod history;
mod json;
mod lifecycle;
mod maintenance;
mod managed;
mod mask;
mod notify;
mod problem;
mod resolve;
mod schema;
mod server;
mod settings;
mod source;
mod span;
mod submitted;
mod tables;
mod targets;
mod walk;

pub use config::Config;
pub use error::{ConfigError, ConfigErrors};
pub use problem::Problem;
pub use resolve::{IntervalClamp, KindRules, MissingKind, Resolved};
pub use schema::{Schema, SchemaError};
pub use settings::{
    CaFile, Command, Containers, Database, DatabaseUrl, EnvValue, Grant, History, IntervalOrigin,
    Lifecycle, Log, LogFormat, LogLevel, PluginSettings, Plugins, Probes, Secrets, Server,
    ServerTls, Settings, Ssh, Store, Synchronous, Tls,
};
pub use source::Location;
pub use submitted::{FieldError, Submitted};

/// The largest file that is read, in bytes.
pub const MAX_FILE_BYTES: u64 = 16 << 20;

/// The environment variable that goes before `interval` of `[probes]` (contract S6).
pub const INTERVAL_VARIABLE: &str = "PROBEHOST_PROBES_INTERVAL";
