//! The way of an author: a project in each language, made, built, tried, looked at and checked.
//!
//! What the tools of a language install and compile is kept in one folder under `target/`, so that
//! the second run takes seconds.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use probehost_test_support::installed::skip_unless_installed;
use probehost_test_support::probehost::Launch;
use probehost_test_support::upstream::Upstream;
use probehost_test_support::wait::eventually;
use serde_json::Value;

use crate::host::{BINARY, Host, LIMIT, Ran, text};

const FOLDER: &str = concat!(env!("CARGO_TARGET_TMPDIR"), "/plugin-road");

/// The binary, with what it and cargo compile kept for all tests together.
pub(crate) fn command(args: &[&str]) -> Command {
    let mut command = Command::new(BINARY);
    command.args(args);
    with_caches(&mut command);
    command
}

pub(crate) fn with_caches(command: &mut Command) {
    command.stdin(Stdio::null()).env("XDG_CACHE_HOME", format!("{FOLDER}/cache"));
    // Cargo waits where another test builds.
    command.env("CARGO_TARGET_DIR", format!("{FOLDER}/cargo"));
}

pub(crate) fn run(args: &[&str]) -> Ran {
    ran(&mut command(args))
}

pub(crate) fn ran(command: &mut Command) -> Ran {
    let output = command.output().unwrap();
    Ran {
        code: output.status.code().unwrap(),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

/// A new project in a folder of its own, with what its tools have installed there in an earlier run.
pub(crate) fn project(name: &str, language: &str, kept: Option<&str>) -> PathBuf {
    let folder = Path::new(FOLDER).join(format!("{language}-{name}"));
    let dir = folder.join(name);
    let place = kept.map(|kept| (dir.join(kept), folder.join(kept.trim_start_matches('.'))));
    fs::create_dir_all(&folder).unwrap();
    if let Some((inside, keep)) = &place
        && inside.exists()
    {
        // An interrupted run left both: either is good.
        let _ = fs::remove_dir_all(keep);
        fs::rename(inside, keep).unwrap();
    }
    let _ = fs::remove_dir_all(&dir);
    let path = dir.to_str().unwrap();
    let made = run(&["plugin", "new", name, "--lang", language, "--dir", path]);
    assert_eq!((made.code, made.stderr.as_str()), (0, ""), "{made:?}");
    assert!(made.stdout.contains(&format!("probehost plugin build {path}")), "{made:?}");
    if let Some((inside, keep)) = place
        && keep.exists()
    {
        fs::rename(keep, inside).unwrap();
    }
    dir
}

/// From nothing to a plugin that keeps to the contract.
fn road(language: &str, kept: Option<&str>, own_tests: &[&str]) -> PathBuf {
    let dir = project("a-probe", language, kept);
    let built = run(&["plugin", "build", dir.to_str().unwrap()]);
    assert_eq!(built.code, 0, "{built:?}");
    let file = dir.join("dist/a-probe.wasm");
    let file = file.to_str().unwrap();
    let line: Vec<&str> = built.stdout.trim_end().split("  ").collect();
    assert!(line[0] == file && line[1].ends_with("iB") && line[2].ends_with('s'), "{built:?}");

    tried(file);
    inspected(file);
    checked(file);

    let mut tests = Command::new(own_tests[0]);
    tests.args(&own_tests[1..]).current_dir(&dir);
    with_caches(&mut tests);
    let tests = ran(&mut tests);
    assert_eq!(tests.code, 0, "{tests:?}");
    dir
}

/// P1, G2: one run, with the grants of its config, told with all that it did.
fn tried(file: &str) {
    let upstream = Upstream::status(200);
    let config = format!(r#"{{"url": "{}/health"}}"#, upstream.url());
    let passed = run(&["plugin", "test", file, "--config", &config]);
    assert_eq!(passed.code, 0, "{passed:?}");
    let first: Vec<&str> = passed.stdout.lines().take(2).collect();
    assert_eq!(first, [format!("a-probe 0.1.0  {}", upstream.address()).as_str(), "PASS"]);
    for part in [
        "  status             200\n",
        "MiB of 64.0 MiB\n",
        "  CPU                ",
        "  load               ",
        &format!(" ms, granted: http GET {}/health: ok\n", upstream.url()),
        "  info  answered 200",
    ] {
        assert!(passed.stdout.contains(part), "{part:?} in {}", passed.stdout);
    }
    let other = format!(r#"{{"url": "{}", "status": 404}}"#, upstream.url());
    let failed = run(&["plugin", "test", file, "--config", &other, "--json"]);
    assert_eq!(failed.code, 2, "{failed:?}");
    let printed: Value = serde_json::from_str(&failed.stdout).unwrap();
    assert_eq!([&printed["outcome"], &printed["reason"]], ["fail", "answer"]);
    let expected = format!("{} answered 200, expected 404", upstream.address());
    assert_eq!(text(&printed["message"]), expected);
    assert_eq!(printed["calls"][0]["granted"], true);
    assert_eq!(printed["compiled_before"], true);
    assert!(printed["memory_bytes"].as_u64() > Some(0), "{printed}");
    assert!(printed["cpu_seconds"].as_f64() > Some(0.0), "{printed}");
    // What the schema refuses is a failure of the config, as for a check.
    let refused = run(&["plugin", "test", file, "--config", r#"{"status": 200, "stats": 1}"#]);
    assert_eq!(refused.code, 2, "{refused:?}");
    assert!(
        refused.stdout.contains("FAIL config: ") && refused.stdout.contains("stats"),
        "{refused:?}"
    );
}

/// G5, P10: what it is, what it wants, what its checks are configured with.
fn inspected(file: &str) {
    let shown = run(&["plugin", "inspect", file]);
    assert_eq!((shown.code, shown.stderr.as_str()), (0, ""), "{shown:?}");
    let lines: Vec<String> = shown
        .stdout
        .lines()
        .map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "))
        .collect();
    assert_eq!(lines[0], "a-probe 0.1.0 Whether a URL answers with the status that is expected.");
    for part in [
        "contract 1.0.0, and this host has 1.0.0",
        "interval 30 s, from 5 s to 86400 s",
        "timeout 10.00 s",
        "threshold 2 failures in a row",
        "KEY TYPE REQUIRED DEFAULT DESCRIPTION",
        "url string, uri yes The URL to read, http or https.",
    ] {
        assert!(lines.iter().any(|line| line == part), "{part} in {}", shown.stdout);
    }
    let starts = |start: &str| lines.iter().find(|line| line.starts_with(start)).unwrap();
    assert!(starts("capabilities").contains("http"), "{}", shown.stdout);
    assert!(starts("status integer").contains("100 to 599 no 200"), "{}", shown.stdout);
    assert!(starts("load").ends_with(", compiled before"), "{}", shown.stdout);
}

/// P2, P4, P5: the sample keeps to the contract, and the kit reaches its own servers alone.
fn checked(file: &str) {
    let upstream = Upstream::status(200);
    let config = format!(r#"{{"url": "{}/health"}}"#, upstream.url());
    let checked = run(&["plugin", "check", file, "--config", &config]);
    assert_eq!(checked.code, 0, "{checked:?}");
    assert!(!checked.stdout.contains("WRONG"), "{checked:?}");
    for part in [
        "plan refuses an empty config",
        "plan of the given config is the same twice",
        "against a port that nothing listens on it fails: network: ",
        "against a server that accepts and says nothing it fails: timeout: ",
        "against a server that closes at once it fails: network: ",
        "against a server that answers with garbage it fails: ",
        "against a server that answers 500 and {} it fails: answer: ",
        "note   it failed with these reasons: config, timeout, network, answer; not met here: ",
        "\npass: a-probe 0.1.0 keeps to the contract in all 21 points\n",
    ] {
        assert!(checked.stdout.contains(part), "{part:?} in {}", checked.stdout);
    }
    assert_eq!(upstream.connections(), 0);
}

#[test]
fn rust() {
    // In release, so that the two builds share what they can.
    road("rust", None, &["cargo", "test", "--release", "--quiet"]);
}

pub(crate) fn skip_without_npm() -> bool {
    skip_unless_installed("npm", "apt-get install -y --no-install-recommends npm")
}

pub(crate) fn skip_without_python() -> bool {
    let venv = Command::new("python3").args(["-c", "import ensurepip, venv"]).output();
    let venv = venv.is_ok_and(|output| output.status.success());
    let wanted = if venv { "python3" } else { "python3 with venv" };
    skip_unless_installed(wanted, "apt-get install -y --no-install-recommends python3-venv")
}

#[test]
fn typescript() {
    if skip_without_npm() {
        return;
    }
    let dir = road("ts", Some("node_modules"), &["npm", "test", "--silent"]);
    // What the project gives to QuickJS does what Node has.
    let prelude = fs::read_to_string(dir.join("vendor/probehost/prelude.ts")).unwrap();
    let import = "import { write, type Level } from \"probehost:plugin/log@1.0.0\";";
    let stub = "type Level = string; const write = (_level: Level, _text: string) => {};";
    assert!(prelude.contains(import));
    fs::write(dir.join("dist/prelude.ts"), prelude.replace(import, stub)).unwrap();
    fs::write(dir.join("dist/compare.ts"), include_str!("prelude.ts")).unwrap();
    let script = "node_modules/.bin/esbuild dist/compare.ts --bundle --format=esm --platform=node \
                  --outfile=dist/compare.mjs --log-level=warning && node dist/compare.mjs";
    let compared = ran(Command::new("sh").args(["-c", script]).current_dir(&dir));
    assert_eq!((compared.code, compared.stdout.as_str()), (0, ""), "{compared:?}");
}

#[test]
fn python() {
    if skip_without_python() {
        return;
    }
    road("python", Some(".venv"), &["python3", "-m", "unittest", "discover", "tests"]);
}

/// The text between these two headings of a page.
fn section<'t>(page: &'t str, from: &str, to: &str) -> &'t str {
    let (_, rest) = page.split_once(from).unwrap();
    rest.split_once(to).unwrap().0
}

/// The blocks of a page in this language.
fn blocks<'t>(page: &'t str, language: &str) -> Vec<&'t str> {
    let start = format!("```{language}\n");
    page.split(start.as_str()).skip(1).map(|block| block.split_once("\n```").unwrap().0).collect()
}

/// What docs/plugins.md tells a reader to type in the first five minutes does what it says: from
/// nothing to a host that runs the probe.
#[tokio::test]
async fn the_five_minutes_of_the_page() {
    let page = include_str!("../../docs/plugins.md");
    let five = section(page, "## Five minutes\n", "\n## ");
    let upstream = Upstream::status(200);
    let here = |text: &str| text.replace("https://example.com", &upstream.url());
    let folder = Path::new(FOLDER).join("page");
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    let config = format!("[server]\nlisten = \"127.0.0.1:0\"\n{}", here(blocks(five, "toml")[0]));
    let lines = blocks(five, "console").join("\n");
    let lines: Vec<&str> = lines.lines().map(|line| line.strip_prefix("$ ").unwrap()).collect();
    let serve = lines.iter().position(|line| *line == "probehost serve").unwrap();
    assert_eq!((serve, lines.len()), (9, 10), "{lines:?}");
    // The reader writes the file before the first command that reads it.
    let script = here(&lines[..serve].join("\n")).replace(
        "probehost check-config",
        "printf %s \"$CONFIG\" >probehost.toml; probehost check-config",
    );
    let bin = Path::new(BINARY).parent().unwrap().display().to_string();
    let path = format!("{bin}:{}", std::env::var("PATH").unwrap());
    let mut shell = Command::new("sh");
    with_caches(shell.args(["-ec", &script]).current_dir(&folder));
    shell.env("PATH", path).env("CONFIG", config);
    let typed = ran(&mut shell);
    assert_eq!(typed.code, 0, "{typed:?}");
    for part in ["\nPASS\n", "\npass: page-status 0.1.0 ", "KEY     TYPE", "1 targets, 1 checks"] {
        assert!(typed.stdout.contains(part), "{part:?} in {}", typed.stdout);
    }
    let file = folder.join("page-status/probehost.toml");
    let launch = Launch::new(BINARY, "").args(["serve", "--config", file.to_str().unwrap()]);
    let host = Host::start(launch);
    let status = async || run(&["status", "--url", host.host.base_url()]);
    let seen = eventually("the first probe", LIMIT, status, |status| status.code == 0).await;
    let row: Vec<&str> = seen.stdout.lines().nth(1).unwrap().split_whitespace().take(3).collect();
    assert_eq!(row, ["example", "page-status", "healthy"], "{seen:?}");
}
