//! The file: found, read, and every part of it checked.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt;
use std::io::Read as _;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use probehost_model::grant::PatternError;
use probehost_model::{CheckId, IntervalSetting};
use toml::de::DeTable;

use crate::error::{ConfigError, ConfigErrors, Problem, shown};
use crate::settings::{
    CaFile, Command, Containers, Database, DatabaseUrl, Grant, IntervalOrigin, Log, LogFormat,
    LogLevel, PluginSettings, Plugins, Probes, Secrets, Server, Ssh, Store, Synchronous, Tls,
};
use crate::source::{Location, Source, Span};
use crate::targets::{self, RawTarget, THRESHOLD, plugin_name};
use crate::walk::{Item, KeyPath, Reader, Section};
use crate::{INTERVAL_VARIABLE, MAX_FILE_BYTES, commands, depth, json, mask};

/// Limits on how much runs at once.
const CONCURRENCY: &str = "a whole number from 1 to 10000";
const MOST_CONCURRENT: u32 = 10_000;
const DEFAULT_CONCURRENCY: u32 = 64;
const DEFAULT_LISTEN: SocketAddr =
    SocketAddr::new(std::net::IpAddr::V4(std::net::Ipv4Addr::LOCALHOST), 9640);

/// A configuration that is right as far as it can be judged without knowing the plugins;
/// [`Config::resolve`] judges the rest.
pub struct Config {
    /// `[server]`
    pub server: Server,
    /// `[store]`
    pub store: Store,
    /// `[probes]`
    pub probes: Probes,
    /// `[plugins]`
    pub plugins: Plugins,
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
    /// `[log]`
    pub log: Log,
    pub(crate) targets: Vec<RawTarget>,
    pub(crate) source: Source,
    checks: HashMap<CheckId, (usize, usize)>,
}

/// Without the targets and the text of the file, which may hold secrets.
impl fmt::Debug for Config {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Config")
            .field("server", &self.server)
            .field("store", &self.store)
            .field("probes", &self.probes)
            .field("plugins", &self.plugins)
            .field("tls", &self.tls)
            .field("ssh", &self.ssh)
            .field("secrets", &self.secrets)
            .field("containers", &self.containers)
            // Without what they are: an argument or a variable may well be a secret.
            .field("commands", &self.commands.keys())
            .field("log", &self.log)
            .finish_non_exhaustive()
    }
}

impl Config {
    /// Reads the file with the environment of the process.
    ///
    /// # Errors
    /// Everything that is wrong, at once.
    pub fn load(path: &Path) -> Result<Self, ConfigErrors> {
        let fail = |problem| {
            let location = Source::new(path, "").whole();
            ConfigErrors::new(vec![ConfigError::new(location, None, problem)])
        };
        let mut bytes = Vec::new();
        std::fs::File::open(path)
            .and_then(|file| file.take(MAX_FILE_BYTES + 1).read_to_end(&mut bytes))
            .map_err(|error| fail(Problem::Unreadable(error)))?;
        let env = |name: &str| std::env::var_os(name).map(|v| v.to_string_lossy().into_owned());
        Self::parse_bytes(&bytes, path, &env)
    }

    /// Checks what a file holds. `path` is what errors name, and its folder is the one that
    /// relative paths start from; `env` answers for environment variables.
    ///
    /// # Errors
    /// Everything that is wrong, at once.
    pub fn parse(
        text: &str,
        path: &Path,
        env: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Self, ConfigErrors> {
        Self::parse_bytes(text.as_bytes(), path, env)
    }

    /// As [`Config::parse`], for what may not be text.
    ///
    /// # Errors
    /// Everything that is wrong, at once.
    pub fn parse_bytes(
        bytes: &[u8],
        path: &Path,
        env: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Self, ConfigErrors> {
        if bytes.len() as u64 > MAX_FILE_BYTES {
            let location = Source::new(path, "").whole();
            let error = ConfigError::new(location, None, Problem::TooBig);
            return Err(ConfigErrors::new(vec![error]));
        }
        let text = std::str::from_utf8(bytes).map_err(|error| {
            let at = error.valid_up_to();
            let source = Source::new(path, &String::from_utf8_lossy(bytes));
            let error = source.error(&(at..at + 1), String::new(), Problem::NotUtf8);
            ConfigErrors::new(vec![error])
        })?;
        let source = Source::new(path, text);
        if let Some(span) = depth::too_deep(text) {
            let error = source.error(&span, String::new(), Problem::TooDeep);
            return Err(ConfigErrors::new(vec![error]));
        }
        let (tree, broken) = DeTable::parse_recoverable(text);
        let mut secrets = Vec::new();
        mask::in_tree(tree.get_ref(), &mut secrets);
        mask::database_url(tree.get_ref(), &mut secrets);
        source.tell_secrets(secrets);
        if !broken.is_empty() {
            // One slip can lead to very many errors, none of which helps.
            let errors = broken.into_iter().take(100).map(|error| {
                let span = error.span().unwrap_or(text.len()..text.len());
                let message = said_elsewhere(error.message());
                source.error(&span, String::new(), Problem::Syntax(message))
            });
            return Err(ConfigErrors::new(errors.collect()));
        }
        read(&source, tree.into_inner(), path, env).map(|parts| parts.with(source))
    }

    /// The probe kinds that the checks name.
    #[must_use]
    pub fn kinds(&self) -> BTreeSet<&str> {
        self.targets.iter().flat_map(|target| &target.checks).map(|c| c.kind.as_str()).collect()
    }

    /// Where a part of a check's config stands. `path` leads into the config as plugins
    /// write it (`headers[0].name` or `/headers/0/name`); the nearest thing that is in the
    /// file is found when it leads further, and the whole file for a check that is not in it.
    #[must_use]
    pub fn locate(&self, check: &CheckId, path: &str) -> Location {
        self.place(check, path)
            .map_or_else(|| self.source.whole(), |(span, key, _)| self.source.location(&span, key))
    }

    /// What a plugin's plan found wrong with a check's config, at its place in the file.
    #[must_use]
    pub fn plan_error(&self, check: &CheckId, path: &str, message: &str) -> ConfigError {
        let message = said_elsewhere(message);
        match self.place(check, path) {
            Some((span, key, kind)) => {
                let kind = kind.to_owned();
                self.source.error(&span, key, Problem::Plan { kind, message })
            }
            None => {
                let problem = Problem::Plan { kind: String::new(), message };
                ConfigError::new(self.source.whole(), None, problem)
            }
        }
    }

    /// The same settings with other targets.
    pub(crate) fn with_targets(&self, targets: Vec<RawTarget>, source: Source) -> Self {
        Self {
            server: self.server.clone(),
            store: self.store.clone(),
            probes: self.probes.clone(),
            plugins: self.plugins.clone(),
            tls: self.tls.clone(),
            ssh: self.ssh.clone(),
            secrets: self.secrets.clone(),
            containers: self.containers.clone(),
            commands: self.commands.clone(),
            log: self.log,
            checks: targets::index(&targets),
            targets,
            source,
        }
    }

    fn place(&self, check: &CheckId, path: &str) -> Option<(Span, String, &str)> {
        let (target, check) = self.checks.get(check)?;
        let target = self.targets.get(*target)?;
        let check = target.checks.get(*check)?;
        let steps = json::parse_path(path);
        let key = format!("{}.config", targets::path_of(target, check));
        Some((check.config_node.find(&steps, false), json::join(key, &steps), &check.kind))
    }
}

/// What a parser or a plugin says can repeat what stands in the file, so it is made fit.
fn said_elsewhere(message: &str) -> String {
    probehost_model::sanitize(&mask::hide(message))
}

/// Everything but the text itself, which the reader still borrows.
struct Parts {
    server: Server,
    store: Store,
    probes: Probes,
    plugins: Plugins,
    tls: Tls,
    ssh: Ssh,
    secrets: Secrets,
    containers: Containers,
    commands: BTreeMap<String, Command>,
    log: Log,
    targets: Vec<RawTarget>,
}

impl Parts {
    fn with(self, source: Source) -> Config {
        let Self {
            server,
            store,
            probes,
            plugins,
            tls,
            ssh,
            secrets,
            containers,
            commands,
            log,
            targets,
        } = self;
        let checks = targets::index(&targets);
        Config {
            server,
            store,
            probes,
            plugins,
            tls,
            ssh,
            secrets,
            containers,
            commands,
            log,
            targets,
            source,
            checks,
        }
    }
}

fn read(
    source: &Source,
    table: DeTable<'_>,
    file: &Path,
    env: &dyn Fn(&str) -> Option<String>,
) -> Result<Parts, ConfigErrors> {
    let folder = file.parent().unwrap_or(Path::new(""));
    let mut reader = Reader::new(source);
    let reader_ref = &mut reader;
    let mut root = Section::new(KeyPath::Root, table);
    let server = server(reader_ref, root.take("server"));
    let store = store(reader_ref, root.take("store"), folder);
    let probes = probes(reader_ref, root.take("probes"), env);
    let beside = match &store.database {
        Database::File(path) => path.parent().unwrap_or(Path::new("")),
        Database::Server(_) => folder,
    };
    let cache = beside.join("plugin-cache");
    let plugins = plugins(reader_ref, root.take("plugins"), folder, cache);
    let tls = tls(reader_ref, root.take("tls"), folder);
    let [known_hosts] = paths(reader_ref, root.take("ssh"), "ssh", ["known_hosts"], folder);
    let ssh = Ssh { known_hosts };
    let keys = ["directory", "file"];
    let [directory, file] = paths(reader_ref, root.take("secrets"), "secrets", keys, folder);
    let secrets = Secrets { directory, file };
    let containers = containers(reader_ref, root.take("containers"));
    let commands = commands::read(reader_ref, root.take("commands"), folder);
    let log = log(reader_ref, root.take("log"));
    let path = KeyPath::Key(&KeyPath::Root, "targets");
    let targets = root.take("targets").map(|item| targets::read(reader_ref, item, path));
    root.finish(reader_ref);
    let errors = reader.into_errors();
    if errors.is_empty() {
        let targets = targets.unwrap_or_default();
        Ok(Parts {
            server,
            store,
            probes,
            plugins,
            tls,
            ssh,
            secrets,
            containers,
            commands,
            log,
            targets,
        })
    } else {
        Err(ConfigErrors::new(errors))
    }
}

/// Reads one of the tables at the top; nothing is there when it is missing or no table.
pub(crate) fn section<'i>(
    reader: &mut Reader<'_>,
    item: Option<Item<'i>>,
    name: &'static str,
) -> Section<'static, 'i> {
    let path = KeyPath::Key(&KeyPath::Root, name);
    let help = Some("write its name in brackets on a line, and its keys on the lines below");
    let table = item.and_then(|item| reader.table(item, path, help)).unwrap_or_default();
    Section::new(path, table)
}

fn server(reader: &mut Reader<'_>, item: Option<Item<'_>>) -> Server {
    let mut section = section(reader, item, "server");
    let listen = section.take("listen").and_then(|item| {
        let path = KeyPath::Key(&section.path, "listen");
        let text = reader.string(&item, path)?;
        let problem = match text.parse::<SocketAddr>() {
            Ok(address) if address.ip().is_loopback() => return Some(address),
            Ok(address) => Problem::NotLoopback(address),
            Err(_) => Problem::BadAddress,
        };
        reader.report(&item.span(), path, problem);
        None
    });
    section.finish(reader);
    Server { listen: listen.unwrap_or(DEFAULT_LISTEN) }
}

fn store(reader: &mut Reader<'_>, item: Option<Item<'_>>, folder: &Path) -> Store {
    let mut section = section(reader, item, "store");
    let path = section.take("path");
    let url = section.take("url");
    if let (Some(_), Some(url)) = (&path, &url) {
        let key = KeyPath::Key(&section.path, "url");
        reader.report(&url.span(), key, Problem::BothGiven { one: "path", other: "url" });
    }
    let path =
        path.and_then(|item| file_path(reader, &item, KeyPath::Key(&section.path, "path"), folder));
    let url = url
        .and_then(|item| database_url(reader, &item, KeyPath::Key(&section.path, "url"), folder));
    let synchronous = section.take("synchronous").and_then(|item| {
        let path = KeyPath::Key(&section.path, "synchronous");
        let values = [Synchronous::Normal, Synchronous::Full];
        reader.one_of(&item, path, "way to commit", &["normal", "full"], &values)
    });
    section.finish(reader);
    let file = || Database::File(path.unwrap_or_else(|| folder.join("probehost.db")));
    Store { database: url.unwrap_or_else(file), synchronous: synchronous.unwrap_or_default() }
}

/// `postgres://…`, or `sqlite:` and a path. Nothing of the text is repeated: it may have a
/// password in it.
fn database_url(
    reader: &mut Reader<'_>,
    item: &Item<'_>,
    path: KeyPath<'_>,
    folder: &Path,
) -> Option<Database> {
    let text = reader.string(item, path)?;
    if text.starts_with("postgres://") || text.starts_with("postgresql://") {
        return Some(Database::Server(DatabaseUrl(text.to_owned())));
    }
    match text.strip_prefix("sqlite:") {
        Some(file) if !file.trim().is_empty() => {
            Some(Database::File(folder.join(file.strip_prefix("//").unwrap_or(file))))
        }
        _ => {
            reader.report(&item.span(), path, Problem::BadDatabaseUrl);
            None
        }
    }
}

fn probes(
    reader: &mut Reader<'_>,
    item: Option<Item<'_>>,
    env: &dyn Fn(&str) -> Option<String>,
) -> Probes {
    let mut section = section(reader, item, "probes");
    let concurrency = section
        .take("concurrency")
        .and_then(|item| concurrency(reader, &item, KeyPath::Key(&section.path, "concurrency")));
    let mut interval_location = None;
    let in_file = section.take("interval").and_then(|item| {
        let path = KeyPath::Key(&section.path, "interval");
        interval_location = Some(reader.source.location(&item.span(), path.to_string()));
        reader.whole(&item, path).map(IntervalSetting::from_seconds)
    });
    let timeout = section
        .take("timeout")
        .and_then(|item| reader.timeout(&item, KeyPath::Key(&section.path, "timeout")));
    let [failure_threshold, inconclusive_threshold] =
        ["failure_threshold", "inconclusive_threshold"].map(|key| {
            let item = section.take(key)?;
            let path = KeyPath::Key(&section.path, key);
            reader.count(&item, path, "a threshold", u32::MAX, THRESHOLD)
        });
    section.finish(reader);
    let (interval, interval_origin) = match env(INTERVAL_VARIABLE) {
        Some(text) => (IntervalSetting::from_env(&text), IntervalOrigin::Environment),
        None => (in_file.unwrap_or(IntervalSetting::DEFAULT), IntervalOrigin::Probes),
    };
    Probes {
        concurrency: concurrency.unwrap_or(DEFAULT_CONCURRENCY),
        interval,
        timeout,
        failure_threshold,
        inconclusive_threshold,
        interval_origin,
        interval_location,
    }
}

fn plugins(
    reader: &mut Reader<'_>,
    item: Option<Item<'_>>,
    folder: &Path,
    default_cache: PathBuf,
) -> Plugins {
    let mut section = section(reader, item, "plugins");
    let path = section.path;
    let [directory, cache] = ["directory", "cache"].map(|key| {
        let item = section.take(key)?;
        let path = KeyPath::Key(&path, key);
        if item.get_ref().is_table() {
            reader.report(&item.span(), path, Problem::TakenName(key.to_owned()));
            return None;
        }
        file_path(reader, &item, path, folder)
    });
    let mut by_name = BTreeMap::new();
    for (key, item) in section.rest() {
        let name = key.get_ref();
        let path = KeyPath::Key(&path, name);
        if !item.get_ref().is_table() {
            // A plugin's table is the only other thing that could stand here.
            let known = ["directory", "cache", "NAME (as a table: [plugins.NAME])"];
            let known = known.map(str::to_owned).to_vec();
            reader.report(&key.span(), path, Problem::UnknownKey { key: shown(name), known });
        } else if let Err(problem) = plugin_name(name) {
            reader.report(&key.span(), path, problem);
        } else if let Some(table) = reader.table(item, path, None) {
            by_name.insert(name.to_string(), plugin(reader, table, path));
        }
    }
    Plugins { directory, cache: cache.unwrap_or(default_cache), by_name }
}

fn plugin(reader: &mut Reader<'_>, table: DeTable<'_>, path: KeyPath<'_>) -> PluginSettings {
    let mut section = Section::new(path, table);
    let allow = section
        .take("allow")
        .map(|item| {
            texts(reader, item, KeyPath::Key(&path, "allow"), |text, location| {
                let pattern = text.parse().map_err(|error: PatternError| {
                    Problem::BadGrant(mask::hide(&error.to_string()))
                })?;
                Ok(Grant { pattern, location })
            })
        })
        .unwrap_or_default();
    let concurrency = section
        .take("concurrency")
        .and_then(|item| concurrency(reader, &item, KeyPath::Key(&path, "concurrency")));
    let sha256 = section.take("sha256").and_then(|item| {
        let path = KeyPath::Key(&path, "sha256");
        let text = reader.string(&item, path)?;
        let digest = digest(&text);
        if digest.is_none() {
            reader.report(&item.span(), path, Problem::BadDigest);
        }
        digest
    });
    section.finish(reader);
    PluginSettings { allow, concurrency, sha256 }
}

fn tls(reader: &mut Reader<'_>, item: Option<Item<'_>>, folder: &Path) -> Tls {
    let mut section = section(reader, item, "tls");
    let ca_files = section
        .take("ca_files")
        .map(|item| {
            let path = KeyPath::Key(&section.path, "ca_files");
            texts(reader, item, path, |text, location| {
                Ok(CaFile { path: folder.join(text), location })
            })
        })
        .unwrap_or_default();
    section.finish(reader);
    Tls { ca_files }
}

/// A table at the top whose keys are all paths.
fn paths<const N: usize>(
    reader: &mut Reader<'_>,
    item: Option<Item<'_>>,
    table: &'static str,
    keys: [&'static str; N],
    folder: &Path,
) -> [Option<PathBuf>; N] {
    let mut section = section(reader, item, table);
    let found = keys.map(|key| {
        let item = section.take(key)?;
        file_path(reader, &item, KeyPath::Key(&section.path, key), folder)
    });
    section.finish(reader);
    found
}

fn containers(reader: &mut Reader<'_>, item: Option<Item<'_>>) -> Containers {
    let mut section = section(reader, item, "containers");
    let engine = section.take("engine").and_then(|item| {
        let path = KeyPath::Key(&section.path, "engine");
        let text = reader.string(&item, path)?;
        // What goes on after that is judged where it is used; a scheme is what is mostly missing.
        if text.starts_with("unix:///") || text.starts_with("tcp://") {
            return Some(text);
        }
        reader.report(&item.span(), path, Problem::BadEngine);
        None
    });
    section.finish(reader);
    Containers { engine }
}

fn log(reader: &mut Reader<'_>, item: Option<Item<'_>>) -> Log {
    const LEVELS: [LogLevel; 5] =
        [LogLevel::Error, LogLevel::Warn, LogLevel::Info, LogLevel::Debug, LogLevel::Trace];
    const WORDS: [&str; 5] = ["error", "warn", "info", "debug", "trace"];
    let mut section = section(reader, item, "log");
    let level = section.take("level").and_then(|item| {
        let path = KeyPath::Key(&section.path, "level");
        reader.one_of(&item, path, "level", &WORDS, &LEVELS)
    });
    let format = section.take("format").and_then(|item| {
        let path = KeyPath::Key(&section.path, "format");
        let values = [LogFormat::Text, LogFormat::Json];
        reader.one_of(&item, path, "format", &["text", "json"], &values)
    });
    section.finish(reader);
    Log { level: level.unwrap_or_default(), format: format.unwrap_or_default() }
}

/// A list of texts, each with its place.
fn texts<T>(
    reader: &mut Reader<'_>,
    item: Item<'_>,
    path: KeyPath<'_>,
    make: impl Fn(&str, Location) -> Result<T, Problem>,
) -> Vec<T> {
    let items = reader.array(item, path, "a list of texts", None);
    let mut made = Vec::new();
    for (index, item) in items.iter().flat_map(|items| items.iter()).enumerate() {
        let path = KeyPath::Index(&path, index);
        let Some(text) = reader.string(item, path) else { continue };
        if text.trim().is_empty() {
            let help = "write something into it, or take it out";
            reader.report(&item.span(), path, Problem::Empty { what: "the text", help });
            continue;
        }
        let location = reader.source.location(&item.span(), path.to_string());
        match make(&text, location) {
            Ok(value) => made.push(value),
            Err(problem) => reader.report(&item.span(), path, problem),
        }
    }
    made
}

fn file_path(
    reader: &mut Reader<'_>,
    item: &Item<'_>,
    path: KeyPath<'_>,
    folder: &Path,
) -> Option<PathBuf> {
    let text = reader.string(item, path)?;
    if text.trim().is_empty() {
        let help = "write a path; one that does not begin with / starts at this file's folder";
        reader.report(&item.span(), path, Problem::Empty { what: "the path", help });
        return None;
    }
    Some(folder.join(text))
}

fn concurrency(reader: &mut Reader<'_>, item: &Item<'_>, path: KeyPath<'_>) -> Option<u32> {
    reader.count(item, path, "a concurrency", MOST_CONCURRENT, CONCURRENCY)
}

/// 64 hexadecimal digits.
fn digest(text: &str) -> Option<[u8; 32]> {
    if text.len() != 64 || !text.is_ascii() {
        return None;
    }
    let mut digest = [0; 32];
    for (byte, digits) in digest.iter_mut().zip(text.as_bytes().chunks_exact(2)) {
        let digits = std::str::from_utf8(digits).ok().filter(|d| !d.starts_with('+'))?;
        *byte = u8::from_str_radix(digits, 16).ok()?;
    }
    Some(digest)
}
