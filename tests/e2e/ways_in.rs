//! Ways in for people: a first config file, the table that keeps up, the manual, completions.

use std::fs;
use std::process::{Command, Stdio};

use probehost_test_support::process::Process;
use probehost_test_support::upstream::{StatusSwitch, Upstream};

use crate::host::{BINARY, Config, LIMIT, run};

/// From nothing to a host that watches: the file that `init` writes is right as it is, is never
/// written over, and its targets are those that were asked for.
#[test]
fn a_first_config_file() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("probehost.toml");
    let path = file.to_str().unwrap();
    let upstream = Upstream::status(200);
    let made = run(&["init", path, "--url", &upstream.url()]);
    assert_eq!((made.code, made.stderr.as_str()), (0, ""), "{made:?}");
    assert!(made.stdout.contains(&format!("probehost serve --config {path}")), "{made:?}");
    let checked = run(&["check-config", path]);
    assert_eq!(checked.code, 0, "{checked:?}");
    assert!(checked.stdout.contains("1 targets, 1 checks"), "{checked:?}");
    let text = fs::read_to_string(&file).unwrap();
    let again = run(&["init", path]);
    assert!(again.code == 1 && again.stderr.contains("is left alone"), "{again:?}");
    assert_eq!(fs::read_to_string(&file).unwrap(), text);
    let bad = run(&["init", path, "--url", "https://me:hunter2@shop.example.com"]);
    assert!(bad.code == 64 && bad.stderr.contains("without a user"), "{bad:?}");
}

/// E1: the table follows what happens, says so while the host is away, and goes on when it is back.
#[tokio::test(flavor = "multi_thread")]
async fn a_table_that_keeps_up() {
    let status = StatusSwitch::new(200);
    let upstream = Upstream::switched(&status);
    let settings = "interval = 0\nfailure_threshold = 1";
    let mut host = Config::new().head("web", settings, &upstream.url()).start();
    host.probe("web").await;
    let url = host.host.base_url().to_owned();
    let mut command = Command::new(BINARY);
    command.args(["status", "--watch", "--url", &url]).stdin(Stdio::null());
    let mut watch = Process::start(&mut command).unwrap();
    let has = |text: &'static str| move |line: &str| line.contains(text).then_some(());
    watch.wait_for_line(LIMIT, has("1 healthy, 0 unhealthy")).unwrap();
    status.set(503);
    host.probe("web").await;
    watch.wait_for_line(LIMIT, has("0 healthy, 1 unhealthy")).unwrap();
    host.stop();
    watch.wait_for_line(LIMIT, has("Not known for ")).unwrap();
    watch.interrupt().unwrap();
    let ended = watch.wait(LIMIT).unwrap();
    assert_eq!(ended.code(), Some(0), "{}", watch.output());
}

/// The manual has a page for each command, and completions know them.
#[test]
fn the_manual_and_completions() {
    let dir = tempfile::tempdir().unwrap();
    let made = run(&["man", "--directory", dir.path().to_str().unwrap()]);
    assert_eq!(made.code, 0, "{made:?}");
    for page in
        ["probehost.1", "probehost-serve.1", "probehost-plugin-new.1", "probehost-token-new.1"]
    {
        let text = fs::read_to_string(dir.path().join(page)).unwrap();
        assert!(text.contains(".SH NAME") && text.contains("probehost"), "{page}: {text}");
    }
    for shell in ["bash", "zsh", "fish"] {
        let made = run(&["completions", shell]);
        assert_eq!(made.code, 0, "{made:?}");
        for command in ["check-config", "notify", "audit"] {
            assert!(made.stdout.contains(command), "{shell}: no {command}");
        }
    }
    assert_eq!(run(&["completions", "tcsh"]).code, 64);
}
