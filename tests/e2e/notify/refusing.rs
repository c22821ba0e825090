//! Sinks that say no, later or never, while probing goes on; and rules that change meanwhile.

use std::time::Duration;

use probehost_test_support::receiver::Receiver;
use probehost_test_support::upstream::{Response, StatusSwitch, Upstream};
use probehost_test_support::wait::eventually;

use super::{notifications, sink, told_all, turn};
use crate::host::{BY_HAND, Config, LIMIT, code, run, text};

/// E5: 500, then 429 with Retry-After, then a sink that hangs: nothing is lost, nothing stormed,
/// and probes go on meanwhile.
#[tokio::test]
async fn later() {
    let receiver = Receiver::webhook();
    let switch = StatusSwitch::new(200);
    let upstream = Upstream::switched(&switch);
    let settings = format!("{BY_HAND}\nfailure_threshold = 1");
    let mut config = sink(Config::new(), "hook", "webhook", &receiver.url(), "rate = 100");
    // These five are no own fault.
    config = config.section("[notify]\nown_fault_min = 100");
    for target in 0..5 {
        config = config.head(&format!("t{target}"), &settings, &upstream.url());
    }
    let mut host = config.start();
    receiver.answer_once(Response::new(500));
    receiver.answer_once(Response::new(429).header("retry-after", "2"));
    receiver.answer(Some(Response::new(503)));
    for target in 0..5 {
        turn(&host, &switch, &format!("t{target}"), 503).await;
    }
    let sinks = || host.json("/api/v1/sinks");
    let failing = |seen: &serde_json::Value| seen["sinks"][0]["failures"].as_u64() >= Some(3);
    let seen = eventually("three failures", LIMIT, sinks, failing).await;
    let sink = &seen["sinks"][0];
    assert_eq!((sink["pending"].as_u64(), sink["dead"].as_u64()), (Some(5), Some(0)), "{sink}");
    let error = text(&sink["last_error"]["message"]);
    assert!(error.starts_with("http://127.0.0.1:") && error.ends_with("answered 503"), "{error}");
    assert!(receiver.attempts() < 8, "{} attempts", receiver.attempts());
    // Probing knows nothing of it.
    turn(&host, &switch, "t0", 200).await;
    receiver.answer(None);
    let taken = || async { receiver.taken().len() };
    eventually("all are told", LIMIT, taken, |count| *count == 6).await;
    let all = notifications(&host, "&state=delivered&target=t0").await;
    let kinds: Vec<_> = all.iter().map(|each| text(&each["kind"])).collect();
    assert_eq!(kinds, ["problem", "recovery"]);
    assert!(all[0]["attempts"].as_u64() > Some(1), "{all:?}");
    host.stop();
}

/// E5: what a sink refuses for good is dead, visible, and told when it is replayed.
#[tokio::test]
async fn never_and_after_all() {
    let receiver = Receiver::discord();
    let switch = StatusSwitch::new(200);
    let upstream = Upstream::switched(&switch);
    let settings = format!("{BY_HAND}\nfailure_threshold = 1");
    let config = told_all(Config::new(), "chat", "discord", &receiver.url());
    let mut host = config.head("web", &settings, &upstream.url()).start();
    receiver.answer_once(Response::new(404).body("Unknown Webhook hunter2"));
    turn(&host, &switch, "web", 503).await;
    let dead = || notifications(&host, "&state=dead");
    let dead = eventually("it is dead", LIMIT, dead, |dead| dead.len() == 1).await;
    assert!(text(&dead[0]["last_error"]).ends_with("answered 404"), "{dead:?}");
    turn(&host, &switch, "web", 200).await;
    let taken = || async { receiver.taken().len() };
    eventually("the recovery is told", LIMIT, taken, |count| *count == 1).await;

    let url = host.host.base_url().to_owned();
    let ran = run(&["notify", "list", "--url", &url, "--state", "dead"]);
    assert!(ran.code == 0 && ran.stdout.contains("web/http-head unhealthy"), "{ran:?}");
    let id = dead[0]["id"].as_i64().unwrap().to_string();
    let ran = run(&["notify", "replay", &id, "--url", &url]);
    assert_eq!(ran.code, 0, "{ran:?}");
    eventually("it is told", LIMIT, taken, |count| *count == 2).await;
    let delivered = || notifications(&host, "&state=delivered");
    eventually("it is delivered", LIMIT, delivered, |all| all.len() == 2).await;
    let ran = run(&["notify", "replay", &id, "--url", &url]);
    assert!(ran.code == 1 && ran.stderr.contains("only a dead one"), "{ran:?}");
    let path = "/api/v1/notifications/999999/replay";
    let answer = host.api.post(path, &serde_json::json!({})).await.unwrap();
    assert_eq!(code(&answer, 404), "no-such-notification");
    let answer = host.get("/api/v1/notifications?state=lost").await;
    assert_eq!(code(&answer, 400), "bad-request");
    host.stop();
    assert!(!host.output().contains("hunter2"));
}

/// E5: rules, sinks and windows of a changed file are taken up while the host runs.
#[tokio::test]
async fn a_changed_file() {
    let receiver = Receiver::webhook();
    let switch = StatusSwitch::new(200);
    let upstream = Upstream::switched(&switch);
    let settings = format!("{BY_HAND}\nfailure_threshold = 1");
    let plain = Config::new().head("web", &settings, &upstream.url());
    let mut host = plain.start();
    turn(&host, &switch, "web", 503).await;
    turn(&host, &switch, "web", 200).await;
    let told = told_all(plain.clone(), "hook", "webhook", &receiver.url());
    let reload = |config: &Config| std::fs::write(host.host.config_path(), config.text()).unwrap();
    reload(&told);
    let sinks = || host.json("/api/v1/sinks");
    let there = |count: usize| {
        move |seen: &serde_json::Value| seen["sinks"].as_array().unwrap().len() == count
    };
    eventually("the sink is there", LIMIT, sinks, there(1)).await;
    turn(&host, &switch, "web", 503).await;
    let taken = || async {
        let all = receiver.taken();
        all.iter().map(|taken| text(&taken.body["kind"]).to_owned()).collect::<Vec<_>>()
    };
    eventually("it is told", LIMIT, taken, |told| told == &["problem"]).await;
    turn(&host, &switch, "web", 200).await;
    eventually("it is told", LIMIT, taken, |told| told == &["problem", "recovery"]).await;

    // A window for all that is open now.
    let window = "[[maintenance]]\nname = \"now\"\nat = \"00:00\"\nfor = 86400";
    reload(&told.clone().section(window));
    let windows = || host.json("/api/v1/maintenance");
    let open = |seen: &serde_json::Value| seen["windows"][0]["open_until"].is_string();
    eventually("the window is open", LIMIT, windows, open).await;
    turn(&host, &switch, "web", 503).await;
    tokio::time::sleep(Duration::from_millis(500)).await;
    assert_eq!(receiver.taken().len(), 2, "nothing is told in the window");
    reload(&told);
    let three = |told: &Vec<String>| told == &["problem", "recovery", "problem"];
    eventually("it still stands, so it is told", LIMIT, taken, three).await;
    host.stop();
}
