//! What the file says, checked and with its defaults: everything but the targets.

use std::collections::BTreeMap;
use std::fmt;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use probehost_model::IntervalSetting;
use probehost_model::grant::Pattern;
use probehost_model::lifecycle::PartialPolicy;

use crate::source::Location;
use crate::span::Span;

/// Everything in the file but its targets.
#[derive(Clone)]
pub struct Settings {
    /// `[server]`
    pub server: Server,
    /// `[store]`
    pub store: Store,
    /// `[history]`
    pub history: History,
    /// `[probes]`
    pub probes: Probes,
    /// `[plugins]`
    pub plugins: Plugins,
    /// `[lifecycle]`
    pub lifecycle: Lifecycle,
    /// `[tls]`
    pub tls: Tls,
    /// `[ssh]`
    pub ssh: Ssh,
    /// `[secrets]`
    pub secrets: Secrets,
    /// `[containers]`
    pub containers: Containers,
    /// `[commands]`, by name.
    pub commands: BTreeMap<String, Command>,
    /// `[notify]` and `[[maintenance]]`
    pub notify: probehost_model::notify::Settings,
    /// `[log]`
    pub log: Log,
}

impl fmt::Debug for Settings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Settings")
            .field("server", &self.server)
            .field("store", &self.store)
            .field("history", &self.history)
            .field("probes", &self.probes)
            .field("plugins", &self.plugins)
            .field("lifecycle", &self.lifecycle)
            .field("tls", &self.tls)
            .field("ssh", &self.ssh)
            .field("secrets", &self.secrets)
            .field("containers", &self.containers)
            // Without what they are: an argument or a variable may well be a secret.
            .field("commands", &self.commands.keys())
            .field("notify", &self.notify)
            .field("log", &self.log)
            .finish()
    }
}

/// `[server]`
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Server {
    /// Where the API and the page are served. Beyond loopback only with tokens (contract E4).
    pub listen: SocketAddr,
    /// `[server.tls]`: the certificate to serve with. None: plain HTTP.
    pub tls: Option<ServerTls>,
}

/// `[server.tls]`
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerTls {
    /// A PEM file: the certificate, then those that lead to its authority.
    pub certificate: PathBuf,
    /// A PEM file: its private key.
    pub key: PathBuf,
}

/// `[store]`
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Store {
    /// Where the records are.
    pub database: Database,
    /// What a commit waits for.
    pub synchronous: Synchronous,
}

/// `path` or `url` of `[store]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Database {
    /// An SQLite file.
    File(PathBuf),
    /// A database on a PostgreSQL server.
    Server(DatabaseUrl),
}

/// The URL of a database. It may have a password in it, so it does not show itself.
#[derive(Clone, PartialEq, Eq)]
pub struct DatabaseUrl(pub(crate) String);

impl DatabaseUrl {
    /// The whole of it, for who connects.
    #[must_use]
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for DatabaseUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("postgres://***")
    }
}

/// How sure a commit is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Synchronous {
    /// A crash of the host loses nothing; one of the machine can lose the last commits.
    #[default]
    Normal,
    /// Every commit is on the disk before it is acknowledged.
    Full,
}

/// `[history]`
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct History {
    /// How many days rollups are kept (contract A4). 1 to 3650; 90 by default.
    pub keep_days: u32,
    /// How many days audit rows and transitions are kept. 1 to 3650; 365 by default.
    pub keep_audit_days: u32,
}

impl Default for History {
    fn default() -> Self {
        Self { keep_days: 90, keep_audit_days: 365 }
    }
}

/// `[probes]`: for every check that does not say otherwise.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Probes {
    /// Most probes at once, whoever asked for them (contract S4). 1 to 10 000.
    pub concurrency: u32,
    /// The environment's word, else the file's; the kind's default when neither is set (contract S6).
    pub interval: IntervalSetting,
    /// None: the kind's default.
    pub timeout: Option<Duration>,
    /// None: the kind's default. Never zero.
    pub failure_threshold: Option<u32>,
    /// None: the check's failure threshold; 1 for a managed target (contract T5). Never zero.
    pub inconclusive_threshold: Option<u32>,
    /// Who set the interval.
    pub(crate) interval_origin: IntervalOrigin,
    /// Where the file sets the interval.
    pub(crate) interval_location: Option<Location>,
}

/// Who asked for an interval.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IntervalOrigin {
    /// The check's own `interval`.
    Check,
    /// `interval` of `[probes]`.
    Probes,
    /// The environment variable [`crate::INTERVAL_VARIABLE`].
    Environment,
}

/// `[plugins]`
#[derive(Debug, Clone, PartialEq)]
pub struct Plugins {
    /// Where `*.wasm` files are looked for. None: only the built-in plugins serve.
    pub directory: Option<PathBuf>,
    /// Where compiled code is kept; only the host writes there (contract G6).
    pub cache: PathBuf,
    /// `[plugins.NAME]`, by name.
    pub by_name: BTreeMap<String, PluginSettings>,
}

/// `[plugins.NAME]`
#[derive(Debug, Clone, PartialEq, Default)]
pub struct PluginSettings {
    /// What the plugin may reach besides what its targets' configs name (contract G2).
    pub allow: Vec<Grant>,
    /// Most probes of this kind at once; None: only the host's own limit. 1 to 10 000.
    pub concurrency: Option<u32>,
    /// The digest that the plugin's file must have (contract G6).
    pub sha256: Option<[u8; 32]>,
    /// What the policies of managed targets with a check of this kind are (contract L10), where
    /// the target does not say otherwise.
    pub lifecycle: PartialPolicy,
    /// Where that stands.
    pub(crate) lifecycle_places: Places,
}

/// `[lifecycle]`: for every managed target.
#[derive(Debug, Clone, PartialEq)]
pub struct Lifecycle {
    /// What neither the target nor the kinds of its checks say otherwise (contract L10).
    pub policy: PartialPolicy,
    /// How long a router may go by a pool snapshot (contract L11). 1 s to 1 hour; 15 s by default.
    pub pool_ttl: Duration,
    /// Where the policy stands.
    pub(crate) places: Places,
}

/// Where in the file a layer of a policy has the two keys that have to go together.
#[derive(Debug, Clone, Default)]
pub(crate) struct Places {
    pub(crate) base: Option<Span>,
    pub(crate) cap: Option<Span>,
}

/// Settings that moved within the file are the same settings.
impl PartialEq for Places {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

/// One line of `allow`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grant {
    /// What it grants.
    pub pattern: Pattern,
    /// Where it stands.
    pub location: Location,
}

/// `[tls]`
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Tls {
    /// PEM files with authorities that are trusted besides the usual ones.
    pub ca_files: Vec<CaFile>,
}

/// `[ssh]`
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Ssh {
    /// The file of known hosts, by which jump hosts are verified; new ones are added.
    /// None: `~/.ssh/known_hosts` of the user that the host runs as.
    pub known_hosts: Option<PathBuf>,
}

/// `[secrets]`
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Secrets {
    /// A folder with one file for each secret.
    pub directory: Option<PathBuf>,
    /// A file of secrets, `name = "text"` in TOML, which its owner alone may use.
    pub file: Option<PathBuf>,
}

/// `[containers]`
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Containers {
    /// The engine's address, `unix:///path` or `tcp://host:port`. None: Docker's usual socket.
    pub engine: Option<String>,
    /// A folder with `ca.pem`, `cert.pem` and `key.pem`. None: an engine on TCP is talked to in the
    /// clear.
    pub tls: Option<PathBuf>,
}

/// `[commands.NAME]`: a program that plugins whose config names it may talk to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Command {
    /// The program and its arguments; never empty.
    pub argv: Vec<String>,
    /// Its environment variables, in the order of their names.
    pub env: Vec<(String, EnvValue)>,
    /// The folder that it runs in. None: the host's own.
    pub cwd: Option<PathBuf>,
}

/// The value of a command's environment variable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EnvValue {
    /// As it stands there.
    Text(String),
    /// The secret of this name.
    Secret(String),
}

/// One line of `ca_files`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CaFile {
    /// The PEM file.
    pub path: PathBuf,
    /// Where it is named.
    pub location: Location,
}

/// `[log]`
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Log {
    /// The least important thing that is logged.
    pub level: LogLevel,
    /// How it is written.
    pub format: LogFormat,
}

/// How important a line of the log is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum LogLevel {
    /// Something failed.
    Error,
    /// Something is not as it should be.
    Warn,
    /// What happened.
    #[default]
    Info,
    /// Why it happened.
    Debug,
    /// Everything.
    Trace,
}

impl LogLevel {
    /// The word for it in the file.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warn => "warn",
            Self::Info => "info",
            Self::Debug => "debug",
            Self::Trace => "trace",
        }
    }
}

/// How the log is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum LogFormat {
    /// For people.
    #[default]
    Text,
    /// One JSON object a line.
    Json,
}
