//! Managed targets, through the real binary: a real dockerd's containers, and commands.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use probehost_test_support::docker::{self, Docker};
use probehost_test_support::http::Answer;
use probehost_test_support::upstream::{Response, StatusSwitch, Upstream};
use probehost_test_support::wait::eventually;
use serde_json::{Value, json};

use crate::host::{Config, Host, LIMIT, code, text};

/// A container that is managed and looked at every second.
fn container(config: Config, name: &str, lifecycle: &str) -> Config {
    let lines = format!("runtime = {{ container = \"{name}\" }}\nlifecycle = {{ {lifecycle} }}");
    let config_text = format!("container = \"{name}\"");
    config.target_with(name, &lines, "container-inspect", "interval = 1", &config_text)
}

fn engine(docker: &Docker) -> Config {
    let engine = format!("unix://{}", docker.socket().display());
    Config::new().section(&format!("[containers]\nengine = \"{engine}\""))
}

async fn instance(host: &Host, id: &str) -> Value {
    host.json(&format!("/api/v1/health/instances/{id}")).await
}

async fn until_state(host: &Host, id: &str, state: &str) -> Value {
    let what = format!("{id} is {state}");
    eventually(&what, LIMIT, || instance(host, id), |seen| seen["state"] == state).await
}

async fn ask(host: &Host, id: &str, what: &str, body: &Value) -> Answer {
    host.api.post(&format!("/api/v1/health/instances/{id}/{what}"), body).await.unwrap()
}

/// `from>to` of each change of the lifecycle state, oldest first.
fn states(report: &Value) -> Vec<String> {
    let rows = report["history"].as_array().unwrap().iter().rev();
    rows.map(|row| format!("{}>{}", text(&row["from"]), text(&row["to"]))).collect()
}

/// L2, L9, A1, E1: a container that is killed goes `running → offline → restarting → running` by
/// itself: in the history, in the audit, and on the event stream; and routers are told.
#[tokio::test(flavor = "multi_thread")]
async fn a_killed_container_heals_by_itself() {
    if docker::skip() {
        return;
    }
    let docker = Docker::start().unwrap();
    docker.container("shop", &["sleep", "100000"], json!({})).unwrap();
    let host = container(engine(&docker), "shop", "base = 0.2").start();
    let look = || instance(&host, "shop");
    let report = eventually("it can take work", LIMIT, look, |seen| seen["poolable"] == true).await;
    assert_eq!((&report["state"], &report["restarts"]), (&"running".into(), &0.into()));
    assert_eq!(report["runtime"], json!({ "container": "shop" }));
    assert_eq!(
        (&report["lifecycle"]["base"], &report["lifecycle"]["cap"]),
        (&0.2.into(), &300.0.into())
    );

    let mut events = host.events("?target=shop", None).await;
    docker.post("/containers/shop/kill", None).unwrap();
    let mut told = Vec::new();
    while told.last().is_none_or(|last| last != "pool true") {
        let event = events.next(LIMIT).await.unwrap();
        let data = &event.data;
        told.push(match event.event.as_str() {
            "pool" => format!("pool {}", data["poolable"]),
            kind => format!("{kind} {}>{}", text(&data["from"]), text(&data["to"])),
        });
        assert_eq!((&data["kind"], &data["target"]), (&event.event.clone().into(), &"shop".into()));
    }
    assert_eq!(
        told,
        [
            "status healthy>unhealthy",
            "lifecycle running>offline",
            "pool false",
            "lifecycle offline>restarting",
            "status unhealthy>healthy",
            "lifecycle restarting>running",
            "pool true",
        ]
    );
    let report = instance(&host, "shop").await;
    assert_eq!(
        states(&report),
        ["unknown>running", "running>offline", "offline>restarting", "restarting>running"]
    );
    assert_eq!((&report["restarts"], &report["attempt"]["phase"]), (&1.into(), &"ready".into()));
    let offline = &report["history"][2];
    assert_eq!(
        (&offline["reason"], &offline["principal"]),
        (&"stopped".into(), &"system:health".into())
    );
    assert!(text(&offline["message"]).contains("137"), "{offline}");
    assert_eq!(docker.inspect("shop").unwrap()["State"]["Running"], true);

    let audit = host.audit("target=shop").await;
    let lifecycle: Vec<_> = audit
        .iter()
        .filter(|row| row["action"] == "lifecycle" || row["action"] == "restart")
        .map(|row| match text(&row["action"]) {
            "lifecycle" => format!("{}>{}", text(&row["from"]), text(&row["to"])),
            _ => text(&row["outcome"]).to_owned(),
        })
        .collect();
    assert_eq!(lifecycle[..2], ["unknown>running", "running>offline"], "{lifecycle:?}");
    assert!(lifecycle.iter().any(|row| row == "restart 1: ready"), "{lifecycle:?}");

    // A4: the container's layer has its own window.
    let layers = &report["checks"][0]["layers"];
    assert_eq!(
        (&layers[0]["layer"], &layers[0]["failed"]),
        (&"container".into(), &report["checks"][0]["window"]["failed"])
    );
    assert_eq!(host.metric("probehost_instance_restarts_total{target=\"shop\"}").await, 1.0);
    assert_eq!(
        host.metric("probehost_instance_state{target=\"shop\",state=\"running\"}").await,
        1.0
    );
}

/// C2, L3, L7: what runs out of memory is `oom`; a crash loop is quarantined after `max_restarts`,
/// and the operator's release has it restarted.
#[tokio::test(flavor = "multi_thread")]
async fn a_crash_loop_is_quarantined() {
    if docker::skip() {
        return;
    }
    let docker = Docker::start().unwrap();
    let small = json!({"HostConfig": {"Memory": 16 << 20, "MemorySwap": 16 << 20}});
    docker.container("hungry", &["tail", "/dev/zero"], small).unwrap();
    let policy = "base = 0.05, max_restarts = 2, start_budget = 20, jitter = 0";
    let host = container(engine(&docker), "hungry", policy).start();
    let report = until_state(&host, "hungry", "quarantined").await;
    assert_eq!((&report["restarts"], &report["failures"]), (&2.into(), &2.into()));
    assert_eq!((&report["reason"], &report["poolable"]), (&"oom".into(), &false.into()));
    let rows = host.audit("target=hungry&action=quarantine").await;
    assert_eq!(rows.len(), 1, "{rows:?}");

    assert_eq!(code(&ask(&host, "hungry", "restart", &json!({})).await, 409), "quarantined");
    let released = ask(&host, "hungry", "release", &json!({})).await;
    assert_eq!(released.json().unwrap()["state"], "restarting", "{released:?}");
    let rows = host.audit("target=hungry&action=release").await;
    assert_eq!((&rows[0]["principal"], &rows[0]["trigger"]), (&"local".into(), &"manual".into()));
    // It is no better, and comes back to where it was.
    let again = until_state(&host, "hungry", "quarantined").await;
    assert_eq!(again["restarts"], 4);
}

/// C3, T5, L1: an engine that hangs, is gone, or refuses: `unknown`, and nothing is restarted;
/// back again, everything runs as it did.
#[tokio::test(flavor = "multi_thread")]
async fn a_lost_engine_restarts_nothing() {
    if docker::skip() {
        return;
    }
    let mut docker = Docker::start().unwrap();
    docker
        .container(
            "shop",
            &["sleep", "100000"],
            json!({"HostConfig": {"RestartPolicy": {"Name": "always"}}}),
        )
        .unwrap();
    let lines = "runtime = { container = \"shop\" }\nlifecycle = { base = 0.05 }";
    let settings = "interval = 1\ntimeout = 1";
    let host = engine(&docker)
        .target_with("shop", lines, "container-inspect", settings, "container = \"shop\"")
        .start();
    until_state(&host, "shop", "running").await;
    docker.freeze().unwrap();
    let report = until_state(&host, "shop", "unknown").await;
    assert_eq!((&report["poolable"], &report["restarts"]), (&false.into(), &0.into()));
    docker.thaw().unwrap();
    until_state(&host, "shop", "running").await;
    docker.kill().unwrap();
    let report = until_state(&host, "shop", "unknown").await;
    assert!(text(&report["message"]).contains("connection refused"), "{report}");
    docker.run().unwrap();
    let report = until_state(&host, "shop", "running").await;
    assert_eq!((&report["restarts"], &report["failures"]), (&0.into(), &0.into()));
    let states = states(&report);
    assert!(
        !states.iter().any(|row| row.contains("restarting") || row.contains("offline")),
        "{states:?}"
    );
}

/// A target on an upstream, which a command brings back up. `script` is the command's.
fn upstream_target(script: &Path, url: &str, lifecycle: &str) -> Config {
    Config::new()
        .section(&format!("[commands.revive]\nargv = [\"/bin/sh\", {script:?}]"))
        .target_with(
            "shop",
            &format!("runtime = {{ command = \"revive\" }}\nlifecycle = {{ {lifecycle} }}"),
            "http-head",
            "interval = 1\nfailure_threshold = 1",
            &format!("url = \"{url}\""),
        )
}

fn lines(file: &Path) -> usize {
    fs::read_to_string(file).unwrap_or_default().lines().count()
}

/// L8, L9: a host that is killed while a restart is under way goes on where it was, and does not
/// issue the restart again.
#[tokio::test(flavor = "multi_thread")]
async fn a_killed_host_does_not_restart_twice() {
    let folder = tempfile::tempdir().unwrap();
    let [script, log, gate] = ["revive.sh", "log", "gate"].map(|name| folder.path().join(name));
    // It is under way until the gate is there.
    let text = format!("echo restart >> {log:?}\nwhile [ ! -e {gate:?} ]; do sleep 0.05; done\n");
    fs::write(&script, text).unwrap();
    let status = StatusSwitch::new(200);
    let upstream = Upstream::switched(&status);
    let config = upstream_target(&script, &upstream.url(), "base = 0.05, start_budget = 30");
    let mut host = config.start();
    until_state(&host, "shop", "running").await;
    status.set(503);
    eventually("the restart is under way", LIMIT, || async { lines(&log) }, |count| *count == 1)
        .await;
    let report = instance(&host, "shop").await;
    assert_eq!(
        (&report["state"], &report["attempt"]["phase"]),
        (&"restarting".into(), &"issued".into())
    );
    host.host.kill().unwrap();

    fs::write(&gate, "").unwrap();
    host.restart(None);
    let report = instance(&host, "shop").await;
    assert_eq!((&report["state"], &report["attempt"]["number"]), (&"restarting".into(), &1.into()));
    status.set(200);
    let report = until_state(&host, "shop", "running").await;
    assert_eq!((&report["restarts"], &report["failures"]), (&1.into(), &0.into()));
    assert_eq!(lines(&log), 1);
    assert_eq!(
        states(&report),
        ["unknown>running", "running>offline", "offline>restarting", "restarting>running"]
    );
}

/// L8: killed while it waits to restart, and killed while the restarted target has yet to become
/// ready: the host goes on, and there is one restart in all.
#[tokio::test(flavor = "multi_thread")]
async fn a_host_killed_in_other_phases_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let [script, log] = ["revive.sh", "log"].map(|name| folder.path().join(name));
    fs::write(&script, format!("echo restart >> {log:?}\n")).unwrap();
    let status = StatusSwitch::new(200);
    let upstream = Upstream::switched(&status);
    let config = upstream_target(&script, &upstream.url(), "base = 3, start_budget = 30");
    let mut host = config.start();
    until_state(&host, "shop", "running").await;
    status.set(503);
    let before = until_state(&host, "shop", "offline").await;
    host.host.kill().unwrap();
    assert_eq!(lines(&log), 0);

    host.restart(None);
    let after = instance(&host, "shop").await;
    assert_eq!((&after["state"], &after["since"]), (&"offline".into(), &before["since"]));
    let started = || async { instance(&host, "shop").await["attempt"]["phase"].clone() };
    eventually("it is restarted", LIMIT, started, |phase| phase == "started").await;
    host.host.kill().unwrap();

    host.restart(None);
    let report = instance(&host, "shop").await;
    assert_eq!(
        (&report["state"], &report["attempt"]["phase"]),
        (&"restarting".into(), &"started".into())
    );
    status.set(200);
    let report = until_state(&host, "shop", "running").await;
    assert_eq!((&report["restarts"], &report["failures"]), (&1.into(), &0.into()));
    assert_eq!(lines(&log), 1);
    assert_eq!(
        states(&report),
        ["unknown>running", "running>offline", "offline>restarting", "restarting>running"]
    );
}

/// L6, L7, E3: what operators and update managers ask for, and what is refused and why.
#[tokio::test(flavor = "multi_thread")]
async fn people_ask_for_things() {
    let folder = tempfile::tempdir().unwrap();
    let [script, log] = ["revive.sh", "log"].map(|name| folder.path().join(name));
    fs::write(&script, format!("echo restart >> {log:?}\n")).unwrap();
    let status = StatusSwitch::new(200);
    let upstream = Upstream::switched(&status);
    let host = upstream_target(&script, &upstream.url(), "base = 0.05")
        .head("plain", "interval = 0", &upstream.url())
        .start();
    until_state(&host, "shop", "running").await;
    let none = json!({});

    assert_eq!(code(&ask(&host, "nobody", "restart", &none).await, 404), "no-such-target");
    assert_eq!(code(&ask(&host, "plain", "restart", &none).await, 404), "not-managed");
    assert_eq!(code(&ask(&host, "shop", "release", &none).await, 409), "not-quarantined");
    assert_eq!(code(&ask(&host, "shop", "update", &none).await, 400), "bad-request");
    let odd = ask(&host, "shop", "update", &json!({ "step": "finish" })).await;
    assert!(odd.text.contains("rolled-back"), "{odd:?}");
    assert_eq!(
        code(&ask(&host, "shop", "update", &json!({ "step": "promoted" })).await, 409),
        "not-updating"
    );

    // By hand: one restart, in the name of who asked.
    let restarted = ask(&host, "shop", "restart", &none).await;
    assert_eq!(restarted.json().unwrap()["state"], "restarting", "{restarted:?}");
    until_state(&host, "shop", "running").await;
    assert_eq!(lines(&log), 1);
    let report = instance(&host, "shop").await;
    let by: Vec<_> =
        report["history"].as_array().unwrap().iter().map(|row| text(&row["principal"])).collect();
    assert_eq!(by, ["system:health", "local", "system:health"]);

    // While it is updated nothing is restarted.
    let begun = ask(&host, "shop", "update", &json!({ "step": "begin" })).await;
    assert_eq!(begun.json().unwrap()["state"], "updating", "{begun:?}");
    assert_eq!(code(&ask(&host, "shop", "restart", &none).await, 409), "updating");
    status.set(503);
    host.until("the check is down", "shop", |check| check["status"] == "unhealthy").await;
    let report = instance(&host, "shop").await;
    assert_eq!(
        (&report["state"], &report["update"]["verdict"]),
        (&"updating".into(), &"wait".into())
    );
    status.set(200);
    let verdict = || async { instance(&host, "shop").await["update"]["verdict"].clone() };
    eventually("it may be promoted", LIMIT, verdict, |verdict| verdict == "promote").await;
    ask(&host, "shop", "update", &json!({ "step": "promoted" })).await;
    until_state(&host, "shop", "running").await;
    assert_eq!(lines(&log), 1);

    // Set aside, it stays down.
    let aside =
        ask(&host, "shop", "quarantine", &json!({ "message": "disk is being replaced" })).await;
    let aside = aside.json().unwrap();
    assert_eq!((&aside["state"], &aside["poolable"]), (&"quarantined".into(), &false.into()));
    assert!(text(&aside["message"]).contains("disk is being replaced"), "{aside}");
    let pool = host.json("/api/v1/health/pool").await;
    assert_eq!(
        pool["members"],
        json!([{ "target": "shop", "poolable": false, "state": "quarantined" }])
    );
    assert_eq!(pool["ttl_seconds"], 15.0);
    ask(&host, "shop", "release", &none).await;
    until_state(&host, "shop", "running").await;
    assert_eq!(lines(&log), 2);

    let listed = host.json("/api/v1/health/instances?state=running").await;
    assert_eq!(
        (&listed["instances"][0]["id"], &listed["instances"][1]),
        (&"shop".into(), &Value::Null)
    );
    assert_eq!(host.json("/api/v1/health/instances?state=offline").await["instances"], json!([]));
    let actions: Vec<_> =
        host.audit("target=shop").await.iter().map(|row| text(&row["action"]).to_owned()).collect();
    for action in ["restart", "update", "quarantine", "release", "lifecycle"] {
        assert!(actions.iter().any(|found| found == action), "{action}: {actions:?}");
    }
}

/// L9: a command that fails, is missing, or hangs is an attempt that failed, and says why.
#[tokio::test(flavor = "multi_thread")]
async fn a_failing_command_says_why() {
    let folder = tempfile::tempdir().unwrap();
    let script = folder.path().join("revive.sh");
    fs::write(&script, "echo no such unit >&2\nexit 5\n").unwrap();
    let upstream = Upstream::status(503);
    let host = upstream_target(&script, &upstream.url(), "base = 0.05, max_restarts = 1").start();
    let report = until_state(&host, "shop", "quarantined").await;
    let message = text(&report["message"]);
    assert!(
        message.contains("revive") && message.contains('5') && message.contains("no such unit"),
        "{report}"
    );
}

/// L3, S4: of a thousand managed targets a tenth fail at once: each is restarted once, after its
/// own wait, the others are left alone, all heal, and the API answers meanwhile.
#[tokio::test(flavor = "multi_thread")]
async fn a_thousand_targets_do_not_storm() {
    const ALL: usize = 1000;
    const FAILING: usize = 100;
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("log");
    let down = Arc::new(AtomicBool::new(false));
    let is_down = Arc::clone(&down);
    let healed = log.clone();
    // A target is down from the moment until its own restart has been logged.
    let upstream = Upstream::http(move |request| {
        let number: usize = request.path.trim_start_matches('/').parse().unwrap_or(ALL);
        let name = format!("t{number:04}");
        let restarted =
            || fs::read_to_string(&healed).unwrap_or_default().lines().any(|line| line == name);
        let well = !is_down.load(Ordering::SeqCst) || number >= FAILING || restarted();
        Response::new(if well { 200 } else { 503 })
    });
    let mut config = Config::new().section("[lifecycle]\nbase = 1\nmax_restarts = 3");
    for number in 0..ALL {
        let name = format!("t{number:04}");
        let argv = format!("[\"/bin/sh\", \"-c\", \"echo {name} >> {}\"]", log.display());
        if number < FAILING {
            config = config.section(&format!("[commands.{name}]\nargv = {argv}"));
        }
        let command = if number < FAILING { name.as_str() } else { "t0000" };
        config = config.target_with(
            &name,
            &format!("runtime = {{ command = \"{command}\" }}"),
            "http-head",
            "interval = 10\nfailure_threshold = 1",
            &format!("url = \"{}\", path = \"/{number}\"", upstream.url()),
        );
    }
    let host = config.start();
    let in_state = |state: &'static str| {
        let host = &host;
        async move {
            let path = format!("/api/v1/health/instances?state={state}");
            host.json(&path).await["instances"].as_array().unwrap().len()
        }
    };
    let running = || in_state("running");
    eventually("all run", LIMIT, running, |count| *count == ALL).await;
    down.store(true, Ordering::SeqCst);
    eventually("a tenth is restarted", LIMIT, || async { lines(&log) }, |count| *count == FAILING)
        .await;
    eventually("all run again", LIMIT, running, |count| *count == ALL).await;
    assert_eq!(lines(&log), FAILING, "none twice, and none of the others");
    let all = host.json("/api/v1/health/instances").await;
    for instance in all["instances"].as_array().unwrap() {
        let fails = text(&instance["id"]) < "t0100";
        assert_eq!(instance["restarts"], u64::from(fails), "{instance}");
    }
    // Each waited for its own time, from 1 s up to 1.2 s.
    for number in [0, 37, 99] {
        let report = instance(&host, &format!("t{number:04}")).await;
        let at = |to: &str| {
            let history = report["history"].as_array().unwrap();
            let row = history.iter().find(|row| row["to"] == to).unwrap();
            text(&row["at"]).to_owned()
        };
        let waited = seconds(&at("restarting")) - seconds(&at("offline"));
        assert!((1.0..5.0).contains(&waited.rem_euclid(60.0)), "{waited}: {report}");
    }
    let pool = host.json("/api/v1/health/pool").await;
    assert_eq!(pool["members"].as_array().unwrap().len(), ALL);
}

/// The seconds within the minute of a time such as `2026-01-05T09:12:44.120933Z`.
fn seconds(at: &str) -> f64 {
    at.rsplit(':').next().unwrap().trim_end_matches('Z').parse().unwrap()
}
