//! Which files a component was made from, so that cargo builds it again when one changes.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use crate::BuildError;

/// The files and folders that the outer cargo has to watch.
pub(crate) struct Watched {
    workspace: PathBuf,
    paths: BTreeSet<PathBuf>,
}

impl Watched {
    /// Watches what every component depends on: the versions and profiles of the workspace,
    /// and the contract.
    pub(crate) fn new(workspace: &Path) -> Self {
        let paths = ["Cargo.toml", "Cargo.lock", "wit"].map(|name| workspace.join(name));
        Self { workspace: workspace.to_owned(), paths: paths.into() }
    }

    /// Adds the sources that cargo names in a dep-info file, and the manifests of their packages.
    pub(crate) fn add(&mut self, dep_info: &Path) -> Result<(), BuildError> {
        let text = fs::read_to_string(dep_info)
            .map_err(|source| BuildError::Read { file: dep_info.to_owned(), source })?;
        for source in sources(&text) {
            let path = self.workspace.join(source);
            let manifest = path
                .ancestors()
                .map(|folder| folder.join("Cargo.toml"))
                .find(|file| file.is_file());
            self.paths.extend(manifest);
            self.paths.insert(path);
        }
        Ok(())
    }

    /// Prints the lines that a build script owes cargo.
    pub(crate) fn tell_cargo(&self) {
        for path in &self.paths {
            println!("cargo::rerun-if-changed={}", path.display());
        }
    }
}

/// The sources in a dep-info file: `made: source source\ with\ spaces …`.
fn sources(dep_info: &str) -> Vec<String> {
    const SPACE: &str = "\u{0}";
    let of_line = |line: &str| {
        let escaped = line.replace("\\ ", SPACE);
        let sources = escaped.split_once(": ").map(|(_, sources)| sources.to_owned());
        sources.unwrap_or_default()
    };
    let lines: Vec<String> = dep_info.lines().map(of_line).collect();
    let words = lines.iter().flat_map(|line| line.split_whitespace());
    words.map(|word| word.replace(SPACE, " ")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sources_are_what_follows_the_colon() {
        let text = "/t/a.wasm: /w/src/lib.rs /w/my\\ src/b.rs\n\n/w/src/lib.rs:\n";
        assert_eq!(sources(text), ["/w/src/lib.rs", "/w/my src/b.rs"]);
        assert!(sources("").is_empty());
    }
}
