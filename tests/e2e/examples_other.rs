//! The example plugins in other languages than Rust: built as their authors do, and run against real servers.

use std::fs;
use std::path::Path;
use std::process::Command;

use probehost_test_support::dns::{Data, Zone};
use probehost_test_support::udp::UdpServer;
use probehost_test_support::upstream::{ClosedPort, Response, Script, Step, Upstream};
use probehost_test_support::wasm_c;
use serde_json::{Value, json};

use crate::host::text;
use crate::plugin_road::{project, ran, run, skip_without_npm, skip_without_python, with_caches};

const EXAMPLES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/plugins");

/// Copies an example over a folder.
fn lay_over(name: &str, dir: &Path) {
    fs::create_dir_all(dir).unwrap();
    let copied = ran(Command::new("cp").arg("-R").arg(format!("{EXAMPLES}/{name}/.")).arg(dir));
    assert_eq!(copied.code, 0, "{copied:?}");
}

/// Makes the example as its README says, runs its own tests, and gives the path of the component.
fn built(name: &str, language: &str, kept: &str, own_tests: &[&str]) -> String {
    let dir = project(name, language, Some(kept));
    lay_over(name, &dir);
    let built = run(&["plugin", "build", dir.to_str().unwrap()]);
    assert_eq!(built.code, 0, "{built:?}");
    let mut tests = Command::new(own_tests[0]);
    with_caches(tests.args(&own_tests[1..]).current_dir(&dir));
    let tests = ran(&mut tests);
    assert_eq!(tests.code, 0, "{tests:?}");
    // What it took is for the reader of the test's output.
    println!("{}", built.stdout.trim_end());
    dir.join(format!("dist/{name}.wasm")).to_str().unwrap().to_owned()
}

/// One run with this config: its exit code, and what it showed.
fn tried(file: &str, config: &Value) -> (i32, Value) {
    let config = config.to_string();
    let ran = run(&["plugin", "test", file, "--config", &config, "--timeout", "2", "--json"]);
    let shown: Value =
        serde_json::from_str(&ran.stdout).unwrap_or_else(|error| panic!("{error}: {ran:?}"));
    for used in ["load_seconds", "cpu_seconds", "memory_bytes"] {
        print!("{used} {}  ", shown[used]);
    }
    println!("compiled before {}", shown["compiled_before"]);
    (ran.code, shown)
}

/// It passes, and every call was granted by its config alone.
fn passes(file: &str, config: &Value) -> Value {
    let (code, shown) = tried(file, config);
    assert_eq!((code, &shown["outcome"]), (0, &json!("pass")), "{config}: {shown}");
    let calls = shown["calls"].as_array().unwrap();
    assert!(!calls.is_empty() && calls.iter().all(|call| call["granted"] == true), "{shown}");
    shown
}

/// It fails with this reason, and a message that has these words.
fn fails(file: &str, config: &Value, reason: &str, words: &str) {
    let (code, shown) = tried(file, config);
    assert_eq!((code, &shown["outcome"]), (2, &json!("fail")), "{config}: {shown}");
    assert_eq!(shown["reason"], reason, "{config}: {shown}");
    assert!(text(&shown["message"]).contains(words), "{config}: no {words:?} in {shown}");
}

/// It keeps to the contract, and what the kit says has this part.
fn keeps(file: &str, config: &Value, part: &str) {
    let checked = run(&["plugin", "check", file, "--config", &config.to_string()]);
    assert_eq!(checked.code, 0, "{checked:?}");
    assert!(checked.stdout.contains(part), "{checked:?}");
}

/// P1, P5, P9, G2: a value of a JSON answer, in TypeScript.
#[test]
fn json_assert() {
    if skip_without_npm() {
        return;
    }
    let file = built("json-assert", "ts", "node_modules", &["npm", "test", "--silent"]);
    let upstream = Upstream::http(|request| match request.path.as_str() {
        "/state" => Response::new(200).body(
            r#"{"data": {"items": [{"state": "bereit ✓", "left": 0.5, "on": true, "why": null}]}}"#,
        ),
        "/page" => Response::new(200).body("<html>s3cr3t</html>"),
        _ => Response::new(503).body("{}"),
    });
    let who = upstream.address();
    let config = |place: &str, path: &str, equals: Value| {
        let url = format!("{}{place}", upstream.url());
        json!({ "url": url, "path": path, "equals": equals })
    };
    for (key, value) in [
        ("state", json!("bereit ✓")),
        ("left", json!(0.5)),
        ("on", json!(true)),
        ("why", Value::Null),
    ] {
        passes(&file, &config("/state", &format!("data.items.0.{key}"), value));
    }
    assert_eq!(upstream.requests()[0].header("accept"), Some("application/json"));
    for (place, path, equals, words) in [
        ("/state", "data.items.0.state", json!("gone"), "has another text at data.items.0.state"),
        ("/state", "data.items.0.on", json!("true"), "has a boolean at data.items.0.on, expected"),
        ("/state", "data.items.7.on", json!(true), "answered without data.items.7"),
        ("/page", "data", json!(1), "answered with what is no JSON"),
        ("/gone", "data", json!(1), "answered 503, expected 2xx"),
    ] {
        fails(&file, &config(place, path, equals), "answer", &format!("{who} {words}"));
    }
    let url = |url: String| json!({ "url": url, "path": "a", "equals": 1 });
    fails(&file, &url(ClosedPort::reserve().url()), "network", "refused");
    fails(&file, &url(Upstream::script(Script::hang()).url()), "timeout", "");
    fails(&file, &url(Upstream::script(Script::reset()).url()), "network", "");
    fails(&file, &url(Upstream::script(Script::garbage()).url()), "answer", "");
    fails(&file, &json!({ "url": upstream.url(), "path": "a..b", "equals": 1 }), "config", "path");
    keeps(
        &file,
        &config("/state", "data", json!(1)),
        "a server that answers with garbage it fails",
    );
}

/// P1, P5, P9, G2: the records of a name, in Python.
#[test]
fn dns_answer() {
    if skip_without_python() {
        return;
    }
    let own_tests = ["python3", "-m", "unittest", "discover", "tests"];
    let file = built("dns-answer", "python", ".venv", &own_tests);
    let server = Zone::default()
        .with("two.example", 60, Data::A([192, 0, 2, 1].into()))
        .with("two.example", 60, Data::A([192, 0, 2, 2].into()))
        .with("two.example", 60, Data::Mx(10, "mail.example"))
        .with("alias.example", 60, Data::Cname("two.example"))
        .answering("broken.example", 2)
        .answering("odd.example", 11)
        .serve();
    let who = server.address();
    let config =
        |name: &str, kind: &str| json!({ "name": name, "type": kind, "server": who.to_string() });
    let expecting = |name: &str, kind: &str, expected: &[&str]| {
        let mut config = config(name, kind);
        config["expected"] = json!(expected);
        config
    };
    let shown = passes(&file, &config("two.example", "A"));
    assert!(shown["measurements"].to_string().contains("records"), "{shown}");
    passes(&file, &expecting("two.example", "A", &["192.0.2.2", "192.0.2.1"]));
    passes(&file, &expecting("alias.example", "A", &["192.0.2.1", "192.0.2.2"]));
    passes(&file, &expecting("two.example", "MX", &["10 Mail.example"]));
    // An answer that fits no datagram is fetched by TCP, which the config grants too.
    let large = Zone::default()
        .with("two.example", 60, Data::A([192, 0, 2, 1].into()))
        .truncating()
        .serve();
    passes(&file, &json!({ "name": "two.example", "server": large.address().to_string() }));
    assert_eq!(large.by_tcp(), 1);
    for (config, words) in [
        (expecting("two.example", "A", &["192.0.2.1"]), "has 1 that is not expected"),
        (
            expecting("two.example", "A", &["192.0.2.1", "192.0.2.2", "192.0.2.3"]),
            "lacks 192.0.2.3",
        ),
        (config("two.example", "AAAA"), "has no record for two.example AAAA"),
        (config("nowhere.example", "A"), "NXDOMAIN: there is no such name"),
        (config("broken.example", "A"), "SERVFAIL"),
        (config("odd.example", "A"), "response code 11"),
    ] {
        fails(&file, &config, "answer", words);
        fails(&file, &config, "answer", &who.to_string());
    }
    let asking = |server: String| json!({ "name": "two.example", "server": server });
    let silent = UdpServer::silent();
    fails(&file, &asking(silent.address().to_string()), "timeout", "two.example");
    let stopped = UdpServer::silent().address();
    fails(
        &file,
        &asking(stopped.to_string()),
        "network",
        &format!("listens at the name server {stopped}"),
    );
    fails(&file, &json!({ "name": "two.example", "server": "127.0.0.1" }), "config", "server");
    keeps(&file, &json!({ "name": "two.example" }), "plan refuses server as ");
    keeps(
        &file,
        &json!({ "name": "two.example", "server": "192.0.2.1:53" }),
        "against a server that answers no datagram it fails: timeout",
    );
}

/// P1, P5, P9, G2: a banner, in C.
#[test]
fn tcp_banner() {
    if wasm_c::skip() {
        return;
    }
    let dist = Path::new(env!("CARGO_TARGET_TMPDIR")).join("tcp-banner");
    let _ = fs::remove_dir_all(&dist);
    let mut make = Command::new("make");
    make.args(["--silent", "-C", &format!("{EXAMPLES}/tcp-banner"), "build", "test"]);
    make.arg(format!("DIST={}", dist.display())).arg(format!("WASM_CC={}", wasm_c::CLANG));
    make.arg(format!("WASM_TOOLS={}", wasm_c::wasm_tools().display()));
    let made = ran(make.env_remove("MAKEFLAGS"));
    // A warning of the compiler counts too.
    assert_eq!((made.code, made.stderr.as_str()), (0, ""), "{made:?}");
    let file = dist.join("tcp-banner.wasm");
    let file = file.to_str().unwrap();

    let at = |upstream: &Upstream| json!({ "host": "127.0.0.1", "port": upstream.port() });
    let begins = |text: &str| Upstream::script([Step::Send(text.into()), Step::Hang]);
    let smtp = begins("220 mail.example ESMTP\r\n");
    let shown = passes(file, &at(&smtp));
    assert!(shown["measurements"].to_string().contains("connect"), "{shown}");
    passes(
        file,
        &json!({ "host": "localhost", "port": smtp.port(), "banner": "220 mail.example" }),
    );
    // It waits for what comes in pieces.
    let pause = std::time::Duration::from_millis(20);
    passes(file, &at(&Upstream::script([Step::Drip("220".into(), pause), Step::Hang])));

    let busy = begins("421 try again later\r\n");
    fails(file, &at(&busy), "answer", &format!("{} begins with another banner", busy.address()));
    // What differs early is not waited for to the end.
    fails(file, &at(&begins("4")), "answer", "begins with another banner");
    fails(file, &at(&Upstream::script([Step::Send("22".into())])), "network", "before its banner");
    fails(file, &at(&begins("22")), "timeout", "127.0.0.1");
    let closed = ClosedPort::reserve();
    let config = json!({ "host": "127.0.0.1", "port": closed.address().port() });
    fails(file, &config, "network", "refused");
    fails(file, &json!({ "host": "", "port": 25 }), "config", "host");
    keeps(file, &at(&smtp), "a server that answers with garbage it fails: answer: ");
}
