//! `[[targets]]` and their checks, as far as they can be read without knowing the plugins.

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use probehost_model::{CheckId, IntervalSetting, Role, check_id_text};
use serde_json::Value;

use crate::json::{self, Node};
use crate::lifecycle::{self, RawManaged};
use crate::problem::{Problem, shown};
use crate::span::Span;
use crate::walk::{Item, KeyPath, Reader, Section, items_of};

/// A target as the file has it.
pub(crate) struct RawTarget {
    /// Which of `[[targets]]`.
    pub(crate) index: usize,
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) enabled: bool,
    pub(crate) labels: BTreeMap<String, String>,
    /// None: it is only watched.
    pub(crate) managed: Option<Box<RawManaged>>,
    /// In the order of the file.
    pub(crate) checks: Vec<RawCheck>,
}

/// A check as the file has it.
pub(crate) struct RawCheck {
    /// Which of the target's `checks`.
    pub(crate) index: usize,
    pub(crate) name: String,
    pub(crate) kind: String,
    pub(crate) kind_span: Span,
    pub(crate) role: Role,
    pub(crate) interval: IntervalSetting,
    pub(crate) interval_span: Option<Span>,
    pub(crate) timeout: Option<Duration>,
    pub(crate) failure_threshold: Option<u32>,
    pub(crate) inconclusive_threshold: Option<u32>,
    pub(crate) config: Value,
    /// Where each part of the config stands; that of the check when it has none.
    pub(crate) config_node: Node,
}

/// What `failure_threshold` and `inconclusive_threshold` can be.
pub(crate) const THRESHOLD: &str = "a whole number from 1 up";

pub(crate) fn read(reader: &mut Reader<'_>, item: Item<'_>, path: KeyPath<'_>) -> Vec<RawTarget> {
    let help = Some("write [[targets]] with two brackets, one for each target");
    let Some(items) = reader.array(item, path, "a list of tables", help) else {
        return Vec::new();
    };
    let mut seen: HashMap<String, (usize, Span)> = HashMap::new();
    let mut targets = Vec::with_capacity(items.len());
    for (index, item) in items_of(items).enumerate() {
        let path = KeyPath::Index(&path, index);
        let header = item.span();
        let Some(table) = reader.table(item, path, None) else { continue };
        let Some((target, id_span)) = read_target(reader, table, path, index, &header) else {
            continue;
        };
        if let Some((first, first_span)) = seen.get(&target.id) {
            let root = KeyPath::Key(&KeyPath::Root, "targets");
            reader.report_twice(
                (&id_span, KeyPath::Key(&path, "id")),
                (first_span, KeyPath::Key(&KeyPath::Index(&root, *first), "id")),
                Problem::Duplicate { what: "target", name: target.id },
            );
            continue;
        }
        seen.insert(target.id.clone(), (index, id_span));
        targets.push(target);
    }
    targets
}

fn read_target(
    reader: &mut Reader<'_>,
    table: toml::de::DeTable<'_>,
    path: KeyPath<'_>,
    index: usize,
    header: &Span,
) -> Option<(RawTarget, Span)> {
    let mut section = Section::new(path, table);
    let id = id_text(reader, section.take("id"), (path, "id"), "target id");
    if id == Text::Missing {
        reader.report(header, path, Problem::MissingKey { key: "id", example: "id = \"shop\"" });
    }
    let name = section.take("name").and_then(|item| {
        let path = KeyPath::Key(&path, "name");
        let name = reader.string(&item, path)?;
        if name.trim().is_empty() {
            let help = "write a name for people, or leave it out to show the id";
            reader.report(&item.span(), path, Problem::Empty { what: "the name", help });
        }
        Some(name)
    });
    let enabled = section.take("enabled").is_none_or(|item| {
        let path = KeyPath::Key(&path, "enabled");
        item.get_ref().as_bool().unwrap_or_else(|| {
            reader.wrong_type(&item, path, "true or false", None);
            true
        })
    });
    let labels = section
        .take("labels")
        .map(|item| labels(reader, item, KeyPath::Key(&path, "labels")))
        .unwrap_or_default();
    let managed = lifecycle::managed(reader, &mut section);
    let checks = match section.take("checks") {
        Some(item) => read_checks(reader, item, KeyPath::Key(&path, "checks"), header, path),
        None => {
            reader.report(header, path, Problem::NoChecks);
            Vec::new()
        }
    };
    section.finish(reader);
    let Text::Good(id, span) = id else { return None };
    let name = name.unwrap_or_else(|| id.clone());
    Some((RawTarget { index, id, name, enabled, labels, managed, checks }, span))
}

const LABELS: Option<&str> = Some("write labels = { team = \"shop\" } or a table");

/// A table of labels.
pub(crate) fn labels(
    reader: &mut Reader<'_>,
    item: Item<'_>,
    path: KeyPath<'_>,
) -> BTreeMap<String, String> {
    let mut labels = BTreeMap::new();
    for (key, item) in reader.table(item, path, LABELS).into_iter().flatten() {
        let path = KeyPath::Key(&path, key.get_ref());
        if let Some(value) = reader.string(&item, path) {
            labels.insert(key.get_ref().to_string(), value);
        }
    }
    labels
}

fn read_checks(
    reader: &mut Reader<'_>,
    item: Item<'_>,
    path: KeyPath<'_>,
    header: &Span,
    target_path: KeyPath<'_>,
) -> Vec<RawCheck> {
    let help = Some("write [[targets.checks]] with two brackets, one for each check");
    let Some(items) = reader.array(item, path, "a list of tables", help) else {
        return Vec::new();
    };
    if items.is_empty() {
        reader.report(header, target_path, Problem::NoChecks);
    }
    let mut seen: HashMap<String, (usize, Span)> = HashMap::new();
    let mut checks = Vec::with_capacity(items.len());
    for (index, item) in items_of(items).enumerate() {
        let check_path = KeyPath::Index(&path, index);
        let header = item.span();
        let Some(table) = reader.table(item, check_path, None) else { continue };
        let Some((check, span)) = read_check(reader, table, check_path, index, header) else {
            continue;
        };
        if let Some((first, first_span)) = seen.get(&check.name) {
            reader.report_twice(
                (&span, check_path),
                (first_span, KeyPath::Index(&path, *first)),
                Problem::Duplicate { what: "check", name: check.name },
            );
            continue;
        }
        seen.insert(check.name.clone(), (index, span));
        checks.push(check);
    }
    checks
}

/// The check, and where its name comes from.
fn read_check(
    reader: &mut Reader<'_>,
    table: toml::de::DeTable<'_>,
    path: KeyPath<'_>,
    index: usize,
    header: Span,
) -> Option<(RawCheck, Span)> {
    let mut section = Section::new(path, table);
    let name = id_text(reader, section.take("name"), (path, "name"), "check name");
    let kind = id_text(reader, section.take("kind"), (path, "kind"), "probe kind");
    if kind == Text::Missing {
        let example = "kind = \"http-head\"";
        reader.report(&header, path, Problem::MissingKey { key: "kind", example });
    }
    let role = section.take("role").and_then(|item| {
        const WORDS: [&str; 2] = [Role::Liveness.as_str(), Role::Readiness.as_str()];
        let path = KeyPath::Key(&path, "role");
        reader.one_of(&item, path, "role", &WORDS, &[Role::Liveness, Role::Readiness])
    });
    let interval = section.take("interval");
    let interval_span = interval.as_ref().map(Item::span);
    let interval = interval
        .and_then(|item| reader.whole(&item, KeyPath::Key(&path, "interval")))
        .map_or(IntervalSetting::DEFAULT, IntervalSetting::from_seconds);
    let timeout = section
        .take("timeout")
        .and_then(|item| reader.timeout(&item, KeyPath::Key(&path, "timeout")));
    let [failure_threshold, inconclusive_threshold] =
        ["failure_threshold", "inconclusive_threshold"].map(|key| {
            let item = section.take(key)?;
            reader.count(&item, KeyPath::Key(&path, key), "a threshold", u32::MAX, THRESHOLD)
        });
    let (config, config_node) = match section.take("config") {
        Some(item) => config(reader, item, KeyPath::Key(&path, "config")),
        None => (Value::Object(serde_json::Map::new()), Node::leaf(header)),
    };
    section.finish(reader);
    let (Text::Good(kind, kind_span), false) = (kind, name == Text::Bad) else { return None };
    let (name, name_span) = match name {
        Text::Good(name, span) => (name, span),
        _ => (kind.clone(), kind_span.clone()),
    };
    let check = RawCheck {
        index,
        name,
        kind,
        kind_span,
        role: role.unwrap_or_default(),
        interval,
        interval_span,
        timeout,
        failure_threshold,
        inconclusive_threshold,
        config,
        config_node,
    };
    Some((check, name_span))
}

fn config(reader: &mut Reader<'_>, item: Item<'_>, path: KeyPath<'_>) -> (Value, Node) {
    if !item.get_ref().is_table() {
        reader.wrong_type(&item, path, "a table", Some("write config = { … } or a table"));
        return (Value::Object(serde_json::Map::new()), Node::leaf(item.span()));
    }
    json::convert(reader, &item, path)
}

/// What became of a text that has to be an id.
#[derive(Debug, PartialEq)]
enum Text {
    Good(String, Span),
    Missing,
    /// It has been reported.
    Bad,
}

fn id_text(
    reader: &mut Reader<'_>,
    item: Option<Item<'_>>,
    (path, key): (KeyPath<'_>, &str),
    what: &'static str,
) -> Text {
    let Some(item) = item else { return Text::Missing };
    let path = KeyPath::Key(&path, key);
    let Some(text) = reader.string(&item, path) else { return Text::Bad };
    match check_id_text(&text) {
        Ok(()) => Text::Good(text, item.span()),
        Err(source) => {
            reader.report(&item.span(), path, Problem::BadId { what, source });
            Text::Bad
        }
    }
}

/// Which target and check a [`CheckId`] is, as places in the list.
pub(crate) fn index(targets: &[RawTarget]) -> HashMap<CheckId, (usize, usize)> {
    let places = targets.iter().enumerate().flat_map(|(target_at, target)| {
        target.checks.iter().enumerate().map(move |(check_at, check)| {
            (CheckId::new(&target.id, &check.name), (target_at, check_at))
        })
    });
    places.collect()
}

/// `targets[2].checks[0]`
pub(crate) fn path_of(target: &RawTarget, check: &RawCheck) -> String {
    format!("targets[{}].checks[{}]", target.index, check.index)
}

/// The name of a plugin in `[plugins.NAME]`, or what is wrong with it.
pub(crate) fn plugin_name(name: &str) -> Result<(), Problem> {
    check_id_text(name).map_err(|source| Problem::BadId { what: "plugin name", source }).and_then(
        |()| match name {
            "directory" | "cache" => Err(Problem::TakenName(shown(name))),
            _ => Ok(()),
        },
    )
}
