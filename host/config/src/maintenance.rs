//! `[[maintenance]]`: times in which problems of some targets are told to nobody.

use jiff::tz::TimeZone;
use probehost_model::Timestamp;
use probehost_model::notify::{Maintenance, MaintenanceTime};
use toml::de::DeValue;

use crate::notify::{selection, span};
use crate::problem::{Problem, shown};
use crate::span::Span;
use crate::walk::{Item, KeyPath, Reader, Section, items_of};

const DAYS: [&str; 7] = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"];
const NUMBERS: [u8; 7] = [0, 1, 2, 3, 4, 5, 6];
const WEEK: f64 = 7.0 * 86_400.0;

pub(crate) fn read(reader: &mut Reader<'_>, item: Option<Item<'_>>) -> Vec<Maintenance> {
    let path = KeyPath::Key(&KeyPath::Root, "maintenance");
    let help = Some("write [[maintenance]] with two brackets, one for each window");
    let items = item.and_then(|item| reader.array(item, path, "a list of tables", help));
    let mut windows: Vec<Maintenance> = Vec::new();
    for (index, item) in items.into_iter().flat_map(items_of).enumerate() {
        let path = KeyPath::Index(&path, index);
        let header = item.span();
        let Some(table) = reader.table(item, path, None) else { continue };
        let Some(window) = window(reader, Section::new(path, table), &header) else { continue };
        if windows.iter().any(|other| other.name == window.name) {
            let problem = Problem::Duplicate { what: "maintenance window", name: window.name };
            reader.report(&header, path, problem);
            continue;
        }
        windows.push(window);
    }
    windows
}

fn window(
    reader: &mut Reader<'_>,
    mut section: Section<'_, '_>,
    header: &Span,
) -> Option<Maintenance> {
    let path = section.path;
    let name_item = section.take("name");
    if name_item.is_none() {
        let problem = Problem::MissingKey { key: "name", example: "name = \"patching\"" };
        reader.report(header, path, problem);
    }
    let name = name_item.and_then(|item| {
        let path = KeyPath::Key(&path, "name");
        let name = reader.string(&item, path)?;
        if name.trim().is_empty() {
            let help = "write what the window is for";
            reader.report(&item.span(), path, Problem::Empty { what: "the name", help });
        }
        Some(name)
    });
    let of = selection(reader, &mut section);
    let once = [section.take("from"), section.take("until")];
    let [days, at, lasts, zone] = ["days", "at", "for", "zone"].map(|key| section.take(key));
    section.finish(reader);
    let recurring = [&days, &at, &lasts, &zone];
    let when = if once.iter().any(Option::is_some) {
        let names = ["days", "at", "for", "zone"];
        if let Some((item, other)) =
            recurring.into_iter().zip(names).find_map(|(item, name)| Some((item.as_ref()?, name)))
        {
            let problem = Problem::BothGiven { one: "from", other };
            reader.report(&item.span(), KeyPath::Key(&path, other), problem);
        }
        single(reader, once, path, header)
    } else {
        weekly(reader, [days, at, lasts, zone], path, header)
    };
    Some(Maintenance { name: name?, of, when: when? })
}

fn single(
    reader: &mut Reader<'_>,
    items: [Option<Item<'_>>; 2],
    path: KeyPath<'_>,
    header: &Span,
) -> Option<MaintenanceTime> {
    let [from, until] = items;
    let from = time(reader, from, (path, "from"), header);
    let until_span = until.as_ref().map(Item::span);
    let until = time(reader, until, (path, "until"), header);
    let (from, until) = (from?, until?);
    if until <= from {
        let span = until_span.unwrap_or_else(|| header.clone());
        reader.report(&span, KeyPath::Key(&path, "until"), Problem::EndsFirst);
        return None;
    }
    Some(MaintenanceTime::Once { from, until })
}

/// A moment: RFC 3339, as a text or as TOML has it, with its offset.
fn time(
    reader: &mut Reader<'_>,
    item: Option<Item<'_>>,
    (path, key): (KeyPath<'_>, &'static str),
    header: &Span,
) -> Option<Timestamp> {
    let Some(item) = item else {
        let example = if key == "from" {
            "from = 2026-12-01T02:00:00Z"
        } else {
            "until = 2026-12-01T04:00:00Z"
        };
        reader.report(header, path, Problem::MissingKey { key, example });
        return None;
    };
    let text = match item.get_ref() {
        DeValue::Datetime(time) => time.to_string(),
        DeValue::String(text) => text.to_string(),
        _ => {
            reader.wrong_type(&item, KeyPath::Key(&path, key), "a date and time", None);
            return None;
        }
    };
    match text.parse::<jiff::Timestamp>() {
        Ok(time) => Some(Timestamp::from_micros(time.as_microsecond())),
        Err(_) => {
            reader.report(&item.span(), KeyPath::Key(&path, key), Problem::BadTime);
            None
        }
    }
}

fn weekly(
    reader: &mut Reader<'_>,
    items: [Option<Item<'_>>; 4],
    path: KeyPath<'_>,
    header: &Span,
) -> Option<MaintenanceTime> {
    let [days, at, lasts, zone] = items;
    let days_path = KeyPath::Key(&path, "days");
    let days = match days {
        None => NUMBERS.to_vec(),
        Some(item) => {
            let span = item.span();
            let items = reader.array(item, days_path, "a list of days", None)?;
            if items.is_empty() {
                let help =
                    "write days such as [\"sat\", \"sun\"], or take the key out for every day";
                reader.report(&span, days_path, Problem::Empty { what: "the list", help });
            }
            let mut days = Vec::new();
            for (index, item) in items_of(items).enumerate() {
                let path = KeyPath::Index(&days_path, index);
                days.extend(reader.one_of(&item, path, "day", &DAYS, &NUMBERS));
            }
            days
        }
    };
    let Some(at) = at else {
        reader.report(header, path, Problem::MissingKey { key: "at", example: "at = \"02:00\"" });
        return None;
    };
    let minute = minute(reader, &at, KeyPath::Key(&path, "at"));
    let Some(lasts) = lasts else {
        reader.report(header, path, Problem::MissingKey { key: "for", example: "for = 7200" });
        return None;
    };
    const RANGE: &str = "seconds from 60 to 604800, such as 7200 for two hours";
    let lasts = span(reader, &lasts, KeyPath::Key(&path, "for"), "a length", 60.0..=WEEK, RANGE);
    let zone = match zone {
        None => "UTC".to_owned(),
        Some(item) => {
            let path = KeyPath::Key(&path, "zone");
            let name = reader.string(&item, path)?;
            if TimeZone::get(&name).is_err() {
                reader.report(&item.span(), path, Problem::BadZone(shown(&name)));
                return None;
            }
            name
        }
    };
    Some(MaintenanceTime::Weekly { days, minute: minute?, lasts: lasts?, zone })
}

/// `HH:MM`.
fn minute(reader: &mut Reader<'_>, item: &Item<'_>, path: KeyPath<'_>) -> Option<u16> {
    let text = reader.string(item, path)?;
    let parsed = text.split_once(':').and_then(|(hour, minute)| {
        let two = |digits: &str, most: u16| {
            let all = digits.len() == 2 && digits.bytes().all(|byte| byte.is_ascii_digit());
            digits.parse::<u16>().ok().filter(|number| all && *number < most)
        };
        Some(two(hour, 24)? * 60 + two(minute, 60)?)
    });
    if parsed.is_none() {
        reader.report(&item.span(), path, Problem::BadClock);
    }
    parsed
}
