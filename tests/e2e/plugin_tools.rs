//! What `probehost plugin` says when something is not as it should be, and of plugins that are bad.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use probehost_builtin::BUILTIN;
use probehost_test_plugins::{CORE_MODULE, EMPTY_COMPONENT, component};
use probehost_test_support::process::Process;
use probehost_test_support::upstream::Upstream;

use crate::host::LIMIT;
use crate::plugin_road::{command, ran, run};

/// A file of a folder, with these bytes; gives its path.
fn put(dir: &Path, name: &str, bytes: &[u8]) -> String {
    let path = dir.join(name);
    fs::write(&path, bytes).unwrap();
    path.to_str().unwrap().to_owned()
}

/// P10: what no project can be made of is said, with what to do, and nothing is written.
#[test]
fn projects_that_cannot_be() {
    let dir = tempfile::tempdir().unwrap();
    let there = dir.path().to_str().unwrap();
    let fresh = dir.path().join("fresh");
    let fresh = fresh.to_str().unwrap();
    for (args, code, words) in [
        (["A-Probe", "rust", fresh], 1, "lower-case letters, digits and single hyphens"),
        (["a_probe", "ts", fresh], 1, "can't be the name of a probe kind"),
        (["http-head", "python", fresh], 1, "is a built-in probe kind; choose another name"),
        (["match", "rust", fresh], 1, "can't be the name of a Rust crate; choose another"),
        (["a-probe", "ts", there], 1, "is there already; name another folder with --dir"),
        (["a-probe", "cobol", fresh], 64, "[possible values: rust, ts, python]"),
    ] {
        let [name, lang, dir] = args;
        let ran = run(&["plugin", "new", name, "--lang", lang, "--dir", dir]);
        assert_eq!((ran.code, ran.stdout.as_str()), (code, ""), "{args:?}: {ran:?}");
        assert!(ran.stderr.contains(words), "{args:?}: no {words:?} in {}", ran.stderr);
    }
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
}

/// What is no project, or lacks its tools, is told with what to install.
#[test]
fn builds_that_cannot_be() {
    let dir = tempfile::tempdir().unwrap();
    let tools = tempfile::tempdir().unwrap();
    let none = run(&["plugin", "build", dir.path().to_str().unwrap()]);
    assert_eq!(none.code, 1, "{none:?}");
    assert!(
        none.stderr.contains("is no plugin project") && none.stderr.contains("plugin new"),
        "{none:?}"
    );
    let build = |language: &str| {
        let project = dir.path().join(language);
        let project = project.to_str().unwrap();
        if !Path::new(project).exists() {
            assert_eq!(
                run(&["plugin", "new", "a-probe", "--lang", language, "--dir", project]).code,
                0
            );
        }
        let built = ran(command(&["plugin", "build", project]).env("PATH", tools.path()));
        assert_eq!((built.code, built.stdout.as_str()), (1, ""), "{built:?}");
        built.stderr
    };
    for (language, words) in [
        ("rust", "cargo is not installed; install Rust 1.95 or later from https://rustup.rs"),
        ("ts", "npm is not installed; install Node.js 20 or later"),
        ("python", "python3 is not installed; install Python 3.10 or later"),
    ] {
        let said = build(language);
        assert!(said.contains(words), "{language}: {said}");
    }
    // A toolchain without the target.
    for program in ["cargo", "rustc"] {
        let file = put(tools.path(), program, b"#!/bin/sh\necho /nowhere/lib\n");
        fs::set_permissions(file, fs::Permissions::from_mode(0o755)).unwrap();
    }
    let said = build("rust");
    assert!(said.contains("rustup target add wasm32-wasip2"), "{said}");
    // A tool that fails is named, after what it said.
    let npm = put(tools.path(), "npm", b"#!/bin/sh\necho no way to the registry >&2\nexit 7\n");
    fs::set_permissions(npm, fs::Permissions::from_mode(0o755)).unwrap();
    let said = build("ts");
    let (above, last) = said.split_once("no way to the registry\n").unwrap();
    assert!(above.contains("npm install"), "{said}");
    assert!(last.contains("npm install --no-audit --no-fund failed (exit status: 7)"), "{said}");
}

/// G5: what can't be loaded is told by what it is.
#[test]
fn files_that_are_no_plugins() {
    let dir = tempfile::tempdir().unwrap();
    for (name, bytes, words) in [
        ("core.wasm", CORE_MODULE, "it is a core Wasm module and not a component"),
        ("empty.wasm", EMPTY_COMPONENT, "it is a component but no plugin"),
        ("script.wasm", b"#!/bin/sh\n", "it is not a Wasm component but a script"),
        ("acme.wasm", component("needs_acme"), "which this host does not know"),
    ] {
        let file = put(dir.path(), name, bytes);
        for (command, code) in [("test", 64), ("inspect", 1), ("check", 1)] {
            let ran = run(&["plugin", command, &file]);
            assert_eq!((ran.code, ran.stdout.as_str()), (code, ""), "{name}: {ran:?}");
            assert!(ran.stderr.contains(&file) && ran.stderr.contains(words), "{name}: {ran:?}");
        }
    }
    let ran = run(&["plugin", "inspect", "/no/such/file.wasm"]);
    assert!(ran.code == 1 && ran.stderr.contains("it can't be read"), "{ran:?}");
    let file = put(dir.path(), "echo.wasm", component("echo"));
    for (config, words) in [("{", "it is no JSON"), ("[]", "but no object")] {
        let ran = run(&["plugin", "test", &file, "--config", config]);
        assert_eq!(ran.code, 64, "{ran:?}");
        assert!(ran.stderr.contains(words), "{ran:?}");
    }
}

/// G2: a call that is not granted is shown as such, with the line that would grant it; and that is
/// what `--allow` stands for.
#[test]
fn a_denied_call() {
    let dir = tempfile::tempdir().unwrap();
    let file = put(dir.path(), "plugin.wasm", component("undeclared_request"));
    let (planned, other) = (Upstream::status(200), Upstream::status(200));
    let config = format!(r#"{{"url": "{}", "other": "{}"}}"#, planned.url(), other.url());
    let denied = run(&["plugin", "test", &file, "--config", &config]);
    assert_eq!(denied.code, 2, "{denied:?}");
    let line = format!("allow = [\"{}\"] under [plugins.undeclared-request]", other.url());
    let call = denied.stdout.lines().find(|line| line.contains(", DENIED: http HEAD ")).unwrap();
    assert!(call.ends_with(&format!("is not granted; to grant it, add {line}")), "{call}");
    assert_eq!(other.connections(), 0);
    let json = run(&["plugin", "test", &file, "--config", &config, "--json"]);
    let printed: serde_json::Value = serde_json::from_str(&json.stdout).unwrap();
    assert_eq!(printed["calls"][0]["granted"], false, "{printed}");
    let allowed = run(&["plugin", "test", &file, "--config", &config, "--allow", &other.url()]);
    assert_eq!(allowed.code, 0, "{allowed:?}");
    assert!(allowed.stdout.contains(", granted: http HEAD "), "{allowed:?}");
}

/// The kit says of a bad plugin what is wrong and what to do, and ends with 1.
#[test]
fn plugins_that_do_not_keep_to_the_contract() {
    let dir = tempfile::tempdir().unwrap();
    let upstream = Upstream::status(200);
    let url = upstream.url();
    for (name, config, words) in [
        // It accepts every config.
        (
            "raw",
            r#"{"x": 1}"#.to_owned(),
            &[
                "plan accepts a config that is no object (\"[]\")",
                "the unknown key no-such-key-of-any-plugin is accepted",
                "additionalProperties: false",
                "it reaches no host",
            ][..],
        ),
        // It passes without having asked.
        (
            "slow_caller",
            format!(r#"{{"url": "{url}", "calls": 0}}"#),
            &[
                "against a port that nothing listens on it passes; only an answer that is well may pass: \
             fail with reason network",
                "against a server that accepts and says nothing it passes",
            ],
        ),
        // It sends its request elsewhere than it planned to.
        (
            "undeclared_request",
            format!(r#"{{"url": "{url}", "other": "http://other.example"}}"#),
            &["it fails with reason config: "],
        ),
    ] {
        let file = put(dir.path(), "plugin.wasm", component(name));
        let ran = run(&["plugin", "check", &file, "--config", &config]);
        assert_eq!((ran.code, ran.stderr.as_str()), (1, ""), "{name}: {ran:?}");
        for part in words {
            assert!(ran.stdout.contains(part), "{name}: no {part:?} in {}", ran.stdout);
        }
        assert!(ran.stdout.trim_end().ends_with("points are wrong"), "{name}: {ran:?}");
    }
    assert_eq!(upstream.connections(), 0);
    // Without a config it is said that no server was asked.
    let file = put(dir.path(), "plugin.wasm", component("http_get"));
    let ran = run(&["plugin", "check", &file]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(ran.stdout.contains("note   it was run against no server: give a config"), "{ran:?}");
}

/// P2, P4, P5: what the kit asks of others, the built-in plugins do.
#[test]
fn the_built_in_plugins_keep_to_the_contract() {
    let dir = tempfile::tempdir().unwrap();
    let key = "ssh-ed25519 SHA256:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU";
    for builtin in BUILTIN {
        let (config, runs) = match builtin.name {
            "http-head" => (r#"{"url": "https://a.example", "path": "x"}"#.to_owned(), 5),
            "mcp-readiness" => (r#"{"url": "http://a.example:81/mcp"}"#.to_owned(), 7),
            "ssh-handshake" => {
                let login = r#""port": 2222, "identity": "none""#;
                (format!(r#"{{"host": "a.example", "host_key": "{key}", {login}}}"#), 4)
            }
            // It reaches no host.
            _ => (r#"{"container": "a"}"#.to_owned(), 0),
        };
        let file = put(dir.path(), "plugin.wasm", builtin.bytes);
        let ran = run(&["plugin", "check", &file, "--config", &config]);
        assert_eq!((ran.code, ran.stderr.as_str()), (0, ""), "{}: {ran:?}", builtin.name);
        assert!(ran.stdout.contains("\npass: "), "{ran:?}");
        let against = ran.stdout.matches("\nok     against ").count();
        assert_eq!(against, runs, "{}: {}", builtin.name, ran.stdout);
        // P6: the reasons that these servers can show are all told apart.
        let reasons = match builtin.name {
            "http-head" => "config, timeout, tls, network; not met here: host-key, auth, answer,",
            "mcp-readiness" => {
                "config, timeout, auth, network, answer; not met here: host-key, tls,"
            }
            "ssh-handshake" => "config, timeout, network",
            _ => continue,
        };
        assert!(ran.stdout.contains(reasons), "{reasons}: {}", ran.stdout);
    }
}

/// `--watch` runs again when the file was replaced, and Ctrl-C ends it.
#[test]
fn watching() {
    let dir = tempfile::tempdir().unwrap();
    let file = put(dir.path(), "plugin.wasm", component("echo"));
    let mut watch = Process::start(&mut command(&["plugin", "test", &file, "--watch"])).unwrap();
    let line = |start: &'static str| move |line: &str| line.starts_with(start).then_some(());
    watch.wait_for_line(LIMIT, line("echo 0.1.0  echo:0")).unwrap();
    watch.wait_for_line(LIMIT, line("watching ")).unwrap();
    // Half of it first, as a slow copy would: it is told of, and the watch goes on.
    put(dir.path(), "plugin.wasm", &component("raw")[..1000]);
    watch
        .wait_for_line(LIMIT, |line| line.contains("damaged or incomplete").then_some(()))
        .unwrap();
    put(dir.path(), "plugin.wasm", component("raw"));
    watch.wait_for_line(LIMIT, line("raw 0.1.0  nothing:0")).unwrap();
    watch.interrupt().unwrap();
    let status = watch.wait(LIMIT).unwrap();
    assert_eq!(status.code(), Some(0), "{}", watch.output());
}
