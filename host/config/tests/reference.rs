//! docs/config.md, and the page of notifications that it sends on to, against the code: every key
//! that is read stands there, and no other.
//!
//! Which keys a table has, its own error about an unknown one says.

#![allow(clippy::expect_used, clippy::panic, reason = "helpers of tests fail the test")]

use std::collections::BTreeSet;
use std::path::Path;

use probehost_config::{Config, Problem};

const PAGES: &str = concat!(
    include_str!("../../../docs/config.md"),
    include_str!("../../../docs/notifications.md")
);

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
    /// Keys that are not judged: rows of another table under the same header, and keys that are
    /// tables of their own.
    but: &'static [&'static str],
}

const fn table(section: &'static str, header: &'static str, file: &'static str) -> Table {
    Table { section, header, file, but: &[] }
}

/// Every table that the file can have. One that is missing here is found by
/// [`every_table_has_a_section`], unless it stands within another.
const TABLES: [Table; 23] = [
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
    Table {
        but: &["sinks", "rules"],
        ..table("When it is not the targets", "key of `[notify]`", "[notify]\nzzz = 0")
    },
    table("Sinks", "key", "[notify.sinks.a]\nzzz = 0"),
    table("Rules", "key", "[[notify.rules]]\nzzz = 0"),
    table("Maintenance", "key", "[[maintenance]]\nzzz = 0"),
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
    let mut lists = errors.iter().filter_map(|error| match error.problem() {
        Problem::UnknownKey { key, known } if key == UNKNOWN => Some(known),
        _ => None,
    });
    let known =
        lists.next_back().unwrap_or_else(|| panic!("nothing is unknown in {file:?}: {errors}"));
    // `NAME (as a table: …)` is no key.
    known.iter().filter(|key| !key.contains(' ')).cloned().collect()
}

/// The keys of the rows under the table's header: `` | `key` | … ``, or several in one cell.
fn documented(pages: &str, table: &Table) -> BTreeSet<String> {
    let heading = format!("## {}", table.section);
    let header = format!("| {} |", table.header);
    let section = pages.lines().skip_while(|line| *line != heading).skip(1);
    let section = section.take_while(|line| !line.starts_with("## "));
    let rows = section.skip_while(|line| !line.starts_with(&header)).skip(2);
    let cells = rows.map_while(|row| row.strip_prefix("| `")?.split_once("` |"));
    cells.flat_map(|(cell, _)| cell.split("`, `")).map(str::to_owned).collect()
}

/// What differs between code and pages; empty when nothing does.
fn differences(pages: &str) -> Vec<String> {
    let mut found = Vec::new();
    for table in &TABLES {
        let (known, documented) = (known(table.file), documented(pages, table));
        let place = format!("the table {:?} of {:?}", table.header, table.section);
        let judged = |key: &&String| !table.but.contains(&key.as_str());
        for key in known.difference(&documented).filter(judged) {
            found.push(format!("{place} has no row for `{key}`, which the code reads"));
        }
        for key in documented.difference(&known).filter(judged) {
            found.push(format!("{place} has a row for `{key}`, which nothing reads"));
        }
    }
    found
}

#[test]
fn every_key_is_on_the_page() {
    let found = differences(PAGES);
    assert!(found.is_empty(), "the pages and the code differ:\n{}", found.join("\n"));
}

/// A table at the top of the file that is new to the code has to come to the page and to
/// [`TABLES`].
#[test]
fn every_table_has_a_section() {
    let headings: Vec<_> = PAGES.lines().filter(|line| line.starts_with("## ")).collect();
    for key in known("zzz = 0") {
        let own = [format!("[{key}]"), format!("[[{key}]]")];
        let on_page = own.iter().any(|own| {
            let own = format!("`{own}`");
            headings.iter().any(|heading| heading.contains(&own))
        });
        assert!(on_page, "docs/config.md has no section of {}", own.join(" or "));
        let starts = [own[0].clone(), own[1].clone(), format!("[{key}.")];
        let here = TABLES.iter().any(|table| starts.iter().any(|own| table.file.starts_with(own)));
        assert!(here, "`{key}` is missing in TABLES");
    }
}

/// What these tests rest on: a row that is gone, or one too many, is found.
#[test]
fn a_difference_is_found() {
    for table in &TABLES {
        let all = documented(PAGES, table);
        assert!(!all.is_empty(), "no rows under {:?} of {:?}", table.header, table.section);
    }
    let without = PAGES.replacen("\n| `keep_days` |", "\n| `kept_days` |", 1);
    let found = differences(&without);
    assert_eq!(found.len(), 2, "{found:?}");
    assert!(found.iter().any(|text| text.contains("no row for `keep_days`")), "{found:?}");
    assert!(found.iter().any(|text| text.contains("a row for `kept_days`")), "{found:?}");
}
