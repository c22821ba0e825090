//! Files that change while the host runs: its configuration, and its plugins.

use std::fs;
use std::os::unix::fs::symlink;

use probehost_test_support::upstream::Upstream;
use probehost_test_support::wait::eventually;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::host::{Config, Host, LIMIT, PluginDir, soak, text};

/// Probed at the start, and then not for an hour.
const HOURLY: &str = "interval = 3600";

fn rewrite(host: &Host, config: &Config) {
    fs::write(host.host.config_path(), config.text()).unwrap();
}

fn is(check: &Value, status: &str) -> bool {
    check["status"] == status
}

async fn config_state(host: &Host) -> String {
    text(&host.json("/healthz").await["config"]).to_owned()
}

/// T7, R9, S1: a reload is a diff: what is untouched keeps its record and is not probed, what
/// differs starts anew and is probed at once, what is new comes, and what is gone goes.
#[tokio::test]
async fn a_reload_is_a_diff_of_saves() {
    let [kept, before, after] =
        [Upstream::status(200), Upstream::status(200), Upstream::status(503)];
    let start = Config::new()
        .head("kept", HOURLY, &kept.url())
        .head("moved", HOURLY, &before.url())
        .head("gone", HOURLY, &before.url());
    let host = start.start();
    for target in ["kept", "moved", "gone"] {
        host.until("probed at the start", target, |check| is(check, "healthy")).await;
    }
    let untouched = host.check("kept").await;
    rewrite(
        &host,
        &Config::new().head("kept", HOURLY, &kept.url()).head("moved", HOURLY, &after.url()).head(
            "new",
            HOURLY,
            &before.url(),
        ),
    );
    let holds = |check: &Value| check["reason"] == "answer";
    let moved = host.until("the moved check is probed", "moved", holds).await;
    assert_eq!((&moved["status"], &moved["streak"]), (&"unknown".into(), &1.into()));
    assert_eq!(moved["last_success_at"], Value::Null);
    host.until("the new check is probed", "new", |check| is(check, "healthy")).await;
    assert_eq!(host.get("/api/v1/targets/gone").await.status, 404);
    let checked_at = &host.check("kept").await["checked_at"];
    assert_eq!((checked_at, kept.requests().len()), (&untouched["checked_at"], 1));
    let first = host.audit("target=new&action=transition").await;
    assert_eq!(first[0]["trigger"], "saved");
    assert_eq!(config_state(&host).await, "ok");
}

/// A file with a mistake changes nothing and is reported, by signal at once; mended, it is
/// taken up.
#[tokio::test]
async fn a_broken_file_changes_nothing() {
    let upstream = Upstream::status(200);
    let start = Config::new().head("web", HOURLY, &upstream.url());
    let mut host = start.start();
    host.until("probed at the start", "web", |check| is(check, "healthy")).await;
    let broken = Config::new().head("other", "intervall = 5", &upstream.url());
    rewrite(&host, &broken);
    let id = Pid::from_raw(host.host.process().id().try_into().unwrap()).unwrap();
    kill_process(id, Signal::HUP).unwrap();
    let told = eventually("reported", LIMIT, || config_state(&host), |state| state != "ok").await;
    assert!(told.contains("intervall") && told.contains("interval"), "{told}");
    assert!(is(&host.check("web").await, "healthy"));
    assert_eq!(host.get("/api/v1/targets/other").await.status, 404);
    assert!(host.output().contains("nothing is changed"), "{}", host.output());
    rewrite(&host, &start.head("other", HOURLY, &upstream.url()));
    host_has(&host, "other").await;
    eventually("mended", LIMIT, || config_state(&host), |state| state == "ok").await;
    assert_eq!(host.transitions("web").await, ["unknown>healthy"]);
}

async fn host_has(host: &Host, target: &str) {
    let path = format!("/api/v1/targets/{target}");
    let status = || async { host.get(&path).await.status };
    eventually("the target is there", LIMIT, status, |status| *status == 200).await;
}

/// A symlink that is swapped, as a mounted config map is, is a change like any other.
#[tokio::test]
async fn a_swapped_symlink_is_noticed() {
    let upstream = Upstream::status(200);
    let start = Config::new().head("web", HOURLY, &upstream.url());
    let host = start.start();
    let next = host.host.dir().join("next.toml");
    fs::write(&next, start.head("mounted", HOURLY, &upstream.url()).text()).unwrap();
    let link = host.host.dir().join("link");
    symlink(&next, &link).unwrap();
    fs::rename(&link, host.host.config_path()).unwrap();
    host_has(&host, "mounted").await;
}

/// G1, P9: a plugin that comes while the host runs serves at once, half a file is reported and
/// mended by the whole, and one that goes leaves its checks unimplemented, not unhealthy.
#[tokio::test]
async fn a_plugin_comes_and_goes() {
    let plugins = PluginDir::new(&[]);
    let config = Config::new().plugins(plugins.path());
    let host = config.target("odd", "echo", HOURLY, "").start();
    let problem = |check: &Value| text(&check["problem"]).to_owned();
    assert!(problem(&host.check("odd").await).contains("not installed"));
    let whole = probehost_test_plugins::component("echo");
    plugins.put("echo.wasm", &whole[..whole.len() / 2]);
    host.until("half a file is reported", "odd", |check| problem(check).contains("did not load"))
        .await;
    plugins.put("echo.wasm", whole);
    host.until("it serves and is probed", "odd", |check| is(check, "healthy")).await;
    fs::remove_file(plugins.path().join("echo.wasm")).unwrap();
    let gone = |check: &Value| problem(check).contains("not installed");
    let check = host.until("it is gone", "odd", gone).await;
    assert!(is(&check, "healthy"));
    assert_eq!(host.ask("odd").await.status, 501);
}

/// A component like this one with other bytes: a section that means nothing is added.
fn varied(component: &[u8], number: u32) -> Vec<u8> {
    let mut section = vec![3, b'n', b'o', b't'];
    section.extend(number.to_le_bytes());
    let mut bytes = component.to_vec();
    bytes.extend([0, u8::try_from(section.len()).unwrap()]);
    bytes.extend(section);
    bytes
}

/// G1: a plugin is replaced again and again under load: no probe is lost or fails for it, and
/// neither files nor threads are left open. With `PROBEHOST_SOAK=1` in the environment two
/// hundred times, otherwise six.
#[tokio::test(flavor = "multi_thread")]
async fn replacing_a_plugin_loses_no_probe() {
    let times = if soak() { 200 } else { 6 };
    let component = probehost_test_plugins::component("echo");
    let plugins = PluginDir::new(&["echo"]);
    let mut config = Config::new().plugins(plugins.path());
    for number in 0..4 {
        config = config.target(&format!("t{number}"), "echo", "interval = 1", "");
    }
    let mut host = config.start();
    let id = host.host.process().id();
    let pid = Pid::from_raw(id.try_into().unwrap()).unwrap();
    let mut before = serving(&host, "echo").await;
    let mut open = None;
    for number in 0..times {
        let file = plugins.path().join("next");
        fs::write(&file, varied(component, number)).unwrap();
        fs::rename(&file, plugins.path().join("echo.wasm")).unwrap();
        kill_process(pid, Signal::HUP).unwrap();
        // By hand meanwhile: each has a result, whichever version it is of.
        loop {
            let result = host.probe("t0").await;
            assert_eq!(result["outcome"], "pass", "{result}");
            let now = serving(&host, "echo").await;
            if now != before {
                before = now;
                break;
            }
        }
        let held = (count(id, "fd"), count(id, "task"));
        if number == 2 {
            open = Some(held);
        }
    }
    for number in 0..4 {
        let target = format!("t{number}");
        let check = host.until("it is probed", &target, |check| is(check, "healthy")).await;
        assert_eq!((&check["stale"], &check["inconclusive_streak"]), (&false.into(), &0.into()));
        assert_eq!(host.transitions(&target).await, ["unknown>healthy"]);
    }
    let (files, threads) = open.unwrap();
    let settled = || async { (count(id, "fd"), count(id, "task")) };
    eventually("nothing is left open", LIMIT, settled, |now| {
        now.0 <= files + 4 && now.1 <= threads + 4
    })
    .await;
}

/// How many entries a folder of a process under `/proc` has.
fn count(id: u32, folder: &str) -> usize {
    fs::read_dir(format!("/proc/{id}/{folder}")).unwrap().count()
}

/// The digest of the plugin that serves a kind.
async fn serving(host: &Host, kind: &str) -> String {
    let listed = host.json("/api/v1/plugins").await;
    let all = listed["plugins"].as_array().unwrap();
    let found = all.iter().find(|plugin| plugin["name"] == kind && plugin["state"] == "ready");
    text(&found.unwrap()["sha256"]).to_owned()
}
