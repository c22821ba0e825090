//! The hosts file.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};

use super::watched::Watched;

/// The names of a hosts file. A change of the file is noticed.
#[derive(Debug)]
pub(super) struct Hosts {
    file: Watched,
    names: Mutex<HashMap<String, Vec<IpAddr>>>,
}

impl Hosts {
    pub(super) fn new(file: Watched) -> Self {
        Self { file, names: Mutex::default() }
    }

    /// The addresses of `name` (in lower case); None when the file does not have it.
    pub(super) fn get(&self, name: &str) -> Option<Vec<IpAddr>> {
        let mut names = self.names.lock().unwrap_or_else(PoisonError::into_inner);
        if self.file.has_changed() {
            // A hosts file is small and in the page cache, so reading it here blocks nobody for
            // long. No file is an empty one, as for every other program.
            *names = std::fs::read(self.file.path())
                .map(|bytes| parse(&String::from_utf8_lossy(&bytes)))
                .unwrap_or_default();
        }
        names.get(name).cloned()
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
