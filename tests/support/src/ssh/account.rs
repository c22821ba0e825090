//! An account that only one sshd knows of.

use std::ffi::OsString;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::{fs, io};

/// An account of a password, for [`Sshd::start_with`](super::Sshd::start_with).
#[derive(Debug, Clone, Copy)]
pub struct Account {
    /// Who logs in.
    pub user: &'static str,
    /// The password, hashed as in `/etc/shadow`.
    pub hash: &'static str,
}

impl Account {
    /// The files that say of it.
    pub(super) fn write(self, folder: &Path) -> io::Result<()> {
        let Self { user, hash } = self;
        let mut known = fs::read_to_string("/etc/passwd")?;
        known.push_str(&format!("{user}:x:64123:64123::/:/bin/false\n"));
        fs::write(folder.join("passwd"), known)?;
        fs::write(folder.join("shadow"), format!("{user}:{hash}:19000:0:99999:7:::\n"))
    }

    /// The command that runs `program` where these files stand for those of the machine, which
    /// stay as they are. sshd asks the system for accounts, and can't be given any.
    pub(super) fn seen_by(self, program: &Path, folder: &Path) -> (PathBuf, Vec<OsString>) {
        const MOUNT: &str = "mount --bind \"$0/passwd\" /etc/passwd && \
                             mount --bind \"$0/shadow\" /etc/shadow && exec \"$@\"";
        let words = ["--mount".into(), "sh".into(), "-c".into(), MOUNT.into()];
        let more = [folder.as_os_str().to_owned(), program.as_os_str().to_owned()];
        (PathBuf::from("unshare"), words.into_iter().chain(more).collect())
    }
}

/// Says whether the calling test has to be skipped because only root may give sshd an account.
#[allow(clippy::print_stderr, reason = "the line is for the reader of the test's output")]
pub fn skip_unless_root() -> bool {
    let own = fs::metadata("/proc/self").map(|own| own.uid()).unwrap_or(1);
    if own != 0 {
        eprintln!("SKIPPED: only root may give sshd an account of its own; run this test as root");
    }
    own != 0
}
