//! Two hundred targets that fail at once because the host's own resolver is gone.

use std::net::{Ipv4Addr, SocketAddr};
use std::process::Command;

use probehost_test_support::dns::{Data, Zone};
use probehost_test_support::probehost::Launch;
use probehost_test_support::receiver::Receiver;
use probehost_test_support::upstream::Upstream;
use probehost_test_support::wait::eventually;

use super::sink;
use crate::host::{BINARY, Config, Host, LIMIT, text};

const TARGETS: usize = 200;

/// A name server of this test alone: the port is fixed, the address is free to choose.
const SERVER: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::new(127, 53, 9, 1)), 53);

/// Whether this user can give a process a `resolv.conf` of its own; else says what is missing.
fn skip_unless_possible() -> bool {
    let tried = Command::new("unshare").args(["-m", "true"]).status();
    let possible =
        tried.is_ok_and(|status| status.success()) && std::net::UdpSocket::bind(SERVER).is_ok();
    if !possible {
        eprintln!("skipped: needs root, for a name server on port 53 and a private resolv.conf");
    }
    assert!(possible || std::env::var("CI").is_err(), "run the tests as root");
    !possible
}

fn zone() -> Zone {
    (0..TARGETS).fold(Zone::default(), |zone, n| {
        zone.with(&format!("t{n}.fleet.test"), 1, Data::A(Ipv4Addr::LOCALHOST))
    })
}

/// E5: the resolver is killed: one grouped alert and none of the two hundred; it comes back, and
/// one recovery says so.
#[tokio::test]
async fn a_killed_resolver() {
    if skip_unless_possible() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let resolv = folder.path().join("resolv.conf");
    std::fs::write(&resolv, format!("nameserver {}\noptions timeout:1 attempts:1\n", SERVER.ip()))
        .unwrap();
    let receiver = Receiver::webhook();
    let upstream = Upstream::status(200);
    let mut config = sink(Config::new(), "hook", "webhook", &receiver.url(), "rate = 100");
    config = config.section("[notify]\ngroup_wait = 2");
    for n in 0..TARGETS {
        let url = format!("http://t{n}.fleet.test:{}/", upstream.port());
        config = config.head(&format!("t{n}"), "interval = 5\ntimeout = 4", &url);
    }
    let server = zone().serve_at(SERVER);
    let command = format!(
        "mount --bind {} /etc/resolv.conf && exec {BINARY} serve --config {{config}}",
        resolv.display()
    );
    let launch = Launch::new("unshare", &config.text()).args(["-m", "sh", "-c", &command]);
    let mut host = Host::start(launch);
    let statuses = || async {
        let all = host.json("/api/v1/targets?limit=1000").await;
        let targets = all["targets"].as_array().unwrap().clone();
        let of = |word: &str| {
            targets.iter().filter(|target| text(&target["checks"][0]["status"]) == word).count()
        };
        (of("healthy"), of("unhealthy"))
    };
    eventually("all are well", LIMIT, statuses, |(well, _)| *well == TARGETS).await;
    assert_eq!(receiver.taken().len(), 0);

    drop(server);
    eventually("all are unwell", LIMIT, statuses, |(_, unwell)| *unwell == TARGETS).await;
    let told = || async {
        receiver
            .taken()
            .iter()
            .map(|taken| text(&taken.body["kind"]).to_owned())
            .collect::<Vec<_>>()
    };
    eventually("it is told", LIMIT, told, |told| !told.is_empty()).await;
    let group = receiver.taken()[0].body.clone();
    assert_eq!((text(&group["kind"]), &group["target"]), ("group", &serde_json::Value::Null));
    let message = text(&group["message"]);
    assert!(message.starts_with("probably probehost's own network or resolver: "), "{message}");

    let server = zone().serve_at(SERVER);
    eventually("all are well again", LIMIT, statuses, |(well, _)| *well == TARGETS).await;
    let told = eventually("that is told", LIMIT, told, |told| told.len() >= 2).await;
    assert_eq!(told, ["group", "recovery"], "one for all that fail, one for all that are well");
    drop(server);
    host.stop();
    assert_eq!(receiver.taken().len(), 2);
}
