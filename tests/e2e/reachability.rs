//! What counts as reachable, and how a probe goes over the wire: H1 to H5 through the whole host.

use std::collections::BTreeSet;
use std::time::Duration;

use probehost_test_support::certs::{Ca, Identity};
use probehost_test_support::upstream::{
    ClosedPort, FullBacklog, Response, Script, Setup, Step, Upstream,
};
use serde_json::Value;

use crate::host::{BY_HAND, Config, Host, measured, text};

/// An upstream that answers with the status that its path spells.
fn by_path() -> Upstream {
    Upstream::http(|request| {
        let status = request.path.rsplit('/').next().and_then(|last| last.parse().ok());
        Response::new(status.unwrap_or(404)).body("a body that nobody reads")
    })
}

/// H2: every answered status below 500 is healthy, with 200 and 499 as the ends.
#[tokio::test]
async fn reachable_statuses() {
    let upstream = by_path();
    let statuses = [200, 204, 301, 304, 401, 404, 405, 429, 499];
    let host = statuses
        .iter()
        .fold(Config::new(), |config, status| {
            config.head(&format!("s{status}"), BY_HAND, &format!("{}/{status}", upstream.url()))
        })
        .start();
    for status in statuses {
        let probe = host.probe(&format!("s{status}")).await;
        assert_eq!(probe["outcome"], "pass", "{probe}");
        assert_eq!(measured(&probe, "status"), Some(f64::from(status)), "{probe}");
        assert_eq!((text(&probe["from"]), text(&probe["to"])), ("unknown", "healthy"));
    }
}

/// H2: 500 and above fails with `answer`, and the message says who answered what.
#[tokio::test]
async fn unreachable_statuses() {
    let upstream = by_path();
    let statuses = [500, 503, 599];
    let settings = &format!("{BY_HAND}\nfailure_threshold = 1");
    let host = statuses
        .iter()
        .fold(Config::new(), |config, status| {
            config.head(&format!("s{status}"), settings, &format!("{}/{status}", upstream.url()))
        })
        .start();
    for status in statuses {
        let probe = host.probe(&format!("s{status}")).await;
        assert_eq!((&probe["outcome"], &probe["reason"]), (&"fail".into(), &"answer".into()));
        assert_eq!(measured(&probe, "status"), Some(f64::from(status)), "{probe}");
        let said = text(&probe["message"]);
        assert!(said.contains(&upstream.address().to_string()), "{said}");
        assert!(said.contains(&status.to_string()), "{said}");
        assert_eq!(probe["to"], "unhealthy", "{probe}");
    }
}

/// H1, H5: HEAD and only HEAD, no body, the health path joined with one slash, a fresh
/// connection for each probe, and the phases measured.
#[tokio::test]
async fn request_discipline() {
    let upstream = by_path();
    let base = format!("url = \"{}/base/\", path = ", upstream.url());
    let host = Config::new()
        .target("joined", "http-head", BY_HAND, &format!("{base}\"/health/200?deep=1\""))
        .target("bare", "http-head", BY_HAND, &format!("url = \"{}\"", upstream.url()))
        .start();
    for target in ["joined", "joined", "bare"] {
        let probe = host.probe(target).await;
        for phase in ["connect", "first_byte", "total"] {
            assert!(measured(&probe, phase).is_some_and(|seconds| seconds > 0.0), "{probe}");
        }
    }
    let requests = upstream.requests();
    let lines: Vec<_> =
        requests.iter().map(|one| (one.method.as_str(), one.path.as_str())).collect();
    let joined = ("HEAD", "/base/health/200?deep=1");
    assert_eq!(lines, [joined, joined, ("HEAD", "/")]);
    assert!(requests.iter().all(|request| request.body.is_empty()));
    assert_eq!(requests.iter().map(|one| one.connection).collect::<BTreeSet<_>>().len(), 3);
    assert!(upstream.strays().is_empty());
}

/// H4: a redirect is an answer unless the config asks to follow it.
#[tokio::test]
async fn redirects() {
    let upstream = Upstream::http(|request| match request.path.as_str() {
        "/moved" => Response::redirect(302, "/here"),
        "/loop" => Response::redirect(302, "/loop"),
        _ => Response::new(500),
    });
    let config = |path: &str, redirects: u8| {
        format!("url = \"{}{path}\", redirects = {redirects}", upstream.url())
    };
    let host = Config::new()
        .target("off", "http-head", BY_HAND, &config("/moved", 0))
        .target("on", "http-head", BY_HAND, &config("/moved", 1))
        .target("loop", "http-head", BY_HAND, &config("/loop", 3))
        .start();
    let off = host.probe("off").await;
    assert_eq!((&off["outcome"], measured(&off, "status")), (&"pass".into(), Some(302.0)));
    let on = host.probe("on").await;
    assert_eq!((&on["reason"], measured(&on, "status")), (&"answer".into(), Some(500.0)));
    let circle = host.probe("loop").await;
    assert_eq!(circle["outcome"], "fail", "{circle}");
    assert!(text(&circle["message"]).contains("redirects"), "{circle}");
    let paths: Vec<_> = upstream.requests().into_iter().map(|request| request.path).collect();
    assert_eq!(paths, ["/moved", "/moved", "/here", "/loop", "/loop", "/loop", "/loop"]);
}

/// H4, G2, A1: a hop that is not granted is not dialled; the failure is `config`, its message
/// holds the line that grants it, and the audit has the denial. With that line it passes.
#[tokio::test]
async fn a_hop_must_be_granted() {
    let other = Upstream::status(200);
    let location = format!("{}/there", other.url());
    let upstream = Upstream::http(move |_| Response::redirect(307, &location));
    let config = Config::new().target(
        "web",
        "http-head",
        BY_HAND,
        &format!("url = \"{}\", redirects = 2", upstream.url()),
    );
    let mut host = config.start();
    let probe = host.probe("web").await;
    assert_eq!(probe["reason"], "config", "{probe}");
    let said = text(&probe["message"]);
    let line = format!("allow = [\"{}\"]", other.url());
    assert!(said.contains(&line) && said.contains("plugins.http-head"), "{said}");
    assert_eq!(other.connections(), 0);
    let denied = host.audit("action=capability-denied").await;
    assert_eq!(denied.len(), 1, "{denied:?}");
    assert_eq!(denied[0]["target"], "web");
    assert!(text(&denied[0]["outcome"]).contains(&line), "{denied:?}");
    // T3: a config failure needs no second opinion.
    assert_eq!(host.check("web").await["status"], "unhealthy");

    host.stop();
    host.restart(Some(&config.section(&format!("[plugins.http-head]\n{line}"))));
    assert_eq!(host.probe("web").await["outcome"], "pass");
    assert_eq!(other.requests()[0].path, "/there");
    assert_eq!(host.check("web").await["status"], "healthy");
}

/// Probes one target that must fail with this reason, before long, with a message that names
/// host and port (P8) and holds these words.
async fn fails(host: &Host, target: &str, reason: &str, peer: &str, words: &[&str]) -> Value {
    let probe = host.probe(target).await;
    assert_eq!((&probe["outcome"], text(&probe["reason"])), (&"fail".into(), reason), "{probe}");
    let said = text(&probe["message"]);
    for word in words.iter().chain([&peer]) {
        assert!(said.contains(word), "{target}: no {word:?} in {said:?}");
    }
    // H3.
    assert_eq!(measured(&probe, "status"), Some(0.0), "{probe}");
    assert_eq!(probe["recorded"], true, "{probe}");
    // P3: cut at its deadline, and not by an upstream that would go on for a minute.
    assert!(probe["took_seconds"].as_f64().unwrap() < 30.0, "{probe}");
    probe
}

/// H3, P3, P6, P7: each way of not answering has its reason, and status 0.
#[tokio::test]
async fn transport_failures() {
    let refused = ClosedPort::reserve();
    let full = FullBacklog::start();
    let hang = Upstream::script(Script::hang());
    let drip = Upstream::script(Script::drip("HTTP/1.1 200 OK\r\n", Duration::from_secs(5)));
    let reset = Upstream::script(Script::reset());
    let close = Upstream::script(Script::close());
    let garbage = Upstream::script(Script::garbage());
    let flood = Upstream::script([
        Step::ReadHead,
        Step::Send(b"HTTP/1.1 200 OK\r\nx: ".to_vec()),
        Step::Flood(1 << 24),
    ]);
    let short = &format!("{BY_HAND}\ntimeout = 0.5");
    let host = Config::new()
        .head("refused", BY_HAND, &refused.url())
        .head("full", short, &format!("http://{}", full.address()))
        .head("hang", short, &hang.url())
        .head("drip", short, &drip.url())
        .head("reset", BY_HAND, &reset.url())
        .head("close", BY_HAND, &close.url())
        .head("garbage", BY_HAND, &garbage.url())
        .head("flood", BY_HAND, &flood.url())
        .head("nowhere", BY_HAND, "http://no-such-host.invalid:81")
        .start();
    let named = |upstream: &Upstream| upstream.address().to_string();
    fails(&host, "refused", "network", &refused.address().to_string(), &["refused"]).await;
    fails(&host, "full", "timeout", &full.address().to_string(), &[]).await;
    fails(&host, "hang", "timeout", &named(&hang), &[]).await;
    fails(&host, "drip", "timeout", &named(&drip), &[]).await;
    fails(&host, "reset", "network", &named(&reset), &["reset"]).await;
    fails(&host, "close", "network", &named(&close), &["closed"]).await;
    fails(&host, "garbage", "answer", &named(&garbage), &["HTTP/1.1"]).await;
    fails(&host, "flood", "answer", &named(&flood), &[]).await;
    let nowhere = host.probe("nowhere").await;
    assert_eq!(nowhere["outcome"], "fail", "{nowhere}");
    assert!(text(&nowhere["message"]).contains("no-such-host.invalid"), "{nowhere}");
}

/// P6, P7, H5: certificates that are wrong are `tls`, a handshake that never comes is
/// `timeout`, and a good one is measured.
#[tokio::test]
async fn tls() {
    let ca = Ca::new().unwrap();
    let serve = |identity: Identity| {
        Setup::http(|_| Response::new(200)).tls(identity.server_config().unwrap())
    };
    let good = serve(ca.good_for_days(9).unwrap()).start();
    let expired = serve(ca.expired().unwrap()).start();
    let early = serve(ca.not_yet_valid().unwrap()).start();
    let wrong = serve(ca.wrong_host().unwrap()).start();
    let own = serve(Identity::self_signed().unwrap()).start();
    let slow = serve(ca.good().unwrap()).handshake_delay(Duration::from_secs(60)).start();
    let plain = Upstream::script([Step::Send(b"HTTP/1.1 400 Bad Request\r\n\r\n".to_vec())]);
    let folder = tempfile::tempdir().unwrap();
    let pem = folder.path().join("ca.pem");
    std::fs::write(&pem, ca.pem()).unwrap();
    let host = Config::new()
        .section(&format!("[tls]\nca_files = [{pem:?}]"))
        .head("good", BY_HAND, &good.url())
        .head("expired", BY_HAND, &expired.url())
        .head("early", BY_HAND, &early.url())
        .head("wrong", BY_HAND, &wrong.url())
        .head("own", BY_HAND, &own.url())
        .head("slow", &format!("{BY_HAND}\ntimeout = 0.5"), &slow.url())
        .head("plain", BY_HAND, &format!("https://{}", plain.address()))
        .start();
    let named = |upstream: &Upstream| upstream.address().to_string();
    fails(&host, "expired", "tls", &named(&expired), &["expired"]).await;
    fails(&host, "early", "tls", &named(&early), &["valid"]).await;
    fails(&host, "wrong", "tls", &named(&wrong), &["somewhere-else.test"]).await;
    fails(&host, "own", "tls", &named(&own), &[]).await;
    fails(&host, "slow", "timeout", &named(&slow), &["TLS"]).await;
    fails(&host, "plain", "tls", &named(&plain), &[]).await;
    let probe = host.probe("good").await;
    assert_eq!(probe["outcome"], "pass", "{probe}");
    assert!(measured(&probe, "tls").is_some_and(|seconds| seconds > 0.0), "{probe}");
    let days = measured(&probe, "certificate_days").unwrap();
    assert!((8.0..=9.0).contains(&days), "{days}");
}

/// G3: names are resolved by the host, and no proxy of the environment comes between.
#[tokio::test]
async fn no_proxy_from_the_environment() {
    let proxy = Upstream::status(200);
    let upstream = Upstream::status(204);
    let config = Config::new().head("address", BY_HAND, &upstream.url()).head(
        "name",
        BY_HAND,
        &upstream.url_by_name(),
    );
    let launch =
        ["HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"]
            .iter()
            .fold(config.launch(), |launch, name| launch.env(name, &proxy.url()));
    let host = Host::start(launch.env("NO_PROXY", "").env("no_proxy", ""));
    assert_eq!(measured(&host.probe("address").await, "status"), Some(204.0));
    let by_name = host.probe("name").await;
    assert_eq!(measured(&by_name, "status"), Some(204.0), "{by_name}");
    assert!(text(&by_name["subject"]).starts_with("localhost:"), "{by_name}");
    assert_eq!((proxy.connections(), upstream.connections()), (0, 2));
}
