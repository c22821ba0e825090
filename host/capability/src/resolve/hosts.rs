//! The hosts file.

use std::collections::HashMap;
use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};

/// How often it is looked whether the file has changed.
const LOOK_AGAIN: Duration = Duration::from_secs(5);

/// The names of a hosts file. A change of the file is noticed.
#[derive(Debug)]
pub(super) struct Hosts {
    path: PathBuf,
    known: Mutex<Known>,
}

#[derive(Debug, Default)]
struct Known {
    looked: Option<Instant>,
    changed: Option<SystemTime>,
    names: HashMap<String, Vec<IpAddr>>,
}

impl Hosts {
    pub(super) fn new(path: PathBuf) -> Self {
        Self { path, known: Mutex::default() }
    }

    /// The addresses of `name` (in lower case); None when the file does not have it.
    pub(super) fn get(&self, name: &str) -> Option<Vec<IpAddr>> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if known.looked.is_none_or(|looked| looked.elapsed() >= LOOK_AGAIN) {
            self.look(&mut known);
        }
        known.names.get(name).cloned()
    }

    /// A hosts file is small and in the page cache, so reading it here blocks nobody for long.
    fn look(&self, known: &mut Known) {
        known.looked = Some(Instant::now());
        let changed = std::fs::metadata(&self.path).and_then(|file| file.modified()).ok();
        if changed.is_some() && changed == known.changed {
            return;
        }
        known.changed = changed;
        // No file is an empty one, as for every other program.
        known.names = std::fs::read(&self.path)
            .map(|bytes| parse(&String::from_utf8_lossy(&bytes)))
            .unwrap_or_default();
    }
}

fn parse(text: &str) -> HashMap<String, Vec<IpAddr>> {
    let mut names: HashMap<String, Vec<IpAddr>> = HashMap::new();
    for line in text.lines() {
        let line = line.split('#').next().unwrap_or_default();
        let mut words = line.split_whitespace();
        let Some(address) = words.next().and_then(|word| word.parse().ok()) else { continue };
        for name in words {
            let addresses = names.entry(name.trim_end_matches('.').to_lowercase()).or_default();
            if !addresses.contains(&address) {
                addresses.push(address);
            }
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_names_and_skips_the_rest() {
        let names = parse(
            "127.0.0.1\tlocalhost box # comment gone\n\n# 10.0.0.9 gone\nnonsense gone\n\
             ::1 localhost\n10.0.0.1 DB.internal. db\n10.0.0.1 db\nfe80::1%eth0 scoped\n",
        );
        let of = |name: &str| names.get(name).cloned().unwrap_or_default();
        assert_eq!(
            of("localhost"),
            ["127.0.0.1".parse::<IpAddr>().unwrap(), "::1".parse().unwrap()]
        );
        assert_eq!(of("db.internal"), ["10.0.0.1".parse::<IpAddr>().unwrap()]);
        assert_eq!(of("db"), ["10.0.0.1".parse::<IpAddr>().unwrap()]);
        assert!(of("gone").is_empty());
        assert!(of("scoped").is_empty());
    }
}
