//! Guarded processes: output, signals, and no child left behind.

use std::ffi::OsString;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::time::Duration;

use probehost_test_support::process::{Process, ProcessError};

const LIMIT: Duration = Duration::from_secs(10);

/// Runs a line of shell.
fn shell(line: &str) -> Result<Process, ProcessError> {
    Process::run(Path::new("/bin/sh"), ["-c", line].map(OsString::from))
}

/// A number that a line of the form `name=number` holds.
fn number(name: &str) -> impl Fn(&str) -> Option<u32> {
    move |line| line.strip_prefix(name)?.strip_prefix('=')?.parse().ok()
}

#[test]
fn output_is_captured_and_waited_for() {
    let mut process = shell("echo a; sleep 0.05; echo n=7 >&2; echo b; exit 3").unwrap();
    assert_eq!(process.wait_for_line(LIMIT, number("n")).unwrap(), 7);
    assert_eq!(process.wait(LIMIT).unwrap().code(), Some(3));
    // The end may be seen before the last line; a second wait for a line that never comes sees them all.
    let error = process.wait_for_line(LIMIT, number("never")).unwrap_err();
    assert!(
        matches!(&error, ProcessError::Ended { status, .. } if status == "exit status: 3"),
        "{error}"
    );
    assert_eq!(process.stdout(), "a\nb\n");
    assert!(process.output().contains("n=7\n"));
}

#[test]
fn silence_is_an_error_that_shows_the_output() {
    let mut process = shell("echo only this; exec sleep 60").unwrap();
    let only = process.wait_for_line(LIMIT, |line| (line == "only this").then_some(()));
    only.unwrap();
    let error =
        process.wait_for_line(Duration::from_millis(50), number("n")).unwrap_err().to_string();
    assert!(error.contains("within 50ms") && error.contains("only this"), "{error}");
    let error = process.wait(Duration::from_millis(20)).unwrap_err();
    assert!(matches!(error, ProcessError::Running { .. }), "{error}");
}

#[test]
fn signals_arrive() {
    let mut process =
        shell("trap 'echo asked; exit 0' TERM; echo n=1; while :; do sleep 0.01; done").unwrap();
    process.wait_for_line(LIMIT, number("n")).unwrap();
    process.terminate().unwrap();
    assert!(process.wait(LIMIT).unwrap().success());
    process.terminate().expect("a signal to one that has ended does nothing");

    let mut process = shell("exec sleep 60").unwrap();
    assert_eq!(process.kill().unwrap().signal(), Some(9));
}

#[test]
fn a_dropped_guard_leaves_no_child() {
    let process = shell("exec sleep 60").unwrap();
    let id = process.id();
    assert!(Path::new(&format!("/proc/{id}")).exists());
    drop(process);
    assert!(!Path::new(&format!("/proc/{id}")).exists(), "dead and reaped");
}

#[test]
fn a_missing_program_is_named() {
    let error = Process::run(Path::new("/no/such/program"), []).unwrap_err().to_string();
    assert!(error.starts_with("could not start /no/such/program: "), "{error}");
}
