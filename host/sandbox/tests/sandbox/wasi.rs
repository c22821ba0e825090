//! The network of WASI: what is granted works, and nothing else does.

use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

use probehost_capability::resolve::Resolver;
use probehost_capability::{Call, CallResult, Capabilities, Options, Run};
use probehost_model::grant::Grants;
use probehost_model::{Endpoint, Origin, Outcome, Reason, Scheme};
use probehost_sandbox::{CheckRequest, Fault, Plugin};
use probehost_test_support::certs::Ca;
use probehost_test_support::upstream::{
    ClosedPort, FullBacklog, Response, Script, Setup, Step, Upstream,
};
use probehost_test_support::wait::eventually;
use tokio::time::Instant;

use crate::support::{AMPLE, Probed, load, well};

/// Long enough for a busy machine to get as far as the wait.
const SHORT: Duration = Duration::from_millis(700);

/// Names that lead where the tests want them to, and whose certificates are trusted.
fn capabilities(root_files: Vec<PathBuf>) -> Capabilities {
    let table = [
        ("service.test", vec!["127.0.0.1"]),
        ("metadata.test", vec!["169.254.169.254"]),
        ("both.test", vec!["fe80::1", "127.0.0.1"]),
    ];
    let resolver = Resolver::fixed(table.map(|(name, addresses)| {
        let addresses = addresses.iter().map(|text| text.parse::<IpAddr>().unwrap());
        (name.to_owned(), addresses.collect())
    }));
    Capabilities::new(Options { resolver, system_roots: false, root_files }).unwrap()
}

async fn probe(plugin: &Plugin, config: &str, grants: Grants, timeout: Duration) -> Probed {
    probe_by(capabilities(Vec::new()), plugin, config, grants, timeout).await
}

async fn probe_by(
    capabilities: Capabilities,
    plugin: &Plugin,
    config: &str,
    grants: Grants,
    timeout: Duration,
) -> Probed {
    let run = Run::new(plugin.manifest().name.clone(), grants, Instant::now() + timeout);
    let (target, check) = ("target", "check");
    let request = CheckRequest { config, target, check, run: run.clone(), capabilities };
    let report = plugin.check(request).await;
    Probed { report, trace: run.take_trace() }
}

/// Grants these endpoints, as if the check's config named them.
fn named(endpoints: impl IntoIterator<Item = Endpoint>) -> Grants {
    Grants::new(endpoints, Vec::new())
}

/// Grants this, as an operator does.
fn allowed(pattern: &str) -> Grants {
    Grants::new([], vec![pattern.parse().unwrap()])
}

fn tcp(host: &str, port: u16) -> Endpoint {
    Endpoint::Tcp { host: host.to_owned(), port }
}

fn http(host: &str, port: u16) -> Endpoint {
    Endpoint::Http(Origin { scheme: Scheme::Http, host: host.to_owned(), port })
}

fn to(host: &str, port: u16, act: &str) -> String {
    format!(r#"{{"host":"{host}","port":{port},"act":"{act}"}}"#)
}

/// What was denied, and the line that grants it.
fn denied(probed: &Probed) -> Vec<(String, String)> {
    let denied = probed.trace.calls.iter().filter_map(|call| match &call.result {
        CallResult::Denied { endpoint, grant_line } => {
            Some((endpoint.to_string(), grant_line.clone()))
        }
        _ => None,
    });
    denied.collect()
}

fn failure(probed: &Probed) -> (Reason, &str) {
    match &probed.report.outcome {
        Outcome::Fail(failure) => (failure.reason, failure.message()),
        other => panic!("{other:?} {:?}", probed.trace),
    }
}

/// G2, G3: by an address, by a name that leads there, and with the origin of HTTP granted.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_granted_can_be_connected_to() {
    let upstream = Upstream::http(|_| Response::new(200).body("hello").closing());
    let (client, port) = (load("tcp_client").await, upstream.port());
    for (host, grants) in [
        ("127.0.0.1", named([tcp("127.0.0.1", port)])),
        ("127.0.0.1", named([http("127.0.0.1", port)])),
        ("127.0.0.1", allowed(&format!("tcp://127.0.0.0/8:{port}"))),
        ("service.test", named([tcp("service.test", port)])),
        ("service.test", named([http("service.test", port)])),
        ("service.test", allowed(&format!("tcp://*.test:{port}"))),
        ("both.test", named([tcp("both.test", port)])),
    ] {
        let probed = probe(&client, &to(host, port, "get"), grants, AMPLE).await;
        assert_eq!(probed.report.outcome, Outcome::Pass, "{host} {:?}", probed.trace);
        assert!(probed.measured("bytes") > Some(5.0));
        assert!(probed.lines().contains(&upstream.address().to_string().as_str()));
        let ok = |call: &Call| call.result == CallResult::Ok;
        assert!(probed.trace.calls.iter().all(ok), "{:?}", probed.trace.calls);
        let last = probed.trace.calls.last().unwrap();
        assert_eq!(
            (last.capability, last.what.as_str()),
            ("tcp", format!("connect to {host}:{port}").as_str())
        );
    }
    let look = || async { upstream.open_connections() };
    eventually("all are closed", AMPLE, look, |open| *open == 0).await;
}

/// G2, G3: another port, another name, an address that only an ungranted name has, an address
/// that needs a literal grant: each is denied with the line that grants it, and no packet leaves.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_not_granted_is_denied() {
    let upstream = Upstream::status(200);
    let (client, port) = (load("tcp_client").await, upstream.port());
    let other = port.wrapping_add(1).max(1);
    for (host, at, grants, endpoint) in [
        ("127.0.0.1", port, Grants::default(), format!("tcp://127.0.0.1:{port}")),
        ("127.0.0.1", port, named([tcp("127.0.0.1", other)]), format!("tcp://127.0.0.1:{port}")),
        // The name is granted, and nobody asked for it.
        ("127.0.0.1", port, named([tcp("service.test", port)]), format!("tcp://127.0.0.1:{port}")),
        // SSH is spoken by the host alone.
        ("127.0.0.1", port, allowed("ssh://*:*"), format!("tcp://127.0.0.1:{port}")),
        (
            "service.test",
            port,
            named([tcp("service.test", other)]),
            format!("tcp://service.test:{port}"),
        ),
        ("service.test", port, Grants::default(), "dns:service.test".to_owned()),
        ("service.test", port, named([tcp("127.0.0.1", port)]), "dns:service.test".to_owned()),
        (
            "metadata.test",
            80,
            named([tcp("metadata.test", 80)]),
            "tcp://169.254.169.254:80".to_owned(),
        ),
        ("metadata.test", 80, allowed("*://*:*"), "tcp://169.254.169.254:80".to_owned()),
        (
            "169.254.169.254",
            80,
            allowed("tcp://169.254.0.0/16:*"),
            "tcp://169.254.169.254:80".to_owned(),
        ),
    ] {
        let probed = probe(&client, &to(host, at, "get"), grants, AMPLE).await;
        assert_eq!(failure(&probed).0, Reason::Network, "{host}");
        let line = format!("allow = [\"{endpoint}\"] under [plugins.tcp-client]");
        assert_eq!(denied(&probed), [(endpoint, line)], "{host}:{at}");
    }
    assert_eq!(upstream.connections(), 0);
}

/// G2: nothing can listen, whatever is granted.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_can_listen() {
    let client = load("tcp_client").await;
    let probed = probe(&client, &to("127.0.0.1", 1, "listen"), allowed("*://*:*"), AMPLE).await;
    assert_eq!(failure(&probed).0, Reason::Network);
    assert!(probed.lines()[0].starts_with("PermissionDenied"), "{:?}", probed.lines());
    let [call] = &probed.trace.calls[..] else { panic!("{:?}", probed.trace) };
    assert_eq!(call.what, "bind to 127.0.0.1:0");
    let probed = probe(&client, &to("127.0.0.1", 1, "datagram"), allowed("*://*:*"), AMPLE).await;
    assert_eq!(failure(&probed).0, Reason::Network);
}

/// P2: a plan has no network by WASI either.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_plan_can_not_connect() {
    let upstream = Upstream::status(200);
    for host in ["127.0.0.1", "localhost"] {
        let config = to(host, upstream.port(), "plan");
        let plan = load("tcp_client").await.plan(&config).await.unwrap();
        assert_eq!(plan.subject, "connected: false");
    }
    assert_eq!(upstream.connections(), 0);
}

/// P3, P5, P8: who waits for bytes when the deadline comes has met a slow target; who sleeps or
/// computes has not. The connection is closed then.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_deadline_ends_a_wait() {
    let client = load("tcp_client").await;
    let upstream = Upstream::script([Step::Send(b"hello".to_vec()), Step::Hang]);
    let (port, peer) = (upstream.port(), upstream.address().to_string());
    for act in ["get", "sip", "pour", "sleep", "spin"] {
        let grants = named([tcp("127.0.0.1", port)]);
        let probed = probe(&client, &to("127.0.0.1", port, act), grants, SHORT).await;
        assert!(act == "pour" || probed.report.stats.duration >= SHORT, "{act}");
        match act {
            "sleep" => assert_eq!(probed.fault().0, &Fault::Sleeping),
            "spin" => assert_eq!(probed.fault().0, &Fault::Looping),
            // The peer reads nothing, and what it may be sent is limited: whichever is met first.
            "pour" => assert_eq!(probed.report.fault, None),
            _ => {
                let (reason, message) = failure(&probed);
                assert_eq!(reason, Reason::Timeout, "{act}: {message}");
                let end = format!("reading the answer of {peer}, 5 bytes in");
                assert!(message.ends_with(&end), "{act}: {message}");
                let last = probed.trace.calls.last().unwrap();
                assert_eq!(last.result, CallResult::TimedOut(message.to_owned()));
            }
        }
    }
    let look = || async { upstream.open_connections() };
    eventually("all are closed", AMPLE, look, |open| *open == 0).await;
    well().await;
}

/// P3, P5, P8: so has who waits for the connection itself. One that is refused is no timeout.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_deadline_ends_a_connect() {
    let client = load("tcp_client").await;
    let full = FullBacklog::start();
    let grants = named([tcp("127.0.0.1", full.address().port())]);
    let config = to("127.0.0.1", full.address().port(), "get");
    let probed = probe(&client, &config, grants, SHORT).await;
    let (reason, message) = failure(&probed);
    assert_eq!(reason, Reason::Timeout, "{message}");
    assert_eq!(message, format!("timeout after 700 ms connecting to {}", full.address()));
    assert_eq!(probed.trace.calls.len(), 1, "{:?}", probed.trace);

    let closed = ClosedPort::reserve();
    let grants = named([tcp("127.0.0.1", closed.address().port())]);
    let config = to("127.0.0.1", closed.address().port(), "get");
    let probed = probe(&client, &config, grants, AMPLE).await;
    assert_eq!(failure(&probed).0, Reason::Network);
    assert!(probed.lines()[0].starts_with("ConnectionRefused"), "{:?}", probed.lines());
}

/// P4: a probe that is dropped while it waits closes its connection.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_dropped_probe_leaves_no_connection() {
    let upstream = Upstream::script(Script::hang());
    let port = upstream.port();
    let config = format!(r#"{{"origin":"{}"}}"#, upstream.url());
    for (client, config) in [("tcp_client", to("127.0.0.1", port, "get")), ("http_client", config)]
    {
        let client = load(client).await;
        let before = upstream.connections();
        let grants = named([http("127.0.0.1", port)]);
        tokio::select! {
            probed = probe(&client, &config, grants, AMPLE) => panic!("{:?}", probed.report),
            _ = eventually("it has connected", AMPLE, || async { upstream.connections() }, |count| *count > before) => {}
        }
        let look = || async { upstream.open_connections() };
        eventually("it is closed", AMPLE, look, |open| *open == 0).await;
    }
}

/// G4: bytes and sockets are limited.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn bytes_and_sockets_are_limited() {
    let client = load("tcp_client").await;
    let flood = Upstream::script([Step::Flood(64 << 20)]);
    let grants = named([tcp("127.0.0.1", flood.port())]);
    let probed = probe(&client, &to("127.0.0.1", flood.port(), "get"), grants, AMPLE).await;
    assert_eq!(failure(&probed).0, Reason::Network);
    let last = probed.trace.calls.last().unwrap();
    let words = "a run sends and receives at most 4 MiB over WASI";
    assert_eq!(last.result, CallResult::Failed(words.to_owned()));

    let idle = Upstream::script(Script::hang());
    let grants = named([tcp("127.0.0.1", idle.port())]);
    let probed = probe(&client, &to("127.0.0.1", idle.port(), "hoard"), grants, AMPLE).await;
    assert_eq!(probed.measured("open"), Some(8.0), "{:?}", probed.report);
    let look = || async { idle.connections() };
    eventually("those were all", AMPLE, look, |count| *count == 8).await;
}

/// G2: requests by `wasi:http` go the way of our own, with a body, by name and by address.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn requests_that_are_granted_are_sent() {
    let upstream = Upstream::http(|request| {
        Response::new(201).header("x-size", "1").body(vec![b'x'; request.body.len() + 7])
    });
    let (client, port) = (load("http_client").await, upstream.port());
    for host in ["127.0.0.1", "service.test"] {
        let config =
            format!(r#"{{"origin":"http://{host}:{port}","path":"/a?b=c","body":"hello"}}"#);
        let probed = probe(&client, &config, named([http(host, port)]), AMPLE).await;
        assert_eq!(probed.report.outcome, Outcome::Pass, "{:?}", probed.trace);
        assert_eq!((probed.measured("status"), probed.measured("body")), (Some(201.0), Some(12.0)));
        let [call] = &probed.trace.calls[..] else { panic!("{:?}", probed.trace) };
        assert_eq!((call.capability, &call.result), ("http", &CallResult::Ok));
        assert_eq!(call.what, format!("POST http://{host}:{port}/a"));
    }
    let [request, _] = &upstream.requests()[..] else { panic!("{:?}", upstream.requests()) };
    assert_eq!((request.method.as_str(), request.path.as_str()), ("POST", "/a?b=c"));
    assert_eq!(
        (request.header("x-probe"), request.header("content-length")),
        (Some("yes"), Some("5"))
    );
    assert_eq!(request.header("host"), Some(format!("127.0.0.1:{port}").as_str()));
}

/// G2: certificates are judged by the roots of the host, and `http` is no grant for `https`.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn requests_over_tls_are_judged_by_the_host() {
    let ca = Ca::new().unwrap();
    let setup = Setup::http(|_| Response::new(200).body("hello"));
    let upstream = setup.tls(ca.good().unwrap().server_config().unwrap()).start();
    let roots = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(roots.path(), ca.pem()).unwrap();
    let client = load("http_client").await;
    let config = format!(r#"{{"origin":"https://127.0.0.1:{}"}}"#, upstream.port());
    let grants = allowed(&format!("https://127.0.0.1:{}", upstream.port()));
    let trusting = capabilities(vec![roots.path().to_owned()]);

    let probed = probe_by(trusting.clone(), &client, &config, grants.clone(), AMPLE).await;
    assert_eq!(probed.report.outcome, Outcome::Pass, "{:?}", probed.trace);
    assert_eq!(probed.measured("body"), Some(5.0));
    let other = Ca::new().unwrap();
    std::fs::write(roots.path(), other.pem()).unwrap();
    let trusting_other = capabilities(vec![roots.path().to_owned()]);
    let probed = probe_by(trusting_other, &client, &config, grants, AMPLE).await;
    assert!(probed.lines()[0].contains("TlsCertificateError"), "{:?}", probed.lines());
    let before = upstream.connections();
    let plain = allowed(&format!("http://127.0.0.1:{}", upstream.port()));
    let probed = probe_by(trusting, &client, &config, plain, AMPLE).await;
    assert_eq!(denied(&probed).len(), 1, "{:?}", probed.trace);
    assert_eq!(upstream.connections(), before);
}

/// G2, G3: a request that is not granted is denied as one of our own is; so is a name that leads
/// to a metadata address. A grant of TCP is none of HTTP.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn requests_that_are_not_granted_are_denied() {
    let upstream = Upstream::status(200);
    let (client, port) = (load("http_client").await, upstream.port());
    for (host, at, grants, endpoint) in [
        ("127.0.0.1", port, Grants::default(), format!("http://127.0.0.1:{port}")),
        ("127.0.0.1", port, named([tcp("127.0.0.1", port)]), format!("http://127.0.0.1:{port}")),
        (
            "service.test",
            port,
            named([http("127.0.0.1", port)]),
            format!("http://service.test:{port}"),
        ),
        (
            "metadata.test",
            80,
            named([http("metadata.test", 80)]),
            "http://169.254.169.254:80".to_owned(),
        ),
    ] {
        let config = format!(r#"{{"origin":"http://{host}:{at}"}}"#);
        let probed = probe(&client, &config, grants, AMPLE).await;
        assert_eq!(failure(&probed).0, Reason::Network);
        assert!(probed.lines()[0].contains("HttpRequestDenied"), "{:?}", probed.lines());
        let line = format!("allow = [\"{endpoint}\"] under [plugins.http-client]");
        assert_eq!(denied(&probed), [(endpoint, line)]);
    }
    assert_eq!(upstream.connections(), 0);
}

/// P3, P5, P8, G4: a stalled answer is a timeout in the host's words, before its head and within
/// its body; an answer over the limit is cut; answers that are held are few.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn requests_keep_to_their_limits() {
    let client = load("http_client").await;
    let half = b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhello".to_vec();
    for (script, words) in [
        (vec![Step::Hang], "waiting for the first byte from 127.0.0.1:"),
        (vec![Step::ReadHead, Step::Send(half), Step::Hang], "reading the answer of 127.0.0.1:"),
    ] {
        let upstream = Upstream::script(script);
        let config = format!(r#"{{"origin":"{}"}}"#, upstream.url());
        let grants = named([http("127.0.0.1", upstream.port())]);
        let probed = probe(&client, &config, grants, SHORT).await;
        let (reason, message) = failure(&probed);
        assert_eq!(reason, Reason::Timeout, "{message}");
        assert!(
            message.starts_with("timeout after 700 ms ") && message.contains(words),
            "{message}"
        );
        let look = || async { upstream.open_connections() };
        eventually("it is closed", AMPLE, look, |open| *open == 0).await;
    }

    let endless = b"HTTP/1.1 200 OK\r\n\r\n".to_vec();
    let flood = Upstream::script([Step::ReadHead, Step::Send(endless), Step::Flood(64 << 20)]);
    let config = format!(r#"{{"origin":"{}"}}"#, flood.url());
    let probed = probe(&client, &config, named([http("127.0.0.1", flood.port())]), AMPLE).await;
    assert_eq!(failure(&probed).0, Reason::Network);
    let last = probed.trace.calls.last().unwrap();
    assert!(
        matches!(&last.result, CallResult::Failed(text) if text.contains("more than")),
        "{last:?}"
    );

    let upstream = Upstream::http(|_| Response::new(200).body("hello"));
    let config = format!(r#"{{"origin":"{}","hoard":20}}"#, upstream.url());
    let grants = named([http("127.0.0.1", upstream.port())]);
    let probed = probe(&client, &config, grants, AMPLE).await;
    assert_eq!(probed.report.outcome, Outcome::Pass, "{:?}", probed.report);
    assert_eq!(probed.measured("hoarded"), Some(8.0));
}
