//! `[notify]`: sinks and rules of notifications (contract E5).

use std::collections::BTreeMap;
use std::time::Duration;

use probehost_model::check_id_text;
use probehost_model::notify::{
    Maintenance, ProblemState, Rule, Selection, Settings, Sink, SinkKind, SinkText,
};
use url::Url;

use crate::commands::secret;
use crate::problem::{Problem, shown};
use crate::targets::labels;
use crate::walk::{Item, KeyPath, Reader, Section, items_of, section};

const SINK_KINDS: [&str; 4] = [
    SinkKind::Discord.as_str(),
    SinkKind::Slack.as_str(),
    SinkKind::Webhook.as_str(),
    SinkKind::Email.as_str(),
];
const STATES: [&str; 6] = [
    ProblemState::Unhealthy.as_str(),
    ProblemState::Unknown.as_str(),
    ProblemState::Offline.as_str(),
    ProblemState::Restarting.as_str(),
    ProblemState::Updating.as_str(),
    ProblemState::Quarantined.as_str(),
];
/// A month: longer than anybody waits for.
const MONTH: f64 = 30.0 * 86_400.0;

pub(crate) fn read(
    reader: &mut Reader<'_>,
    item: Option<Item<'_>>,
    maintenance: Vec<Maintenance>,
) -> Settings {
    let mut section = section(reader, item, "notify");
    let parent = section.path;
    let plain = Settings::default();
    let group_wait = section.take("group_wait").and_then(|item| {
        const RANGE: &str = "seconds from 0 to 600, such as 10";
        let path = KeyPath::Key(&parent, "group_wait");
        span(reader, &item, path, "a wait", 0.0..=600.0, RANGE)
    });
    let own_fault_min = section.take("own_fault_min").and_then(|item| {
        const RANGE: &str = "a whole number from 2 to 10000, such as 5";
        let path = KeyPath::Key(&parent, "own_fault_min");
        let count = reader.count(&item, path, "a number of targets", 10_000, RANGE)?;
        if count < 2 {
            let problem = Problem::OutOfRange { what: "a number of targets", range: RANGE };
            reader.report(&item.span(), path, problem);
        }
        Some(count)
    });
    let give_up = section.take("give_up").and_then(|item| {
        const RANGE: &str = "seconds from 60 to 2592000, such as 86400 for a day";
        let path = KeyPath::Key(&parent, "give_up");
        span(reader, &item, path, "a time to give up after", 60.0..=MONTH, RANGE)
    });
    let sinks = section
        .take("sinks")
        .map(|item| sinks(reader, item, KeyPath::Key(&parent, "sinks")))
        .unwrap_or_default();
    let rules = section
        .take("rules")
        .map(|item| rules(reader, item, KeyPath::Key(&parent, "rules"), &sinks))
        .unwrap_or_default();
    section.finish(reader);
    Settings {
        // One whose table has an error has been reported; the name is known to the rules.
        sinks: sinks.into_iter().filter_map(|(name, sink)| Some((name, sink?))).collect(),
        rules,
        maintenance,
        group_wait: group_wait.unwrap_or(plain.group_wait),
        own_fault_min: own_fault_min.unwrap_or(plain.own_fault_min),
        give_up: give_up.unwrap_or(plain.give_up),
    }
}

/// A time span in seconds.
pub(crate) fn span(
    reader: &mut Reader<'_>,
    item: &Item<'_>,
    path: KeyPath<'_>,
    what: &'static str,
    allowed: std::ops::RangeInclusive<f64>,
    range: &'static str,
) -> Option<Duration> {
    let seconds = reader.number(item, path, "a number of seconds")?;
    if allowed.contains(&seconds) {
        return Duration::try_from_secs_f64(seconds).ok();
    }
    reader.report(&item.span(), path, Problem::OutOfRange { what, range });
    None
}

fn sinks(
    reader: &mut Reader<'_>,
    item: Item<'_>,
    parent: KeyPath<'_>,
) -> BTreeMap<String, Option<Sink>> {
    const HELP: Option<&str> = Some("write [notify.sinks.NAME], and the sink's keys below it");
    let mut sinks = BTreeMap::new();
    for (key, item) in reader.table(item, parent, HELP).into_iter().flatten() {
        let name = key.get_ref();
        let path = KeyPath::Key(&parent, name);
        if let Err(source) = check_id_text(name) {
            reader.report(&key.span(), path, Problem::BadId { what: "sink name", source });
        } else {
            let sink = sink(reader, item, path);
            sinks.insert(name.to_string(), sink);
        }
    }
    sinks
}

fn sink(reader: &mut Reader<'_>, item: Item<'_>, path: KeyPath<'_>) -> Option<Sink> {
    let header = item.span();
    let mut section = Section::new(path, reader.table(item, path, None)?);
    let kind_item = section.take("kind");
    if kind_item.is_none() {
        let problem = Problem::MissingKey { key: "kind", example: "kind = \"discord\"" };
        reader.report(&header, path, problem);
    }
    let kind = kind_item.and_then(|item| {
        let path = KeyPath::Key(&path, "kind");
        reader.one_of(&item, path, "kind of sink", &SINK_KINDS, &SinkKind::ALL)
    });
    let url_item = section.take("url");
    if url_item.is_none() {
        let problem = Problem::MissingKey { key: "url", example: "url = { secret = \"a-name\" }" };
        reader.report(&header, path, problem);
    }
    let url = url_item.and_then(|item| {
        let span = item.span();
        let url = text(reader, item, KeyPath::Key(&path, "url"))?;
        if let (SinkText::Text(url), Some(kind)) = (&url, kind)
            && !is_url(url, kind)
        {
            let email = kind == SinkKind::Email;
            reader.report(&span, KeyPath::Key(&path, "url"), Problem::BadSinkUrl { email });
        }
        Some(url)
    });
    let signing_key = section.take("signing_key").and_then(|item| {
        let path = KeyPath::Key(&path, "signing_key");
        only_for(reader, &item, path, kind, SinkKind::Webhook);
        text(reader, item, path)
    });
    let rate = section.take("rate").and_then(|item| {
        const RANGE: &str = "messages in a second from 0.01 to 1000, such as 0.5";
        let path = KeyPath::Key(&path, "rate");
        let rate = reader.number(&item, path, "a number")?;
        if !(0.01..=1000.0).contains(&rate) {
            let problem = Problem::OutOfRange { what: "a rate", range: RANGE };
            reader.report(&item.span(), path, problem);
        }
        Some(rate)
    });
    let [from, to] = ["from", "to"].map(|key| {
        let item = section.take(key);
        match (&item, kind) {
            (Some(item), _) => {
                only_for(reader, item, KeyPath::Key(&path, key), kind, SinkKind::Email);
            }
            (None, Some(SinkKind::Email)) => {
                let example = if key == "from" {
                    "from = \"probehost@example.com\""
                } else {
                    "to = [\"oncall@example.com\"]"
                };
                reader.report(&header, path, Problem::MissingKey { key, example });
            }
            (None, _) => {}
        }
        item
    });
    let from = from.and_then(|item| address(reader, &item, KeyPath::Key(&path, "from")));
    let to = to.map(|item| {
        let path = KeyPath::Key(&path, "to");
        strings(reader, item, path)
            .into_iter()
            .filter_map(|(path_at, item)| {
                let path = KeyPath::Index(&path, path_at);
                address(reader, &item, path)
            })
            .collect::<Vec<_>>()
    });
    section.finish(reader);
    let kind = kind?;
    Some(Sink {
        kind,
        url: url?,
        signing_key,
        rate: rate.unwrap_or(kind.rate()),
        from: from.unwrap_or_default(),
        to: to.unwrap_or_default(),
    })
}

/// A text as it stands there, or the name of a secret.
fn text(reader: &mut Reader<'_>, item: Item<'_>, path: KeyPath<'_>) -> Option<SinkText> {
    if !item.get_ref().is_table() {
        let text = reader.string(&item, path)?;
        if text.trim().is_empty() {
            let help = "write { secret = \"name\" }, or the text itself";
            reader.report(&item.span(), path, Problem::Empty { what: "the text", help });
            return None;
        }
        return Some(SinkText::Text(text));
    }
    secret(reader, item, path).map(SinkText::Secret)
}

fn is_url(text: &str, kind: SinkKind) -> bool {
    let Ok(url) = Url::parse(text) else { return false };
    let fits = match kind {
        SinkKind::Email => matches!(url.scheme(), "smtp" | "smtps"),
        SinkKind::Discord | SinkKind::Slack | SinkKind::Webhook => {
            let bare = url.username().is_empty() && url.password().is_none();
            matches!(url.scheme(), "http" | "https") && bare
        }
    };
    fits && url.host_str().is_some_and(|host| !host.is_empty())
}

fn only_for(
    reader: &mut Reader<'_>,
    item: &Item<'_>,
    path: KeyPath<'_>,
    kind: Option<SinkKind>,
    wanted: SinkKind,
) {
    if let Some(kind) = kind.filter(|kind| *kind != wanted) {
        let problem = Problem::NotForSink { kind: kind.as_str(), wanted: wanted.as_str() };
        reader.report(&item.span(), path, problem);
    }
}

fn address(reader: &mut Reader<'_>, item: &Item<'_>, path: KeyPath<'_>) -> Option<String> {
    let text = reader.string(item, path)?;
    let plain = |c: char| c.is_ascii_graphic() && !matches!(c, '<' | '>' | ',' | ';' | '"');
    let fits = text.chars().all(plain)
        && text.rsplit_once('@').is_some_and(|(name, host)| {
            !name.is_empty() && !name.contains('@') && !host.is_empty()
        });
    if !fits {
        reader.report(&item.span(), path, Problem::BadMailAddress);
        return None;
    }
    Some(text)
}

/// The items of a list that has to have some.
fn strings<'i>(
    reader: &mut Reader<'_>,
    item: Item<'i>,
    path: KeyPath<'_>,
) -> Vec<(usize, Item<'i>)> {
    let span = item.span();
    let Some(items) = reader.array(item, path, "a list of texts", None) else { return Vec::new() };
    if items.is_empty() {
        let help = "write at least one, or take the key out";
        reader.report(&span, path, Problem::Empty { what: "the list", help });
    }
    items_of(items).enumerate().collect()
}

/// A list of texts that has to have some.
fn texts(reader: &mut Reader<'_>, item: Item<'_>, path: KeyPath<'_>) -> Vec<String> {
    let mut texts = Vec::new();
    for (index, item) in strings(reader, item, path) {
        if let Some(text) = reader.string(&item, KeyPath::Index(&path, index)) {
            texts.push(text);
        }
    }
    texts
}

/// `targets` and `labels`.
pub(crate) fn selection(reader: &mut Reader<'_>, section: &mut Section<'_, '_>) -> Selection {
    let parent = section.path;
    let targets = section
        .take("targets")
        .map(|item| texts(reader, item, KeyPath::Key(&parent, "targets")))
        .unwrap_or_default();
    let labels = section
        .take("labels")
        .map(|item| labels(reader, item, KeyPath::Key(&parent, "labels")))
        .unwrap_or_default();
    Selection { targets, labels }
}

fn rules(
    reader: &mut Reader<'_>,
    item: Item<'_>,
    path: KeyPath<'_>,
    sinks: &BTreeMap<String, Option<Sink>>,
) -> Vec<Rule> {
    let help = Some("write [[notify.rules]] with two brackets, one for each rule");
    let Some(items) = reader.array(item, path, "a list of tables", help) else {
        return Vec::new();
    };
    let mut rules = Vec::new();
    for (index, item) in items_of(items).enumerate() {
        if let Some(rule) = rule(reader, item, KeyPath::Index(&path, index), sinks) {
            rules.push(rule);
        }
    }
    rules
}

fn rule(
    reader: &mut Reader<'_>,
    item: Item<'_>,
    path: KeyPath<'_>,
    sinks: &BTreeMap<String, Option<Sink>>,
) -> Option<Rule> {
    let header = item.span();
    let mut section = Section::new(path, reader.table(item, path, None)?);
    let sinks_item = section.take("sinks");
    if sinks_item.is_none() {
        let problem = Problem::MissingKey { key: "sinks", example: "sinks = [\"chat\"]" };
        reader.report(&header, path, problem);
    }
    let mut named = Vec::new();
    let sinks_path = KeyPath::Key(&path, "sinks");
    for (index, item) in
        sinks_item.map(|item| strings(reader, item, sinks_path)).unwrap_or_default()
    {
        let path = KeyPath::Index(&sinks_path, index);
        let Some(name) = reader.string(&item, path) else { continue };
        if sinks.contains_key(&name) {
            named.push(name);
        } else {
            let known = sinks.keys().cloned().collect();
            reader.report(&item.span(), path, Problem::UnknownSink { given: shown(&name), known });
        }
    }
    let of = selection(reader, &mut section);
    let kinds = section
        .take("kinds")
        .map(|item| texts(reader, item, KeyPath::Key(&path, "kinds")))
        .unwrap_or_default();
    let states_path = KeyPath::Key(&path, "states");
    let states = section.take("states").map(|item| {
        let mut states = Vec::new();
        for (index, item) in strings(reader, item, states_path) {
            let path = KeyPath::Index(&states_path, index);
            let what = "state to tell of";
            states.extend(reader.one_of(&item, path, what, &STATES, &ProblemState::ALL));
        }
        states
    });
    let repeat = section.take("repeat").and_then(|item| {
        const RANGE: &str = "seconds from 60 to 2592000, such as 3600, or 0 for never";
        let path = KeyPath::Key(&path, "repeat");
        let seconds = reader.number(&item, path, "a number of seconds")?;
        if seconds == 0.0 {
            return None;
        }
        if !(60.0..=MONTH).contains(&seconds) {
            let problem = Problem::OutOfRange { what: "a time between reminders", range: RANGE };
            reader.report(&item.span(), path, problem);
        }
        Duration::try_from_secs_f64(seconds).ok()
    });
    section.finish(reader);
    let states = states.unwrap_or_else(|| ProblemState::DEFAULT.to_vec());
    Some(Rule { sinks: named, of, kinds, states, repeat })
}
