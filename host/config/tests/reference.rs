//! docs/config.md against the code: every key that is read stands on the page, and no other.
//!
//! Which keys a table has, its own error about an unknown one says.

#![allow(clippy::expect_used, clippy::panic, reason = "helpers of tests fail the test")]

use std::collections::BTreeSet;
use std::path::Path;

use probehost_config::{Config, Problem};

const PAGE: &str = include_str!("../../../docs/config.md");

/// A key that no table has.
const UNKNOWN: &str = "zzz";

/// Where a table of the file is documented, and how an unknown key gets into it.
struct Table {
    /// The section's heading.
    section: &'static str,
    /// The first cell of the header over the rows.
    header: &'static str,
    /// A file with the unknown key in this table; what else is wrong with it is of no account.
    file: &'static str,
    /// Rows that are of another table with the same section and header.
    but: &'static [&'static str],
}

const fn table(section: &'static str, header: &'static str, file: &'static str) -> Table {
    Table { section, header, file, but: &[] }
}

/// Every table that the file can have. One that is missing here is found by
/// [`every_table_has_a_section`], unless it stands within another.
const TABLES: [Table; 19] = [
    table("`[server]`", "key", "[server]\nzzz = 0"),
    table("`[server]`", "key in `[server.tls]`", "[server.tls]\nzzz = 0"),
    table("`[store]`", "key", "[store]\nzzz = 0"),
    table("`[history]`", "key", "[history]\nzzz = 0"),
    table("`[probes]`", "key", "[probes]\nzzz = 0"),
    table("`[plugins]`", "key", "[plugins]\nzzz = 0"),
    table("`[plugins]`", "key in `[plugins.NAME]`", "[plugins.a]\nzzz = 0"),
    table("`[lifecycle]`", "key", "[lifecycle]\nzzz = 0"),
    Table { but: &["pool_ttl"], ..table("`[lifecycle]`", "key", "[plugins.a.lifecycle]\nzzz = 0") },
    Table {
        but: &["pool_ttl"],
        ..table("`[lifecycle]`", "key", "[[targets]]\n[targets.lifecycle]\nzzz = 0")
    },
    table("`[tls]`", "key", "[tls]\nzzz = 0"),
    table("`[ssh]`", "key", "[ssh]\nzzz = 0"),
    table("`[secrets]`", "key", "[secrets]\nzzz = 0"),
    table("`[containers]`", "key", "[containers]\nzzz = 0"),
    table("`[commands]`", "key in `[commands.NAME]`", "[commands.a]\nzzz = 0"),
    table("`[log]`", "key", "[log]\nzzz = 0"),
    table("`[[targets]]`", "key", "[[targets]]\nzzz = 0"),
    table("`[[targets.checks]]`", "key", "[[targets]]\n[[targets.checks]]\nzzz = 0"),
    table(
        "Managed targets",
        "key in `[targets.runtime]`",
        "[[targets]]\n[targets.runtime]\nzzz = 0",
    ),
];

/// The keys that the code knows where the unknown one stands.
#[track_caller]
fn known(file: &str) -> BTreeSet<String> {
    let errors = Config::parse(file, Path::new("probehost.toml"), &|_| None)
        .expect_err("an unknown key is refused");
    let lists = errors.iter().filter_map(|error| match error.problem() {
        Problem::UnknownKey { key, known } if key == UNKNOWN => Some(known),
        _ => None,
    });
    let known = lists.last().unwrap_or_else(|| panic!("nothing is unknown in {file:?}: {errors}"));
    // `NAME (as a table: …)` is no key.
    known.iter().filter(|key| !key.contains(' ')).cloned().collect()
}

/// The lines of a section, without its heading.
fn section<'p>(page: &'p str, heading: &str) -> Vec<&'p str> {
    let heading = format!("## {heading}");
    let mut lines = page.lines().skip_while(|line| *line != heading).skip(1);
    lines.by_ref().take_while(|line| !line.starts_with("## ")).collect()
}

/// The keys of the rows under that header: `` | `key` | … ``.
fn documented(page: &str, table: &Table) -> BTreeSet<String> {
    let header = format!("| {} |", table.header);
    let lines = section(page, table.section).into_iter();
    let rows = lines.skip_while(|line| !line.starts_with(&header)).skip(2);
    rows.map_while(|row| row.strip_prefix("| `")?.split_once("` |"))
        .map(|(key, _)| key.to_owned())
        .filter(|key| !table.but.contains(&key.as_str()))
        .collect()
}

/// What differs between code and page; empty when nothing does.
fn differences(page: &str) -> Vec<String> {
    let mut found = Vec::new();
    for table in &TABLES {
        let (known, documented) = (known(table.file), documented(page, table));
        let place = format!("the table {:?} of {}", table.header, table.section);
        for key in known.difference(&documented) {
            found.push(format!("{place} has no row for `{key}`, which the code reads"));
        }
        for key in documented.difference(&known) {
            found.push(format!("{place} has a row for `{key}`, which nothing reads"));
        }
    }
    found
}

#[test]
fn every_key_is_on_the_page() {
    let found = differences(PAGE);
    assert!(found.is_empty(), "docs/config.md and the code differ:\n{}", found.join("\n"));
}

/// A table at the top of the file that is new to the code has to come to the page and to
/// [`TABLES`].
#[test]
fn every_table_has_a_section() {
    for key in known("zzz = 0") {
        let headings = [format!("`[{key}]`"), format!("`[[{key}]]`")];
        let on_page = headings.iter().any(|heading| !section(PAGE, heading).is_empty());
        assert!(on_page, "docs/config.md has no section {}", headings.join(" or "));
        let here = TABLES.iter().any(|table| headings.iter().any(|own| own == table.section));
        assert!(here, "`{key}` is missing in TABLES");
    }
}

/// What these tests rest on: a row that is gone, or one too many, is found.
#[test]
fn a_difference_is_found() {
    let without = PAGE.replacen("\n| `keep_days` |", "\n| `kept_days` |", 1);
    let found = differences(&without);
    assert_eq!(found.len(), 2, "{found:?}");
    assert!(found.iter().any(|text| text.contains("no row for `keep_days`")), "{found:?}");
    assert!(found.iter().any(|text| text.contains("a row for `kept_days`")), "{found:?}");
}
