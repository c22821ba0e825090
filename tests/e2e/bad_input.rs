//! Configurations and requests that are wrong: each is told with its place and what to do, and
//! nothing else is disturbed.

use std::fs;
use std::net::SocketAddr;
use std::path::Path;

use probehost_test_support::raw::exchange;
use probehost_test_support::upstream::Upstream;
use serde_json::Value;

use crate::host::{BY_HAND, Config, Host, LIMIT, PluginDir, run, text};

const URL: &str = "url = \"http://127.0.0.1:9\"";

/// What `check-config` and `serve` say of a configuration that they refuse, each with exit code
/// 1. Both must say the same.
fn refused(config: &str) -> String {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("probehost.toml");
    fs::write(&file, config).unwrap();
    let path = file.to_str().unwrap();
    let checked = run(&["check-config", path]);
    assert_eq!((checked.code, checked.stdout.as_str()), (1, ""), "{config}\n{checked:?}");
    let served = run(&["serve", "--config", path]);
    assert_eq!((served.code, served.stdout.as_str()), (1, ""), "{config}\n{served:?}");
    assert_eq!(served.stderr, checked.stderr);
    assert!(!file.with_file_name("probehost.db").exists(), "refused before the store is made");
    checked.stderr
}

/// P10, S6: each slip in the file is told with line, key path and what to do, before anything
/// runs; several are told at once.
#[test]
fn slips_in_the_file() {
    let web = |settings: &str, config: &str| {
        Config::new().target("web", "http-head", settings, config).text()
    };
    let broken = format!("{}\n[server", Config::new().text());
    let several = web("timeout = -1\nfailure_threshold = 0\ninterval = \"5\"", URL);
    let unknown_key = Config::new().section("[probes]\nconcurency = 5").text();
    let nowhere = Config::new().listen("example.com").text();
    let twice = Config::new().head("web", "", "http://a").head("web", "", "http://a").text();
    let table: [(&str, &[&str]); 10] = [
        (&broken, &["not TOML"]),
        (&unknown_key, &["probes.concurency", "did you mean `concurrency`"]),
        (&web("interva = 5", URL), &["did you mean `interval`"]),
        (&several, &["checks[0].timeout", "above zero", "checks[0].failure_threshold", "3 errors"]),
        (&web("inconclusive_threshold = 0", URL), &["inconclusive_threshold", "above zero"]),
        (&web("role = \"leader\"", URL), &["role", "liveness"]),
        (&nowhere, &["server.listen", "127.0.0.1:9640"]),
        (&twice, &["web"]),
        // What the plugin's schema refuses.
        (
            &web("", &format!("{URL}, redirect = 1")),
            &["config.redirect", "did you mean `redirects`"],
        ),
        (&web("", "url = \"ftp://127.0.0.1\""), &["config.url", "^https?://"]),
    ];
    for (config, words) in table {
        let said = refused(config);
        assert!(said.contains("probehost.toml:"), "no place in {said}");
        for word in words {
            assert!(said.contains(word), "no {word:?} in {said}");
        }
    }
}

/// P2: what the plugin's plan refuses shows in `check-config` with its place, and a host that
/// runs with it fails that check with `config`, while no packet leaves.
#[tokio::test]
async fn what_the_plan_refuses() {
    let upstream = Upstream::status(200);
    let bad = format!("url = \"{}\", path = \"/a b\"", upstream.url());
    let config = Config::new().head("good", BY_HAND, &upstream.url()).target(
        "bad",
        "http-head",
        BY_HAND,
        &bad,
    );
    let (_dir, file) = config.file();
    let checked = run(&["check-config", file.to_str().unwrap()]);
    assert_eq!(checked.code, 1, "{checked:?}");
    let (said, line) = (&checked.stderr, line_of(&config.text(), "/a b"));
    assert!(said.contains(&format!("probehost.toml:{line}:")), "no line {line} in {said}");
    assert!(said.contains("config.path") && said.contains("http-head"), "{said}");

    let host = config.start();
    let probe = host.probe("bad").await;
    assert_eq!((&probe["reason"], &probe["to"]), (&"config".into(), &"unhealthy".into()));
    assert_eq!(upstream.connections(), 0);
    assert_eq!(host.probe("good").await["outcome"], "pass");
}

fn line_of(text: &str, part: &str) -> usize {
    text.lines().position(|line| line.contains(part)).unwrap() + 1
}

/// P9: a kind that is not installed keeps nothing from running; the check shows the problem, a
/// probe by hand is answered with 501, and nothing is written or audited.
#[tokio::test]
async fn a_kind_that_is_not_installed() {
    let upstream = Upstream::status(200);
    let config = Config::new().target("odd", "no-such-kind", "", "anything = { goes = [1] }").head(
        "web",
        "",
        &upstream.url(),
    );
    let (_dir, file) = config.file();
    let checked = run(&["check-config", file.to_str().unwrap()]);
    assert_eq!(checked.code, 0, "{checked:?}");
    assert!(checked.stdout.contains("no-such-kind is not installed"), "{checked:?}");

    let mut host = config.start();
    host.until("the good one is healthy", "web", |check| check["status"] == "healthy").await;
    let odd = host.check("odd").await;
    assert_eq!((&odd["status"], &odd["probing_enabled"]), (&"unknown".into(), &false.into()));
    assert!(text(&odd["problem"]).contains("no-such-kind"), "{odd}");
    let answer = host.ask("odd").await;
    assert_eq!(answer.status, 501, "{answer:?}");
    let error = &answer.json().unwrap()["error"];
    assert_eq!(error["code"], "not-implemented");
    assert!(text(&error["message"]).contains("no-such-kind.wasm"), "{error}");
    assert!(host.audit("target=odd&action=probe").await.is_empty());
    assert_eq!(host.check("odd").await["last_attempt_at"], Value::Null);
    assert!(host.output().contains("no-such-kind"));
}

/// The plugins of a host by the stem of their file, or by name.
async fn plugins(host: &Host) -> Vec<(String, String, String)> {
    let list = host.json("/api/v1/plugins").await;
    let shown = |plugin: &Value| {
        let name = match Path::new(text(&plugin["source"])).file_name() {
            Some(file) if plugin["source"] != "built-in" => file.to_string_lossy().into_owned(),
            _ => text(&plugin["name"]).to_owned(),
        };
        (name, text(&plugin["state"]).to_owned(), text(&plugin["error"]).to_owned())
    };
    list["plugins"].as_array().unwrap().iter().map(shown).collect()
}

/// G1, G5, G6, P9: files that are no plugins, each told on its own in the list and in the log,
/// beside a good one and the built-in ones that go on probing.
#[tokio::test]
async fn files_that_are_no_plugins() {
    use probehost_test_plugins::{CORE_MODULE, EMPTY_COMPONENT, component};
    let dir = PluginDir::new(&["echo"]);
    dir.put("text.wasm", b"#!/bin/sh\necho this is no plugin\n");
    dir.put("empty.wasm", b"");
    dir.put("core.wasm", CORE_MODULE);
    dir.put("bare.wasm", EMPTY_COMPONENT);
    let whole = component("echo");
    dir.put("cut.wasm", &whole[..whole.len() / 2]);
    dir.put("acme.wasm", component("needs_acme"));
    dir.put("later.wasm", component("needs_http_2"));
    // The header that wasmtime writes: ELF for its own operating system, flagged as a component.
    let mut compiled = [0; 64];
    compiled[..8].copy_from_slice(b"\x7fELF\x02\x01\x01\xc8");
    (compiled[16], compiled[18], compiled[20], compiled[48], compiled[52]) = (1, 0x3e, 1, 2, 64);
    dir.put("compiled.wasm", &compiled);
    dir.put("ignored.cwasm", &compiled);
    let sparse = fs::File::create(dir.path().join("large.wasm")).unwrap();
    sparse.set_len(200 << 20).unwrap();
    fs::create_dir(dir.path().join("folder.wasm")).unwrap();

    let upstream = Upstream::status(200);
    let mut host = Config::new()
        .plugins(dir.path())
        .target("echo", "echo", "", "outcome = \"pass\"")
        .target("cut", "cut", "", "")
        .head("web", "", &upstream.url())
        .start();
    for target in ["echo", "web"] {
        host.until("the good ones are healthy", target, |check| check["status"] == "healthy").await;
    }
    let table = [
        ("text.wasm", "not a Wasm component"),
        ("empty.wasm", "not a Wasm component"),
        ("core.wasm", "core Wasm module"),
        ("bare.wasm", "does not export probehost:plugin/"),
        ("cut.wasm", "damaged or incomplete"),
        ("acme.wasm", "acme:odd/thing"),
        ("later.wasm", "probehost:plugin/http"),
        ("compiled.wasm", "compiled code"),
        ("large.wasm", "209715200 bytes"),
        ("folder.wasm", "can't be read"),
    ];
    let plugins = plugins(&host).await;
    let output = host.output();
    for (file, why) in table {
        let found = plugins.iter().find(|(name, ..)| name == file);
        let Some((_, state, error)) = found else { panic!("no {file} in {plugins:?}") };
        assert_eq!(state, "failed", "{file}");
        assert!(error.contains(why), "{file}: no {why:?} in {error:?}");
        let line = output.lines().find(|line| line.contains("WARN") && line.contains(file));
        assert!(line.is_some_and(|line| line.contains("not loaded")), "{file}: {output}");
    }
    let ready = plugins.iter().filter(|(_, state, _)| state == "ready").map(|(name, ..)| name);
    let kinds = ["container-inspect", "echo.wasm", "http-head", "mcp-readiness", "ssh-handshake"];
    let mut found: Vec<_> = ready.collect();
    found.sort_unstable();
    assert_eq!(found, kinds);
    assert_eq!(plugins.len(), table.len() + 5, "{plugins:?}");
    // P9: a check of a kind whose file did not load says why.
    let cut = host.check("cut").await;
    assert!(text(&cut["problem"]).contains("damaged or incomplete"), "{cut}");
    assert_eq!(host.ask("cut").await.status, 501);
}

/// The status and the error code of a request, sent as it is.
fn raw(address: SocketAddr, head: &str, body: &[u8]) -> (u16, String) {
    let mut bytes = format!("{head}\r\nconnection: close\r\n\r\n").into_bytes();
    bytes.extend_from_slice(body);
    let answer = exchange(address, &bytes, LIMIT).unwrap();
    let answer = String::from_utf8(answer).unwrap();
    let status: u16 = answer.split(' ').nth(1).unwrap().parse().unwrap();
    let body = answer.split_once("\r\n\r\n").unwrap().1;
    let code = serde_json::from_str(body).map_or_else(
        |_| body.to_owned(),
        |body: Value| {
            assert!(status < 400 || !text(&body["error"]["message"]).is_empty(), "{body}");
            text(&body["error"]["code"]).to_owned()
        },
    );
    (status, code)
}

/// Every refusal of the API has one shape: a code for programs and a message for people.
#[tokio::test]
async fn requests_that_are_wrong() {
    let upstream = Upstream::status(200);
    let host = Config::new().head("web", BY_HAND, &upstream.url()).start();
    let address: SocketAddr = host.host.base_url().trim_start_matches("http://").parse().unwrap();
    let own = format!("host: {address}");
    let probe = "POST /api/v1/targets/web/checks/http-head/probe HTTP/1.1";
    let get = |path: &str| raw(address, &format!("GET {path} HTTP/1.1\r\n{own}"), b"");
    let post = |body: &[u8]| {
        let length = body.len();
        raw(address, &format!("{probe}\r\n{own}\r\ncontent-length: {length}"), body)
    };
    let code = |status: u16, code: &str| (status, code.to_owned());
    assert_eq!(get("/api/v1/targets/nope"), code(404, "no-such-target"));
    assert_eq!(get("/api/v1/nope"), code(404, "no-such-path"));
    assert_eq!(get("/nope"), code(404, "no-such-path"));
    for query in ["limit=0", "limit=1001", "limit=many", "before=x", "colour=red"] {
        assert_eq!(
            get(&format!("/api/v1/transitions?{query}")),
            code(400, "bad-request"),
            "{query}"
        );
        assert_eq!(get(&format!("/api/v1/audit?{query}")), code(400, "bad-request"), "{query}");
    }
    assert_eq!(get("/api/v1/audit?action=dance"), code(400, "bad-request"));
    assert_eq!(get("/api/v1/targets/%ff"), code(400, "bad-request"));
    let wrong_check = "POST /api/v1/targets/web/checks/nope/probe HTTP/1.1";
    assert_eq!(raw(address, &format!("{wrong_check}\r\n{own}"), b""), code(404, "no-such-check"));
    let wrong_target = "POST /api/v1/targets/nope/checks/x/probe HTTP/1.1";
    assert_eq!(raw(address, &format!("{wrong_target}\r\n{own}"), b""), code(404, "no-such-target"));
    for body in ["nonsense", "[]", "{\"timeout\": 0}", "{\"timeout\": -1}", "{\"colour\": 1}"] {
        assert_eq!(post(body.as_bytes()), code(400, "bad-request"), "{body}");
    }
    assert_eq!(post(&vec![b' '; 65 * 1024]), code(413, "too-large"));
    let method = |line: &str| raw(address, &format!("{line} HTTP/1.1\r\n{own}"), b"");
    assert_eq!(method("DELETE /api/v1/targets"), code(405, "method-not-allowed"));
    assert_eq!(
        method("GET /api/v1/targets/web/checks/http-head/probe"),
        code(405, "method-not-allowed")
    );
    // E4: under another name, or from another site's page.
    let foreign = code(403, "foreign-request");
    for line in ["GET /api/v1/targets HTTP/1.1", "GET /metrics HTTP/1.1", probe] {
        assert_eq!(raw(address, &format!("{line}\r\nhost: evil.example"), b""), foreign);
        assert_eq!(raw(address, &format!("{line}\r\nhost: 127.0.0.1.evil.example"), b""), foreign);
    }
    let origin = format!("{probe}\r\n{own}\r\norigin: http://evil.example");
    assert_eq!(raw(address, &origin, b""), foreign);
    assert_eq!(upstream.connections(), 0, "none of these has probed");
    assert_eq!(post(b"{\"timeout\": 5}").0, 200);
}

/// What `serve` says when it can't start; its exit code is 1.
fn start_error(config: &Config, prepare: impl Fn(&Path)) -> String {
    let (dir, file) = config.file();
    prepare(dir.path());
    let served = run(&["serve", "--config", file.to_str().unwrap()]);
    assert_eq!((served.code, served.stdout.as_str()), (1, ""), "{served:?}");
    served.stderr
}

/// A start that can't be says why and what to do: a port that is taken, a database that is none
/// (and is left as it is), one that can't be made, and a certificate file that is none.
#[test]
fn starts_that_cannot_be() {
    let upstream = Upstream::status(200);
    let taken = upstream.address().to_string();
    let said = start_error(&Config::new().listen(&taken), |_| {});
    assert!(said.contains(&taken) && said.contains("[server] listen"), "{said}");

    let content = "no database at all\n".repeat(1000);
    let said = start_error(&Config::new(), |dir| {
        fs::write(dir.join("probehost.db"), &content).unwrap();
    });
    assert!(said.contains("probehost.db") && said.contains("damaged"), "{said}");

    let store = |path: &str| Config::new().section(&format!("[store]\npath = \"{path}\""));
    let said = start_error(&store("no/such/folder/x.db"), |_| {});
    assert!(said.contains("x.db") && said.contains("folder"), "{said}");
    // Nobody can create a file there, whatever user the test runs as.
    let said = start_error(&store("/proc/x.db"), |_| {});
    assert!(said.contains("/proc/x.db") && said.contains("may write"), "{said}");

    let tls = Config::new().section("[tls]\nca_files = [\"ca.pem\"]");
    let said = start_error(&tls, |_| {});
    assert!(said.contains("ca.pem"), "{said}");
    let said = start_error(&tls, |dir| fs::write(dir.join("ca.pem"), "no PEM").unwrap());
    assert!(said.contains("ca.pem"), "{said}");

    let dir = tempfile::tempdir().unwrap();
    let missing = dir.path().join("probehost.toml");
    let served = run(&["serve", "--config", missing.to_str().unwrap()]);
    assert!(served.code == 1 && served.stderr.contains("probehost.toml"), "{served:?}");
}
