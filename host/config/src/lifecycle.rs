//! What makes a target managed, as the file has it: its runtime, and the tables that say when
//! it is restarted (contract L9, L10).

use std::time::Duration;

use probehost_model::Runtime;
use probehost_model::lifecycle::PartialPolicy;

use crate::problem::{Problem, shown};
use crate::settings::{Lifecycle, Places, Settings};
use crate::span::Span;
use crate::walk::{Item, KeyPath, Reader, Section, section};

const DEFAULT_POOL_TTL: Duration = Duration::from_secs(15);
/// Longest name of a container, in bytes: the one that the engine is asked for.
const LONGEST_CONTAINER: usize = 255;

const RUNTIME: &str = "write runtime = { container = \"search-mcp\" } or a table";
const LAYER: &str = "write lifecycle = { max_restarts = 5 } or a table";
const CONTAINER: &str = "write the name or the id of a container, as `docker ps` shows it";
const COMMAND: &str = "write the name of a command under [commands] that restarts the target";

/// The runtime of a target, and its own layer of the policy.
pub(crate) struct RawManaged {
    pub(crate) runtime: Runtime,
    /// Where the runtime stands.
    pub(crate) span: Span,
    /// Where the name in it does.
    pub(crate) name_span: Span,
    pub(crate) policy: PartialPolicy,
    pub(crate) places: Places,
}

/// `[lifecycle]`
pub(crate) fn read(reader: &mut Reader<'_>, item: Option<Item<'_>>) -> Lifecycle {
    let mut section = section(reader, item, "lifecycle");
    let (policy, places) = policy(reader, &mut section);
    let pool_ttl = section.take("pool_ttl").and_then(|item| {
        let path = KeyPath::Key(&section.path, "pool_ttl");
        let range = "seconds from 1 to 3600, such as 15";
        reader.seconds(&item, path, "the time to live of a pool snapshot", 1.0, range)
    });
    section.finish(reader);
    Lifecycle { policy, pool_ttl: pool_ttl.unwrap_or(DEFAULT_POOL_TTL), places }
}

/// `[targets.runtime]` and `[targets.lifecycle]`
pub(crate) fn managed(
    reader: &mut Reader<'_>,
    section: &mut Section<'_, '_>,
) -> Option<Box<RawManaged>> {
    let parent = section.path;
    let from = section.take("runtime");
    let own = section.take("lifecycle");
    if let (None, Some(own)) = (&from, &own) {
        let path = KeyPath::Key(&parent, "lifecycle");
        reader.report(&own.span(), path, Problem::NotManaged);
    }
    let (policy, places) = layer(reader, own, KeyPath::Key(&parent, "lifecycle"));
    let from = from?;
    let span = from.span();
    let (runtime, name_span) = runtime(reader, from, KeyPath::Key(&parent, "runtime"))?;
    Some(Box::new(RawManaged { runtime, span, name_span, policy, places }))
}

/// A table that holds a layer of the policy and nothing else.
pub(crate) fn layer(
    reader: &mut Reader<'_>,
    item: Option<Item<'_>>,
    path: KeyPath<'_>,
) -> (PartialPolicy, Places) {
    let table = item.and_then(|item| reader.table(item, path, Some(LAYER))).unwrap_or_default();
    let mut section = Section::new(path, table);
    let layer = policy(reader, &mut section);
    section.finish(reader);
    layer
}

/// For a config that goes with another text: what the places of the layers mean is gone.
pub(crate) fn forget_places(settings: &mut Settings) {
    settings.lifecycle.places = Places::default();
    for plugin in settings.plugins.by_name.values_mut() {
        plugin.lifecycle_places = Places::default();
    }
}

/// The keys of a policy (contract L10, P10).
fn policy(reader: &mut Reader<'_>, section: &mut Section<'_, '_>) -> (PartialPolicy, Places) {
    let (mut policy, mut places) = (PartialPolicy::default(), Places::default());
    let parent = section.path;
    for key in PartialPolicy::KEYS {
        let Some(item) = section.take(key) else { continue };
        let path = KeyPath::Key(&parent, key);
        let number = match key {
            #[expect(clippy::cast_precision_loss, reason = "what is lost is far out of range")]
            "max_restarts" => reader.whole(&item, path).map(|number| number as f64),
            "multiplier" | "jitter" => reader.number(&item, path, "a number"),
            _ => reader.number(&item, path, "a number of seconds"),
        };
        let Some(number) = number else { continue };
        match (policy.set(key, number), key) {
            (Err(error), _) => reader.report(&item.span(), path, Problem::Policy(error)),
            (Ok(()), "base") => places.base = Some(item.span()),
            (Ok(()), "cap") => places.cap = Some(item.span()),
            (Ok(()), _) => {}
        }
    }
    (policy, places)
}

/// The runtime, and where its name stands. Whether there is such a command is judged later,
/// when all commands are known.
fn runtime(reader: &mut Reader<'_>, item: Item<'_>, path: KeyPath<'_>) -> Option<(Runtime, Span)> {
    let span = item.span();
    let mut section = Section::new(path, reader.table(item, path, Some(RUNTIME))?);
    let container = section.take("container");
    let command = section.take("command");
    section.finish(reader);
    match (container, command) {
        (Some(_), Some(command)) => {
            let problem = Problem::BothGiven { one: "container", other: "command" };
            reader.report(&command.span(), KeyPath::Key(&path, "command"), problem);
            None
        }
        (Some(item), None) => {
            let path = KeyPath::Key(&path, "container");
            let name = name(reader, &item, path, "the name of the container", CONTAINER)?;
            if !is_container(&name) {
                reader.report(&item.span(), path, Problem::BadContainer(shown(&name)));
                return None;
            }
            Some((Runtime::Container(name), item.span()))
        }
        (None, Some(item)) => {
            let path = KeyPath::Key(&path, "command");
            let name = name(reader, &item, path, "the name of the command", COMMAND)?;
            Some((Runtime::Command(name), item.span()))
        }
        (None, None) => {
            reader.report(&span, path, Problem::NoRuntime);
            None
        }
    }
}

fn name(
    reader: &mut Reader<'_>,
    item: &Item<'_>,
    path: KeyPath<'_>,
    what: &'static str,
    help: &'static str,
) -> Option<String> {
    let name = reader.string(item, path)?;
    if name.trim().is_empty() {
        reader.report(&item.span(), path, Problem::Empty { what, help });
        return None;
    }
    Some(name)
}

/// The rule of the probe kind `container-inspect`.
fn is_container(name: &str) -> bool {
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-');
    name.len() <= LONGEST_CONTAINER
        && name.starts_with(|c: char| c.is_ascii_alphanumeric())
        && name.chars().all(fits)
}
