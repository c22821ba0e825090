//! The command line: what it prints, and its exit codes.

use std::path::Path;
use std::process::Command;

use probehost_test_support::certs::Ca;
use probehost_test_support::upstream::{ClosedPort, Upstream};
use serde_json::Value;

use crate::host::{BINARY, BY_HAND, Config, PluginDir, Ran, run, text};

/// Times and ports differ from run to run: `0.4 ms` becomes `# ms`, and a port `PORT`.
fn steady(printed: &str, port: u16) -> String {
    let mut steady = String::new();
    for line in printed.replace(&format!(":{port}"), ":PORT").lines() {
        let words: Vec<&str> = line.split(' ').collect();
        let mut shown = Vec::new();
        for (place, word) in words.iter().enumerate() {
            let is_time = words.get(place + 1).is_some_and(|unit| unit.starts_with("ms"));
            shown.push(if is_time { "#" } else { word });
        }
        steady.push_str(shown.join(" ").trim_end());
        steady.push('\n');
    }
    steady
}

fn head(url: &str, more: &[&str]) -> Ran {
    run(&[&["probe", "http-head", &format!("url={url}")], more].concat())
}

/// H2: a pass is told with its phases and its calls, and exits with 0.
#[test]
fn a_probe_that_passes() {
    let upstream = Upstream::status(204);
    let ran = head(&upstream.url(), &["path=/health"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""));
    let expected = "\
http-head 0.1.0  127.0.0.1:PORT
PASS
  status             204
  connect            # ms
  first_byte         # ms
  total              # ms
  took               # ms
calls
  at # ms, # ms: http HEAD http://127.0.0.1:PORT/health: ok
";
    assert_eq!(steady(&ran.stdout, upstream.port()), expected);
}

/// H3: a failure is told with its reason and message, and exits with 2.
#[test]
fn a_probe_that_fails() {
    let closed = ClosedPort::reserve();
    let ran = head(&closed.url(), &[]);
    assert_eq!((ran.code, ran.stderr.as_str()), (2, ""));
    let expected = "\
http-head 0.1.0  127.0.0.1:PORT
FAIL network: 127.0.0.1:PORT refused the connection
  status             0
  connect            # ms
  total              # ms
  took               # ms
calls
  at # ms, # ms: http HEAD http://127.0.0.1:PORT/: 127.0.0.1:PORT refused the connection
";
    assert_eq!(steady(&ran.stdout, closed.address().port()), expected);
}

/// P5: an inconclusive probe says so, with the log, and exits with 3; so does a plugin's fault.
#[test]
fn a_probe_that_is_inconclusive() {
    let plugins = PluginDir::new(&["echo", "panic_in_check"]);
    let folder = plugins.path().to_str().unwrap();
    let echo = ["outcome=inconclusive", "message=no idea", "lines=2", "measurements=1"];
    let ran = run(&[&["probe", "--plugins", folder, "echo"], &echo[..]].concat());
    assert_eq!((ran.code, ran.stderr.as_str()), (3, ""));
    let expected = "\
echo 0.1.0  echo:PORT
INCONCLUSIVE: no idea
  echo_0             0
  took               # ms
log
  info  line 0
  info  line 1
";
    assert_eq!(steady(&ran.stdout, 0), expected);
    let ran = run(&["probe", "--plugins", folder, "panic-in-check", "number=7"]);
    assert_eq!(ran.code, 3, "{ran:?}");
    assert!(ran.stdout.contains("panic-in-check 0.1.0"), "{ran:?}");
    assert!(ran.stdout.contains("the probe lost its way at 7"), "{ran:?}");
}

/// `--json` prints one object with the same content, whatever the outcome.
#[test]
fn a_probe_as_json() {
    let upstream = Upstream::status(503);
    let ran = head(&upstream.url(), &["--json"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (2, ""));
    let printed: Value = serde_json::from_str(&ran.stdout).unwrap();
    let shown = [&printed["plugin"], &printed["outcome"], &printed["reason"]];
    assert_eq!(shown, ["http-head 0.1.0", "fail", "answer"]);
    assert_eq!(text(&printed["subject"]), upstream.address().to_string());
    assert!(text(&printed["message"]).contains("503"), "{printed}");
    assert_eq!(
        printed["measurements"][0],
        serde_json::json!({
            "name": "status", "unit": "number", "value": 503.0,
        })
    );
    assert_eq!(printed["calls"][0]["result"], "ok");
    assert!(printed["took_seconds"].as_f64() > Some(0.0));
    assert_eq!(printed["log"], serde_json::json!([]));
}

/// P9, P10: what can't be asked exits with 64, which no probe does, and says what to do.
#[test]
fn what_cannot_be_asked() {
    let table: [(&[&str], &str); 8] = [
        (&["probe", "no-such-kind"], "no-such-kind is not installed"),
        (&["probe", "http-head", "url"], "key=value"),
        (&["probe"], "KIND"),
        (&["probe", "http-head", "--timeout", "0", "url=http://a"], "more than 0"),
        (&["probe", "http-head", "--timeout", "-1", "url=http://a"], "-1"),
        (&["prob"], "probe"),
        (&["serve", "--confg", "x"], "--config"),
        (&[], "Usage"),
    ];
    for (args, word) in table {
        let ran = run(args);
        assert_eq!((ran.code, ran.stdout.as_str()), (64, ""), "{args:?}: {ran:?}");
        assert!(ran.stderr.contains(word), "{args:?}: no {word:?} in {}", ran.stderr);
    }
}

/// P2: a config that the plugin refuses is a `config` failure before any packet.
#[test]
fn a_probe_with_a_wrong_config() {
    let upstream = Upstream::status(200);
    let ran = head(&upstream.url(), &["path=a b"]);
    assert_eq!(ran.code, 2, "{ran:?}");
    assert!(ran.stdout.contains("FAIL config: "), "{ran:?}");
    assert_eq!(upstream.connections(), 0);
}

/// `status` shows each check with its status and why, and its exit code is that of the worst.
#[tokio::test]
async fn status() {
    let up = Upstream::status(200);
    let down = Upstream::status(503);
    let config = Config::new().head("a-up", BY_HAND, &up.url()).head(
        "b-down",
        &format!("{BY_HAND}\nfailure_threshold = 1"),
        &down.url(),
    );
    let host = config.start();
    let ask = || run(&["status", "--url", host.host.base_url()]);
    host.probe("a-up").await;
    let ran = ask();
    assert_eq!(ran.code, 3, "{ran:?}");
    assert!(ran.stdout.ends_with("\n1 healthy, 0 unhealthy, 1 unknown\n"), "{}", ran.stdout);
    host.probe("b-down").await;
    let ran = ask();
    assert_eq!((ran.code, ran.stderr.as_str()), (2, ""));
    let rows: Vec<Vec<&str>> =
        ran.stdout.lines().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(rows[0], ["TARGET", "CHECK", "STATUS", "AGE", "SUBJECT", "WHY"]);
    assert_eq!(rows[1][..3], ["a-up", "http-head", "healthy"]);
    assert_eq!(rows[1].last().unwrap(), &up.address().to_string());
    assert_eq!(rows[2][..3], ["b-down", "http-head", "unhealthy"]);
    let why = format!("answer ×1: {} answered 503", down.address());
    assert!(ran.stdout.lines().nth(2).unwrap().contains(&why), "{}", ran.stdout);

    let json = run(&["status", "--json", "--url", host.host.base_url()]);
    assert_eq!(json.code, 2, "{json:?}");
    let printed: Value = serde_json::from_str(&json.stdout).unwrap();
    assert_eq!(printed["targets"][1]["checks"][0]["status"], "unhealthy");
    let healthy = Config::new().head("a-up", BY_HAND, &up.url()).start();
    healthy.probe("a-up").await;
    let ran = run(&["status", "--url", healthy.host.base_url()]);
    assert_eq!(ran.code, 0, "{ran:?}");
}

/// `status` without a host, or of something else, says so and exits with 3.
#[test]
fn status_without_a_host() {
    let closed = ClosedPort::reserve();
    let ran = run(&["status", "--url", &closed.url()]);
    assert_eq!((ran.code, ran.stdout.as_str()), (3, ""));
    assert!(ran.stderr.contains(&closed.url()), "{ran:?}");
    assert!(ran.stderr.contains("refused") && ran.stderr.contains("probehost serve"), "{ran:?}");
    let other = Upstream::status(404);
    let ran = run(&["status", "--url", &other.url()]);
    assert_eq!((ran.code, ran.stdout.as_str()), (3, ""));
    assert!(ran.stderr.contains("404"), "{ran:?}");
}

/// `check-config` shows what each check is about and will reach.
#[test]
fn check_config() {
    let config = Config::new()
        .head("shop", "", "https://shop.example:8443")
        .head("slow", "interval = 1", "http://slow.example")
        .head("off", BY_HAND, "http://off.example");
    let (_dir, file) = config.file();
    let path = file.to_str().unwrap();
    let ran = run(&["check-config", path]);
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""), "{ran:?}");
    let lines: Vec<String> = ran
        .stdout
        .replace(path, "FILE")
        .lines()
        .map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "))
        .collect();
    assert_eq!(
        lines[..4],
        [
            "TARGET CHECK KIND INTERVAL SUBJECT REACHES",
            "shop http-head http-head 30 s shop.example:8443 https://shop.example:8443",
            "slow http-head http-head 5 s slow.example:80 http://slow.example:80",
            "off http-head http-head off off.example:80 http://off.example:80",
        ]
    );
    // S6: each clamp is told once.
    assert!(lines[4].contains("under the minimum of http-head: 5 s is taken"), "{lines:?}");
    assert_eq!(lines[5..], ["", "FILE is fine: 3 targets, 3 checks"]);
}

/// The demo's configuration passes as it is written. The demo is built with the workspace; alone,
/// by `cargo build -p probehost-demo`.
#[test]
fn check_config_of_the_demo() {
    let demo = Path::new(BINARY).with_file_name("demo-fleet");
    if !demo.exists() {
        let text =
            "cli::check_config_of_the_demo: cargo build -p probehost-demo builds what it needs";
        assert!(std::env::var_os("CI").is_none(), "{text}");
        eprintln!("SKIPPED {text}");
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let wrote = Command::new(demo).arg("--config-only").arg("--dir").arg(dir.path()).output();
    assert!(wrote.unwrap().status.success());
    // A running fleet writes its own.
    std::fs::write(dir.path().join("demo-ca.pem"), Ca::new().unwrap().pem()).unwrap();
    let ran = run(&["check-config", dir.path().join("probehost.toml").to_str().unwrap()]);
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""));
    assert!(ran.stdout.ends_with("is fine: 10 targets, 10 checks\n"), "{}", ran.stdout);
    assert!(!ran.stdout.contains("note:"), "{}", ran.stdout);
}

/// `--help` names every command, and each has a help of its own.
#[test]
fn help() {
    let ran = run(&["--help"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""));
    for command in ["serve", "check-config", "probe", "status"] {
        let listed = ran.stdout.lines().any(|line| line.trim_start().starts_with(command));
        assert!(listed, "{command}: {}", ran.stdout);
        let own = run(&[command, "--help"]);
        assert!(own.code == 0 && own.stdout.contains("Usage: "), "{own:?}");
    }
    let version = run(&["--version"]);
    assert_eq!(version.stdout, concat!("probehost ", env!("CARGO_PKG_VERSION"), "\n"));
}

/// G2: `grants` says what each check may reach and why, and the line that would grant the rest.
#[test]
fn grants_are_explained() {
    let plugins = PluginDir::new(&["undeclared_endpoint"]);
    let config = Config::new()
        .plugins(plugins.path())
        .section("[plugins.http-head]\nallow = [\"https://*.example.com\"]")
        .head("shop", BY_HAND, "http://shop.test:8080")
        .head("web", BY_HAND, "https://web.test")
        .target("odd", "undeclared-endpoint", BY_HAND, "url = \"http://odd.test\"");
    let (_dir, file) = config.file();
    let file = file.to_str().unwrap();
    let all = run(&["grants", "--config", file]);
    assert_eq!(all.code, 1, "{}{}", all.stdout, all.stderr);
    assert!(all.stdout.contains("  REFUSED  undeclared-endpoint wants "), "{}", all.stdout);
    assert!(all.stdout.contains("to grant it, add allow = ["), "{}", all.stdout);
    assert!(all.stdout.contains("shop/http-head  http-head\n"), "{}", all.stdout);
    assert!(
        all.stdout.contains("  http://shop.test:8080  its own config names it\n"),
        "{}",
        all.stdout
    );
    assert!(all.stdout.contains("whatever fits https://*.example.com"), "{}", all.stdout);
    assert!(all.stdout.contains("allow of [plugins.http-head]"), "{}", all.stdout);
    let one = run(&["grants", "--config", file, "web"]);
    assert_eq!(one.code, 0, "{}{}", one.stdout, one.stderr);
    assert!(one.stdout.contains("https://web.test:443") && !one.stdout.contains("shop"));
    let none = run(&["grants", "--config", file, "nobody"]);
    assert_eq!(none.code, 1);
    assert!(none.stderr.contains("its targets are shop, web, odd"), "{}", none.stderr);
}
