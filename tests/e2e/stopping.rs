//! Stopping and starting: S8, P4 and R9 through signals to the real process.

use std::collections::BTreeMap;
use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use probehost_test_support::http::JsonClient;
use probehost_test_support::upstream::{Script, Upstream};
use probehost_test_support::wait::eventually;

use crate::host::{Config, Host, LIMIT, run, text};

/// Far more than a stop takes, and far less than the timeout of the probes in flight.
const PROMPTLY: Duration = Duration::from_secs(20);
const IN_FLIGHT: usize = 20;

/// Stops a host whose probes all hang, by this signal.
async fn stop_with_probes_in_flight(signal: impl Fn(&mut Host)) {
    let upstream = Upstream::script(Script::hang());
    let targets: Vec<String> = (0..IN_FLIGHT).map(|number| format!("web-{number}")).collect();
    let config = targets.iter().fold(Config::new(), |config, target| {
        config.head(target, "interval = 5\ntimeout = 3600", &upstream.url())
    });
    let mut host = config.start();
    let open = || async { upstream.open_connections() };
    eventually("every probe is in flight", LIMIT, open, |open| *open == IN_FLIGHT).await;
    // P4: one by hand too, after the scheduled one, which it would have kept away; its caller is
    // told.
    let api = host.api.clone();
    let path = "/api/v1/targets/web-0/checks/http-head/probe";
    let by_hand = tokio::spawn(async move { api.post(path, &serde_json::json!({})).await });
    eventually("one by hand is too", LIMIT, open, |open| *open == IN_FLIGHT + 1).await;
    signal(&mut host);
    let status = host.host.process().wait(PROMPTLY).unwrap();
    assert_eq!(status.code(), Some(0), "{}", host.output());
    let answer = by_hand.await.unwrap().unwrap();
    assert_eq!(answer.status, 503, "{answer:?}");
    let error = &answer.json().unwrap()["error"];
    assert_eq!(error["code"], "abandoned");
    assert!(text(&error["message"]).contains(&upstream.address().to_string()), "{error}");
    eventually("every connection is closed", LIMIT, open, |open| *open == 0).await;

    // What was cancelled has left nothing behind.
    host.restart(Some(&targets.iter().fold(Config::new(), |config, target| {
        config.head(target, "interval = 0\ntimeout = 3600", &upstream.url())
    })));
    for target in &targets {
        let check = host.check(target).await;
        assert_eq!((&check["status"], &check["last_attempt_at"]), (&"unknown".into(), &().into()));
    }
    assert!(host.audit("action=probe").await.is_empty());
    assert!(host.audit("action=transition").await.is_empty());
}

/// S8, P4: SIGTERM ends the host well before the longest timeout; cancelled is not timed out,
/// and writes nothing.
#[tokio::test]
async fn sigterm() {
    stop_with_probes_in_flight(|host| host.host.process().terminate().unwrap()).await;
}

/// S8, P4: as Ctrl-C does.
#[tokio::test]
async fn sigint() {
    stop_with_probes_in_flight(|host| host.host.process().interrupt().unwrap()).await;
}

/// Probes targets by hand, one after the other, until it is told to end or its host is gone.
async fn press(api: JsonClient, targets: Vec<String>, ended: Arc<AtomicBool>) -> u32 {
    let mut answered = 0;
    for target in targets.iter().cycle() {
        if ended.load(Ordering::SeqCst) {
            break;
        }
        let path = format!("/api/v1/targets/{target}/checks/http-head/probe");
        match api.post(&path, &serde_json::json!({})).await {
            Ok(answer) if answer.status == 200 => answered += 1,
            Ok(answer) => assert_eq!(answer.status, 503, "{answer:?}"),
            Err(_) => break,
        }
    }
    answered
}

/// S8, R9: ten restarts under load flip nothing: every check has the one transition that its
/// upstream gave cause for.
#[tokio::test]
async fn restarts_flip_nothing() {
    let up = Upstream::status(200);
    let down = Upstream::status(503);
    let targets: Vec<String> = (0..40).map(|number| format!("web-{number:02}")).collect();
    let mut config = Config::new().section("[probes]\nconcurrency = 8");
    for (number, target) in targets.iter().enumerate() {
        let upstream = if number.is_multiple_of(2) { &up } else { &down };
        config = config.head(target, "interval = 5\nfailure_threshold = 1", &upstream.url());
    }
    let mut host = config.start();
    for target in &targets {
        host.until("it is judged", target, |check| check["status"] != "unknown").await;
    }
    let mut answered = 0;
    for _ in 0..10 {
        let ended = Arc::new(AtomicBool::new(false));
        let pressing: Vec<_> = targets
            .chunks(10)
            .map(|some| tokio::spawn(press(host.api.clone(), some.to_vec(), Arc::clone(&ended))))
            .collect();
        let seen = up.connections() + down.connections();
        let since = || async { up.connections() + down.connections() - seen };
        eventually("the load is on", LIMIT, since, |new| *new >= 8).await;
        host.stop();
        ended.store(true, Ordering::SeqCst);
        for task in pressing {
            answered += task.await.unwrap();
        }
        host.restart(None);
    }
    assert!(answered >= 10, "{answered}");
    let expected = |number: usize| {
        if number.is_multiple_of(2) { "unknown>healthy" } else { "unknown>unhealthy" }
    };
    let mut found = BTreeMap::new();
    for (number, target) in targets.iter().enumerate() {
        let moves = host.transitions(target).await;
        if moves != [expected(number)] {
            found.insert(target, moves);
        }
    }
    assert!(found.is_empty(), "{found:?}");
}

/// A second host on the same port ends with a message that says so, and leaves the first one's
/// database alone.
#[tokio::test]
async fn a_second_host_on_the_port() {
    let upstream = Upstream::status(200);
    let mut host = Config::new().head("web", "interval = 0", &upstream.url()).start();
    assert_eq!(host.probe("web").await["recorded"], true);
    let address = host.host.base_url().trim_start_matches("http://").to_owned();
    let second = host.host.dir().join("second.toml");
    fs::write(&second, Config::new().listen(&address).text()).unwrap();
    let ran = run(&["serve", "--config", second.to_str().unwrap()]);
    assert_eq!((ran.code, ran.stdout.as_str()), (1, ""), "{ran:?}");
    assert!(ran.stderr.contains(&address) && ran.stderr.contains("another host"), "{ran:?}");
    // With its file, the target would be deleted.
    assert_eq!(host.check("web").await["status"], "healthy");
    host.stop();
}
