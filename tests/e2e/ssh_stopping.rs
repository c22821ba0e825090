//! Stopping and starting a host of SSH probes: S8, P4 and R9, where a probe is a connection with a
//! task of its own, or two of them.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use probehost_test_support::http::JsonClient;
use probehost_test_support::ssh::{Key, Sshd, folder, skip, user};
use probehost_test_support::upstream::{ClosedPort, Script, Step, Upstream};
use probehost_test_support::wait::eventually;

use crate::host::{BY_HAND, Config, LIMIT, soak, text};

/// Far more than a stop takes, and far less than the timeout of the probes in flight.
const PROMPTLY: Duration = Duration::from_secs(20);

/// A fingerprint that no key has.
const NOBODY: &str = "SHA256:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU";

/// Probes that are in flight, of each of three ways to hang.
const OF_EACH: usize = 4;

fn path(target: &str) -> String {
    format!("/api/v1/targets/{target}/checks/ssh-handshake/probe")
}

/// S8, P4: probes that hang before the version line, in the key exchange, and behind a jump host
/// end with the host, and none of them writes anything.
#[tokio::test]
async fn nothing_is_written_of_probes_in_flight() {
    if skip() {
        return;
    }
    let dir = folder().unwrap();
    let key = Key::generate(&dir.path().join("key"), "ed25519", "").unwrap();
    let bastion = Sshd::start(&["ed25519"], "AllowTcpForwarding yes\nMaxStartups 200").unwrap();
    bastion.authorize(&key).unwrap();
    let silent = Upstream::script(Script::hang());
    let stalls =
        Upstream::script(Script::from([Step::Send(b"SSH-2.0-x\r\n".to_vec()), Step::Hang]));
    let (user, known_hosts) = (user(), dir.path().join("known_hosts"));
    let identity = format!("{{ key_file = {{ path = {:?} }} }}", key.path);
    let to = |port| {
        format!(
            "host = \"127.0.0.1\", port = {port}, host_key = \"{NOBODY}\", user = \"{user}\", \
             identity = {identity}"
        )
    };
    let jump = format!(
        "jump = {{ host = \"127.0.0.1\", port = {}, user = \"{user}\", identity = {identity} }}",
        bastion.port()
    );
    let ways = [
        ("silent", to(silent.address().port())),
        ("stalls", to(stalls.address().port())),
        ("behind", format!("{}, {jump}", to(silent.address().port()))),
    ];
    let mut config = Config::new()
        .section(&format!("[ssh]\nknown_hosts = {known_hosts:?}"))
        .section("[plugins.ssh-handshake]\nconcurrency = 100");
    let mut targets = Vec::new();
    for (way, check) in &ways {
        for number in 0..OF_EACH {
            let target = format!("{way}-{number}");
            let settings = format!("{BY_HAND}\ntimeout = 3600");
            config = config.target(&target, "ssh-handshake", &settings, check);
            targets.push(target);
        }
    }
    let mut host = config.start();
    let asked: Vec<_> = targets
        .iter()
        .map(|target| {
            let (api, path) = (host.api.clone(), path(target));
            tokio::spawn(async move { api.post(&path, &serde_json::json!({})).await })
        })
        .collect();
    let open = || async { (silent.open_connections(), stalls.open_connections()) };
    eventually("every probe hangs", LIMIT, open, |open| *open == (2 * OF_EACH, OF_EACH)).await;
    host.host.process().terminate().unwrap();
    let status = host.host.process().wait(PROMPTLY).unwrap();
    assert_eq!(status.code(), Some(0), "{}", host.output());
    for (asked, target) in asked.into_iter().zip(&targets) {
        let answer = asked.await.unwrap().unwrap();
        assert_eq!(answer.status, 503, "{target}: {answer:?}");
        assert_eq!(answer.json().unwrap()["error"]["code"], "abandoned", "{target}");
    }
    eventually("every connection is closed", LIMIT, open, |open| *open == (0, 0)).await;

    host.restart(None);
    for target in &targets {
        let check = host.check(target).await;
        assert_eq!((&check["status"], &check["last_attempt_at"]), (&"unknown".into(), &().into()));
    }
    assert!(host.audit("action=probe").await.is_empty());
    assert!(host.audit("action=transition").await.is_empty());
    host.stop();
}

/// Probes targets by hand, one after the other, until it is told to end or its host is gone.
async fn press(api: JsonClient, targets: Vec<String>, ended: Arc<AtomicBool>) -> u32 {
    let mut answered = 0;
    for target in targets.iter().cycle() {
        if ended.load(Ordering::SeqCst) {
            break;
        }
        match api.post(&path(target), &serde_json::json!({})).await {
            Ok(answer) if answer.status == 200 => answered += 1,
            Ok(answer) => assert_eq!(answer.status, 503, "{answer:?}"),
            Err(_) => break,
        }
    }
    answered
}

/// S8, R9: restarts under load flip nothing: every check has the one transition that its server
/// gave cause for. With `PROBEHOST_SOAK=1` in the environment there are fifty, otherwise five.
#[tokio::test]
async fn restarts_flip_nothing() {
    if skip() {
        return;
    }
    let soak = soak();
    let restarts = if soak { 50 } else { 5 };
    let sshd = Sshd::start(&["ed25519"], "MaxStartups 200").unwrap();
    let closed = ClosedPort::reserve();
    let pin = sshd.host_key("ed25519").pin().unwrap();
    let kinds = [
        ("well", sshd.port(), pin.as_str(), "unknown>healthy"),
        ("other", sshd.port(), NOBODY, "unknown>unhealthy"),
        ("down", closed.address().port(), NOBODY, "unknown>unhealthy"),
    ];
    let mut config = Config::new()
        .section("[probes]\nconcurrency = 8")
        .section("[plugins.ssh-handshake]\nconcurrency = 8");
    let mut expected = Vec::new();
    for (name, port, pin, moves) in kinds {
        for number in 0..4 {
            let target = format!("{name}-{number}");
            let check = format!(
                "host = \"127.0.0.1\", port = {port}, host_key = \"{pin}\", identity = \"none\""
            );
            let settings = "interval = 15\nfailure_threshold = 1";
            config = config.target(&target, "ssh-handshake", settings, &check);
            expected.push((target, moves));
        }
    }
    let mut host = config.start();
    for (target, _) in &expected {
        assert_eq!(host.ask(target).await.status, 200);
    }
    let targets: Vec<String> = expected.iter().map(|(target, _)| target.clone()).collect();
    let mut answered = 0;
    for _ in 0..restarts {
        let ended = Arc::new(AtomicBool::new(false));
        let pressing: Vec<_> = targets
            .chunks(2)
            .map(|some| tokio::spawn(press(host.api.clone(), some.to_vec(), Arc::clone(&ended))))
            .collect();
        let met = || sshd.log().matches("Connection from").count();
        let before = met();
        let since = || async { met() - before };
        eventually("the load is on", LIMIT, since, |new| *new >= 8).await;
        host.stop();
        ended.store(true, Ordering::SeqCst);
        for task in pressing {
            answered += task.await.unwrap();
        }
        host.restart(None);
    }
    assert!(answered >= restarts, "{answered}");
    let mut wrong = Vec::new();
    for (target, moves) in &expected {
        let found = host.transitions(target).await;
        if found != [*moves] {
            wrong.push((target, found));
        }
    }
    assert!(wrong.is_empty(), "{wrong:?}");
    // What is said last is of the host key or the refusal, never of the stop.
    for (target, _) in &expected {
        let check = host.check(target).await;
        let reason = text(&check["reason"]);
        assert!(matches!(reason, "" | "host-key" | "network"), "{target}: {check}");
    }
    host.stop();
}
