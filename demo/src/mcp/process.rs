//! The server as a process in the background, found again by the id that it left in a folder.

use std::ffi::OsStr;
use std::fs::{self, OpenOptions};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use std::{env, io, process, thread};

use rustix::process::{Pid, Signal, kill_process};

/// How long a server may take to listen, and to end after it was asked to.
const PATIENCE: Duration = Duration::from_secs(5);

/// How long to rest between two looks.
const PAUSE: Duration = Duration::from_millis(10);

/// Why a server was not started or ended.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ProcessError {
    /// A file of the folder could not be read or written.
    #[error("could not use {}: {source}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The program could not be started again.
    #[error("could not start another demo-mcp: {0}")]
    Start(io::Error),
    /// It ended, or did not listen in time.
    #[error("the new server {what}; see {}", log.display())]
    Silent {
        /// What it did.
        what: String,
        /// Where it says why.
        log: PathBuf,
    },
    /// It could not be signalled, or it does not end.
    #[error("could not end the server with process id {id}: {source}")]
    Stop {
        /// Its process id.
        id: i32,
        /// What the system said.
        source: io::Error,
    },
}

/// Leaves the id of this process in the folder.
pub(crate) fn note(dir: &Path) -> Result<(), ProcessError> {
    let file = pid_file(dir);
    let fresh = dir.join("mcp.pid.new");
    // Renamed, so that nobody reads half of it.
    fs::write(&fresh, format!("{}\n", process::id()))
        .and_then(|()| fs::rename(&fresh, &file))
        .map_err(|source| ProcessError::File { path: file, source })
}

/// Starts a server that outlives this process, and waits until it listens. Gives its process id.
pub(crate) fn start(port: u16, dir: &Path) -> Result<u32, ProcessError> {
    let dir = fs::canonicalize(dir)
        .map_err(|source| ProcessError::File { path: dir.to_owned(), source })?;
    let log = dir.join("mcp.log");
    let output = OpenOptions::new().create(true).append(true).open(&log);
    let output = output.map_err(|source| ProcessError::File { path: log.clone(), source })?;
    let program = env::current_exe().map_err(ProcessError::Start)?;
    let mut child = Command::new(program)
        .args(["serve", "--port", &port.to_string(), "--dir"])
        .arg(&dir)
        .stdin(Stdio::null())
        .stdout(output.try_clone().map_err(ProcessError::Start)?)
        .stderr(output)
        // Its own group: neither Ctrl-C nor the end of who restarts it is meant for it.
        .process_group(0)
        .spawn()
        .map_err(ProcessError::Start)?;
    let begun = Instant::now();
    loop {
        // The server leaves its id when it listens.
        if noted(&dir).is_some_and(|id| id.as_raw_nonzero().get().cast_unsigned() == child.id()) {
            return Ok(child.id());
        }
        if let Some(status) = child.try_wait().map_err(ProcessError::Start)? {
            return Err(ProcessError::Silent { what: format!("ended ({status})"), log });
        }
        if begun.elapsed() > PATIENCE {
            let _dead_or_dying = child.kill();
            return Err(ProcessError::Silent { what: "does not listen".to_owned(), log });
        }
        thread::sleep(PAUSE);
    }
}

/// Ends the server whose id is in the folder, if it runs, and forgets the id.
pub(crate) fn stop(dir: &Path) -> Result<(), ProcessError> {
    let Some(id) = noted(dir) else { return Ok(()) };
    // An absolute path, as `start` gave it.
    let dir = fs::canonicalize(dir).unwrap_or_else(|_| dir.to_owned());
    let failed = |source| ProcessError::Stop { id: id.as_raw_nonzero().get(), source };
    for signal in [Signal::TERM, Signal::KILL] {
        if ended(id, &dir, Duration::ZERO) {
            break;
        }
        match kill_process(id, signal) {
            Ok(()) | Err(rustix::io::Errno::SRCH) => {}
            Err(errno) => return Err(failed(errno.into())),
        }
        if ended(id, &dir, PATIENCE) {
            break;
        }
    }
    if !ended(id, &dir, Duration::ZERO) {
        return Err(failed(io::ErrorKind::TimedOut.into()));
    }
    match fs::remove_file(pid_file(&dir)) {
        Err(source) if source.kind() != io::ErrorKind::NotFound => {
            Err(ProcessError::File { path: pid_file(&dir), source })
        }
        _ => Ok(()),
    }
}

/// Waits until no server of this folder has this id.
fn ended(id: Pid, dir: &Path, limit: Duration) -> bool {
    let begun = Instant::now();
    loop {
        let line = fs::read(format!("/proc/{}/cmdline", id.as_raw_nonzero()));
        // One that is dead and not yet waited for has an empty line.
        if !line.is_ok_and(|line| is_server_of(&line, dir)) {
            return true;
        }
        if begun.elapsed() >= limit {
            return false;
        }
        thread::sleep(PAUSE);
    }
}

/// Whether a command line is that of the server of this folder, and not of whoever has its id by now.
fn is_server_of(line: &[u8], dir: &Path) -> bool {
    let mut words = line.split(|byte| *byte == 0);
    let program = words.next().map(|word| Path::new(OsStr::from_bytes(word)));
    program.and_then(Path::file_name).is_some_and(|name| name == "demo-mcp")
        && words.next() == Some(b"serve")
        && words.any(|word| word == dir.as_os_str().as_bytes())
}

/// The id in the folder.
fn noted(dir: &Path) -> Option<Pid> {
    let id: i32 = fs::read_to_string(pid_file(dir)).ok()?.trim().parse().ok()?;
    // A negative one would stand for a whole group.
    Pid::from_raw(id).filter(|_| id > 1)
}

fn pid_file(dir: &Path) -> PathBuf {
    dir.join("mcp.pid")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_process_with_its_id_is_not_the_server() {
        let rows: [(&[u8], bool); 5] = [
            (b"/x/demo-mcp\0serve\0--port\x009710\0--dir\0/srv/demo\0", true),
            (b"/x/demo-mcp\0serve\0--port\x009710\0--dir\0/srv/other\0", false),
            (b"/x/demo-mcp\0restart\0--dir\0/srv/demo\0", false),
            (b"/usr/bin/vim\0serve\0/srv/demo\0", false),
            (b"", false),
        ];
        for (line, is) in rows {
            assert_eq!(is_server_of(line, Path::new("/srv/demo")), is, "{line:?}");
        }
    }
}
