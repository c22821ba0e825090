//! Skipping, in the open, a test whose real server is not installed.

use std::path::{Path, PathBuf};
use std::{env, thread};

/// Folders of servers that an ordinary user's `PATH` leaves out.
const SERVER_FOLDERS: [&str; 2] = ["/usr/sbin", "/usr/local/sbin"];

/// What installs all servers, for the line about a skipped test.
pub(crate) const SCRIPT: &str = "scripts/test-servers.sh";

/// Where that puts those that no package has, unless this variable names another folder.
const FOLDER: &str = "PROBEHOST_TEST_SERVERS";

/// The folder of those that no package has.
pub(crate) fn folder() -> PathBuf {
    let cache = || match env::var_os("XDG_CACHE_HOME") {
        Some(cache) => PathBuf::from(cache),
        None => Path::new(&env::var_os("HOME").unwrap_or_default()).join(".cache"),
    };
    env::var_os(FOLDER).map_or_else(|| cache().join("probehost-test-servers"), PathBuf::from)
}

/// Finds a program on the `PATH` or in the folders for servers.
pub fn find(program: &str) -> Option<PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    env::split_paths(&path)
        .chain(SERVER_FOLDERS.iter().map(PathBuf::from))
        .map(|folder| folder.join(program))
        .find(|file| file.is_file())
}

/// Says whether the calling test has to be skipped because `program` is not installed.
///
/// Prints a line that names the test, the program and the command that installs it. With `CI=true` in the environment
/// it panics instead: there, everything has to be installed.
///
/// ```no_run
/// # use probehost_test_support::installed::skip_unless_installed;
/// if skip_unless_installed("nginx", "apt-get install -y --no-install-recommends nginx-light") {
///     return;
/// }
/// ```
pub fn skip_unless_installed(program: &str, install: &str) -> bool {
    skip_unless_found(find(program).as_deref(), program, install)
}

/// The same for a program that was looked for elsewhere.
#[allow(clippy::panic, reason = "a test that may not be skipped fails")]
#[allow(clippy::print_stderr, reason = "the line is for the reader of the test's output")]
pub(crate) fn skip_unless_found(found: Option<&Path>, program: &str, install: &str) -> bool {
    let Some(text) = missing(program, install, found) else { return false };
    if env::var("CI").is_ok_and(|value| value == "true") {
        panic!("{text} (CI=true: skipping is not allowed)");
    }
    eprintln!("SKIPPED {text}");
    true
}

/// The text about a missing program; the test's name is its thread's.
fn missing(program: &str, install: &str, found: Option<&Path>) -> Option<String> {
    if found.is_some() {
        return None;
    }
    let thread = thread::current();
    let test = thread.name().unwrap_or("(unnamed test)");
    Some(format!("{test}: {program} is not installed; install it with {install}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_what_is_there_and_nothing_else() {
        assert!(find("sh").is_some_and(|file| file.ends_with("sh")));
        assert_eq!(find("no-such-program-anywhere"), None);
    }

    #[test]
    fn the_line_names_test_program_and_command() {
        let line = missing("frobd", "apt-get install frobd", None);
        let expected = "installed::tests::the_line_names_test_program_and_command: frobd is not installed; \
                        install it with apt-get install frobd";
        assert_eq!(line.as_deref(), Some(expected));
        assert_eq!(missing("sh", "-", Some(Path::new("/bin/sh"))), None);
    }
}
