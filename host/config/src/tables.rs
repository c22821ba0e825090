//! The tables at the top of the file, all but the targets.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use probehost_model::IntervalSetting;
use probehost_model::grant::PatternError;
use toml::de::DeTable;

use crate::file_path::file_path;
use crate::problem::{Problem, shown};
use crate::settings::{
    CaFile, Containers, Database, DatabaseUrl, Grant, IntervalOrigin, Log, LogFormat, LogLevel,
    PluginSettings, Plugins, Probes, Secrets, Settings, Ssh, Store, Synchronous, Tls,
};
use crate::source::Location;
use crate::targets::{THRESHOLD, plugin_name};
use crate::walk::{Item, KeyPath, Reader, Section, section};
use crate::{INTERVAL_VARIABLE, commands, history, lifecycle, maintenance, mask, notify, server};

/// Limits on how much runs at once.
const CONCURRENCY: &str = "a whole number from 1 to 10000";
const MOST_CONCURRENT: u32 = 10_000;
const DEFAULT_CONCURRENCY: u32 = 64;

/// Takes every setting out of the file's root.
pub(crate) fn read(
    reader: &mut Reader<'_>,
    root: &mut Section<'_, '_>,
    folder: &Path,
    env: &dyn Fn(&str) -> Option<String>,
) -> Settings {
    let server = server::read(reader, root.take("server"), folder);
    let store = store(reader, root.take("store"), folder);
    let history = history::read(reader, root.take("history"));
    let probes = probes(reader, root.take("probes"), env);
    let beside = match &store.database {
        Database::File(path) => path.parent().unwrap_or(Path::new("")),
        Database::Server(_) => folder,
    };
    let cache = beside.join("plugin-cache");
    let plugins = plugins(reader, root.take("plugins"), folder, cache);
    let lifecycle = lifecycle::read(reader, root.take("lifecycle"));
    let tls = tls(reader, root.take("tls"), folder);
    let [known_hosts] = paths(reader, root.take("ssh"), "ssh", ["known_hosts"], folder);
    let ssh = Ssh { known_hosts };
    let keys = ["directory", "file"];
    let [directory, file] = paths(reader, root.take("secrets"), "secrets", keys, folder);
    let secrets = Secrets { directory, file };
    let containers = containers(reader, root.take("containers"), folder);
    let commands = commands::read(reader, root.take("commands"), folder);
    let windows = maintenance::read(reader, root.take("maintenance"));
    let notify = notify::read(reader, root.take("notify"), windows);
    let log = log(reader, root.take("log"));
    Settings {
        server,
        store,
        history,
        probes,
        plugins,
        lifecycle,
        tls,
        ssh,
        secrets,
        containers,
        commands,
        notify,
        log,
    }
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
    let item = section.take("lifecycle");
    let (lifecycle, lifecycle_places) =
        lifecycle::layer(reader, item, KeyPath::Key(&path, "lifecycle"));
    section.finish(reader);
    PluginSettings { allow, concurrency, sha256, lifecycle, lifecycle_places }
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

fn containers(reader: &mut Reader<'_>, item: Option<Item<'_>>, folder: &Path) -> Containers {
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
    let tls = section
        .take("tls")
        .and_then(|item| file_path(reader, &item, KeyPath::Key(&section.path, "tls"), folder));
    section.finish(reader);
    Containers { engine, tls }
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
