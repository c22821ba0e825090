//! A small file of the system that is read anew when it has changed.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};

/// How often it is looked whether a file has changed.
const LOOK_AGAIN: Duration = Duration::from_secs(5);

/// A file, and how it was at the last look.
#[derive(Debug)]
pub(super) struct Watched {
    path: PathBuf,
    look_again: Duration,
    last: Mutex<Last>,
}

#[derive(Debug, Default)]
struct Last {
    looked: Option<Instant>,
    changed: Option<SystemTime>,
}

impl Watched {
    pub(super) fn new(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into(), look_again: LOOK_AGAIN, last: Mutex::default() }
    }

    /// As [`Watched::new`], and each question is a look.
    #[cfg(test)]
    pub(super) fn closely(path: &Path) -> Self {
        Self { look_again: Duration::ZERO, ..Self::new(path) }
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Whether the file has to be read: for the first time, or because it is another one than
    /// at the last look. Says so once. No file at all is a state like any other.
    pub(super) fn has_changed(&self) -> bool {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let first = last.looked.is_none();
        if last.looked.is_some_and(|looked| looked.elapsed() < self.look_again) {
            return false;
        }
        last.looked = Some(Instant::now());
        let changed = std::fs::metadata(&self.path).and_then(|file| file.modified()).ok();
        let differs = changed != last.changed;
        last.changed = changed;
        first || differs
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_is_told_once() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("hosts");
        let watched = Watched::closely(&path);
        assert!(watched.has_changed(), "it was never read");
        assert!(!watched.has_changed());
        std::fs::write(&path, "").unwrap();
        assert!(watched.has_changed(), "it is there now");
        assert!(!watched.has_changed());
        std::fs::remove_file(&path).unwrap();
        assert!(watched.has_changed(), "it is gone");
    }
}
