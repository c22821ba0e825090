//! The files of the page, each with its type and its tag.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::LazyLock;

/// Names below `web/`, and texts.
const EMBEDDED: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/page.rs"));

/// One file.
#[derive(Debug)]
pub(super) struct File {
    name: &'static str,
    pub(super) text: &'static str,
    /// Its media type.
    pub(super) kind: &'static str,
    /// Its entity tag, with quotes: another text has another.
    pub(super) tag: String,
}

static FILES: LazyLock<Vec<File>> = LazyLock::new(|| {
    let file = |&(name, text): &(&'static str, &'static str)| {
        let mut hash = DefaultHasher::new();
        text.hash(&mut hash);
        File { name, text, kind: kind(name), tag: format!("\"{:016x}\"", hash.finish()) }
    };
    EMBEDDED.iter().map(file).collect()
});

/// The file of this name.
pub(super) fn find(name: &str) -> Option<&'static File> {
    FILES.iter().find(|file| file.name == name)
}

fn kind(name: &str) -> &'static str {
    match name.rsplit_once('.').map(|(_, ending)| ending) {
        Some("html") => "text/html; charset=utf-8",
        Some("css") => "text/css; charset=utf-8",
        Some("js") => "text/javascript; charset=utf-8",
        Some("svg") => "image/svg+xml",
        _ => "text/plain; charset=utf-8",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A name in the page that leads nowhere would show as a page that stays empty.
    #[test]
    fn what_the_page_names_is_there() {
        let of_assets = |text: &'static str| {
            text.split("/assets/").skip(1).filter_map(|rest| rest.split(['"', '\'']).next())
        };
        let mut named = 0;
        for file in FILES.iter() {
            for name in of_assets(file.text) {
                named += 1;
                assert!(find(name).is_some(), "{} names {name}", file.name);
            }
            let imports = file.text.split(" from './").skip(1);
            for name in imports.filter_map(|rest| rest.split('\'').next()) {
                named += 1;
                let folder = file.name.rsplit_once('/').map_or("", |(folder, _)| folder);
                let name = format!("{folder}/{name}");
                assert!(find(name.trim_start_matches('/')).is_some(), "{} names {name}", file.name);
            }
            assert_ne!(file.kind, "text/plain; charset=utf-8", "{}", file.name);
        }
        assert!(named > 10, "{named}");
    }

    /// It works without a network: nothing of it is elsewhere.
    #[test]
    fn nothing_is_loaded_from_elsewhere() {
        for file in FILES.iter() {
            for (at, _) in file.text.match_indices("//") {
                let before = &file.text[..at];
                let foreign = before.ends_with("http:") || before.ends_with("https:");
                let rest: String = file.text[at..].chars().take(30).collect();
                let known = rest.starts_with("//www.w3.org/");
                assert!(!foreign || known, "{} names {rest}", file.name);
            }
        }
    }
}
