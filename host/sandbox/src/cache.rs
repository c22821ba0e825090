//! The directory that keeps compiled code between starts (contract G6).

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use wasmtime::{Cache, CacheConfig};

/// Why the directory for compiled code was refused. Compiled code is run without a further look,
/// so whoever can write there could run anything as the host.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CacheError {
    /// It could not be made or looked at.
    #[error("cache directory {}: {source}; give a path the host can write to, or none", path.display())]
    Io {
        /// The directory.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A file, or a symbolic link, which another could point elsewhere.
    #[error("cache directory {}: it is not a directory of its own (a file, or a link); remove it, or name another", .0.display())]
    NotADirectory(PathBuf),
    /// It belongs to another user.
    #[error("cache directory {}: it belongs to user {owner}, and the host runs as user {host}; chown it, or name another", path.display())]
    Owner {
        /// The directory.
        path: PathBuf,
        /// Whom it belongs to.
        owner: u32,
        /// Whom the host runs as.
        host: u32,
    },
    /// Others than its owner can write to it.
    #[error("cache directory: others can write to {} (mode {mode:04o}); run: chmod go-w {}", path.display(), path.display())]
    Writable {
        /// The directory, or one above it.
        path: PathBuf,
        /// Its permission bits.
        mode: u32,
    },
    /// The cache itself refused its settings.
    #[error("cache directory {}: {text}", path.display())]
    Settings {
        /// The directory.
        path: PathBuf,
        /// What it said.
        text: String,
    },
}

/// Opens the cache in `path`, after making sure that only the host writes there.
pub(crate) fn open(path: &Path) -> Result<Cache, CacheError> {
    let io = |source| CacheError::Io { path: path.to_owned(), source };
    let path = std::path::absolute(path).map_err(io)?;
    let io = |source| CacheError::Io { path: path.clone(), source };
    DirBuilder::new().recursive(true).mode(0o700).create(&path).map_err(io)?;
    let found = fs::symlink_metadata(&path).map_err(io)?;
    if !found.is_dir() {
        return Err(CacheError::NotADirectory(path));
    }
    let host = rustix::process::geteuid().as_raw();
    if found.uid() != host {
        return Err(CacheError::Owner { path, owner: found.uid(), host });
    }
    let mode = found.mode() & 0o7777;
    if mode & 0o022 != 0 {
        return Err(CacheError::Writable { path, mode });
    }
    // Whoever can write to a folder above could put another directory in its place; where the
    // sticky bit is set, as in /tmp, only their own.
    for above in path.ancestors().skip(1) {
        let mode = fs::metadata(above).map_err(io)?.mode() & 0o7777;
        if mode & 0o1002 == 0o002 {
            return Err(CacheError::Writable { path: above.to_owned(), mode });
        }
    }
    // Closed to others altogether, since the folders within are made by the umask alone.
    fs::set_permissions(&path, fs::Permissions::from_mode(0o700)).map_err(io)?;
    let mut config = CacheConfig::new();
    config.with_directory(&path);
    Cache::new(config).map_err(|error| CacheError::Settings { path, text: format!("{error:#}") })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// G6: made for the host alone.
    #[test]
    fn it_is_made_for_the_host_alone() {
        let base = tempfile::tempdir().unwrap();
        let path = base.path().join("a/b");
        open(&path).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o700);
        open(&path).unwrap();
    }

    /// G6: a directory that others can write to is refused, and the text says how to mend it.
    #[test]
    fn one_that_others_write_to_is_refused() {
        let base = tempfile::tempdir().unwrap();
        for mode in [0o720, 0o702, 0o777, 0o1777] {
            fs::set_permissions(base.path(), fs::Permissions::from_mode(mode)).unwrap();
            let error = open(base.path()).err().unwrap();
            assert!(matches!(error, CacheError::Writable { .. }), "{error}");
            assert!(error.to_string().contains("chmod go-w"), "{error}");
        }
        fs::set_permissions(base.path(), fs::Permissions::from_mode(0o755)).unwrap();
        open(base.path()).unwrap();
        assert_eq!(fs::metadata(base.path()).unwrap().mode() & 0o777, 0o700);
    }

    /// G6: nor one that others could replace.
    #[test]
    fn one_that_others_could_replace_is_refused() {
        let base = tempfile::tempdir().unwrap();
        let path = base.path().join("compiled");
        fs::set_permissions(base.path(), fs::Permissions::from_mode(0o777)).unwrap();
        let error = open(&path).err().unwrap();
        assert!(
            matches!(&error, CacheError::Writable { path, .. } if path == base.path()),
            "{error}"
        );
        fs::set_permissions(base.path(), fs::Permissions::from_mode(0o1777)).unwrap();
        open(&path).unwrap();
    }

    /// G6: neither a file nor a link that could be pointed elsewhere.
    #[test]
    fn files_and_links_are_refused() {
        let base = tempfile::tempdir().unwrap();
        let file = base.path().join("file");
        fs::write(&file, "").unwrap();
        assert!(open(&file).is_err());
        let link = base.path().join("link");
        std::os::unix::fs::symlink(base.path(), &link).unwrap();
        assert!(matches!(open(&link), Err(CacheError::NotADirectory(_))));
    }

    /// G6: another user's directory is refused. The root directory of a test run as root is its own.
    #[test]
    fn another_users_is_refused() {
        let host = rustix::process::geteuid().as_raw();
        let base = tempfile::tempdir().unwrap();
        if host == 0 {
            std::os::unix::fs::chown(base.path(), Some(65534), None).unwrap();
            assert!(matches!(open(base.path()), Err(CacheError::Owner { owner: 65534, .. })));
        } else {
            assert!(matches!(open(Path::new("/usr")), Err(CacheError::Owner { owner: 0, .. })));
        }
    }
}
