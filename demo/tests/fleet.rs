//! The real `demo-fleet` binary: each member behaves as its line in the table says.

#![allow(clippy::unwrap_used, reason = "helpers of tests fail the test")]

mod support;

use std::ffi::OsString;
use std::fs;
use std::io::ErrorKind;
use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

use probehost_test_support::process::Process;
use probehost_test_support::raw::{HEAD, exchange, exchange_tls};
use probehost_test_support::upstream::ClosedPort;
use tempfile::TempDir;

use crate::support::{LIMIT, NO_ENGINE, Running, demo_fleet};

/// A running fleet, where there is no container engine.
fn started(more: &[&str], ready: &str) -> Running {
    support::started(NO_ENGINE, more, ready).unwrap()
}

fn member(base_port: u16, place: u16) -> SocketAddr {
    SocketAddr::from(([127, 0, 0, 1], base_port + place))
}

/// The status that a member answers to this request.
fn status(address: SocketAddr, request: &[u8]) -> Option<u16> {
    let answer = exchange(address, request, LIMIT).ok()?;
    String::from_utf8_lossy(&answer).split(' ').nth(1)?.parse().ok()
}

#[test]
fn every_member_behaves_as_its_line_says() {
    let Running { mut process, base_port: base, folder } = started(&[], "ready");
    assert_eq!(status(member(base, 0), HEAD), Some(200));
    assert_eq!(status(member(base, 1), HEAD), Some(405));
    assert_eq!(status(member(base, 1), b"GET / HTTP/1.1\r\nconnection: close\r\n\r\n"), Some(200));
    assert_eq!(status(member(base, 2), HEAD), Some(404));
    assert_eq!(status(member(base, 3), HEAD), Some(503));
    assert_eq!(
        exchange(member(base, 4), HEAD, LIMIT).unwrap_err().kind(),
        ErrorKind::ConnectionRefused
    );
    let moment = Duration::from_millis(200);
    assert_eq!(exchange(member(base, 5), HEAD, moment).unwrap_err().kind(), ErrorKind::WouldBlock);
    assert_eq!(status(member(base, 8), HEAD), Some(302));

    let folder_path = folder.path();
    let ca = fs::read_to_string(folder_path.join("demo-ca.pem")).unwrap();
    let config = probehost_test_support::certs::trusting_pem(&ca).unwrap();
    let slow = exchange_tls(member(base, 6), "127.0.0.1", config.clone(), HEAD, LIMIT).unwrap();
    assert!(slow.starts_with(b"HTTP/1.1 200 "));
    let error =
        exchange_tls(member(base, 7), "127.0.0.1", config, HEAD, LIMIT).unwrap_err().to_string();
    assert!(error.contains("certificate expired"), "{error}");

    let written = fs::read_to_string(folder_path.join("probehost.toml")).unwrap();
    assert!(
        written
            .contains(&format!("ca_files = [\"{}\"]", folder_path.join("demo-ca.pem").display()))
    );
    assert!(written.contains(&format!("url = \"http://127.0.0.1:{base}\"")));
    assert!(process.stdout().contains(&format!("https://127.0.0.1:{}", base + 7)));

    process.terminate().unwrap();
    assert!(process.wait(LIMIT).unwrap().success(), "{}", process.output());
    assert_eq!(
        exchange(member(base, 0), HEAD, LIMIT).unwrap_err().kind(),
        ErrorKind::ConnectionRefused
    );
}

#[test]
fn an_interrupt_ends_it_cleanly() {
    let Running { mut process, folder: _folder, .. } = started(&[], "ready");
    process.interrupt().unwrap();
    assert!(process.wait(LIMIT).unwrap().success(), "{}", process.output());
}

#[test]
fn it_ends_with_its_command_and_hands_the_exit_code_on() {
    let command = ["--", "/bin/sh", "-c", "echo hosting; exit 7"];
    let Running { mut process, folder: _folder, .. } = started(&command, "hosting");
    assert_eq!(process.wait(LIMIT).unwrap().code(), Some(7));
}

#[test]
fn a_signal_ends_its_command_first() {
    let host = "trap 'echo host ends; exit 0' TERM; echo hosting; while :; do sleep 0.01; done";
    let command = ["--", "/bin/sh", "-c", host];
    let Running { mut process, folder: _folder, .. } = started(&command, "hosting");
    process.terminate().unwrap();
    assert!(process.wait(LIMIT).unwrap().success(), "{}", process.output());
    let ends = process.wait_for_line(LIMIT, |line| (line == "host ends").then_some(()));
    ends.unwrap();
}

#[test]
fn a_taken_port_is_named_with_what_to_do() {
    let dir = TempDir::new().unwrap();
    let taken = ClosedPort::reserve();
    let port = taken.address().port();
    let mut process = demo_fleet(dir.path(), port.min(65_526), NO_ENGINE, &[]).unwrap();
    assert_eq!(process.wait(LIMIT).unwrap().code(), Some(1));
    let all = process.wait_for_line(LIMIT, |line| line.contains("--base-port").then_some(()));
    all.unwrap();
    assert!(process.output().contains("could not listen on 127.0.0.1:"), "{}", process.output());
    assert!(
        !dir.path().join("probehost.toml").exists(),
        "a fleet that did not start leaves no configuration"
    );
}

#[test]
fn config_only_writes_the_configuration_and_starts_nothing() {
    let dir = TempDir::new().unwrap();
    let args =
        ["--config-only", "--dir"].map(OsString::from).into_iter().chain([dir.path().into()]);
    let mut process = Process::run(Path::new(env!("CARGO_BIN_EXE_demo-fleet")), args).unwrap();
    assert!(process.wait(LIMIT).unwrap().success());
    let file = dir.path().join("probehost.toml");
    assert!(fs::read_to_string(&file).unwrap().contains("http://127.0.0.1:9701"));
    probehost_config::Config::load(&file).expect("a configuration that the host accepts");
    assert!(!dir.path().join("demo-ca.pem").exists());
}
