//! Sockets of guests that bring a protocol of their own.

// Helpers of tests may fail as tests do.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use probehost_capability::resolve::Resolver;
use probehost_capability::sockets::{ErrorKind, Session};
use probehost_capability::{CallResult, Capabilities, Options, Run};
use probehost_model::Endpoint;
use probehost_model::grant::Grants;
use probehost_test_support::upstream::{ClosedPort, FullBacklog, Upstream};
use tokio::time::Instant;

/// A run that may connect to these, as its config names them.
fn session<const N: usize>(named: [(&str, u16); N], timeout: Duration) -> (Run, Session) {
    let table = [
        ("service.test", vec!["127.0.0.1"]),
        ("other.test", vec!["127.0.0.1"]),
        ("mixed.test", vec!["fe80::1", "127.0.0.1", "169.254.0.1"]),
        ("local.test", vec!["169.254.0.1"]),
    ];
    let resolver = Resolver::fixed(table.map(|(name, addresses)| {
        let addresses = addresses.iter().map(|text| text.parse::<IpAddr>().unwrap());
        (name.to_owned(), addresses.collect())
    }));
    let options = Options { resolver, system_roots: false, root_files: Vec::new() };
    let capabilities = Capabilities::new(options).unwrap();
    let named = named.map(|(host, port)| Endpoint::Tcp { host: host.to_owned(), port });
    let run = Run::new("tester", Grants::new(named, Vec::new()), Instant::now() + timeout);
    let session = capabilities.sockets().session(&run);
    (run, session)
}

const AMPLE: Duration = Duration::from_secs(60);

fn lo(port: u16) -> SocketAddr {
    SocketAddr::from(([127, 0, 0, 1], port))
}

/// G2, G3: an address is granted by a name once that was looked up and led there, with its own port.
#[tokio::test]
async fn a_name_grants_what_it_led_to() {
    let upstream = Upstream::status(200);
    let port = upstream.port();
    let (run, session) = session([("service.test", port), ("other.test", 1)], AMPLE);
    let denied = session.connect(lo(port)).await.unwrap_err();
    assert_eq!(denied.kind, ErrorKind::Denied);
    assert_eq!(
        denied.message,
        format!(
            "tcp://127.0.0.1:{port} is not named by the check's config, nor granted to tester; \
             to grant it, add allow = [\"tcp://127.0.0.1:{port}\"] under [plugins.tester] in the host's config"
        )
    );
    // It leads there too, and is granted with another port.
    session.lookup("other.test").await.unwrap();
    assert_eq!(session.connect(lo(port)).await.unwrap_err().kind, ErrorKind::Denied);
    assert_eq!(session.lookup("Service.Test.").await.unwrap(), [lo(port).ip()]);
    let connected = session.connect(lo(port)).await.unwrap();
    assert_eq!(connected.stream.peer_addr().unwrap(), lo(port));
    assert_eq!(session.connect(lo(port + 1)).await.unwrap_err().kind, ErrorKind::Denied);
    let calls = run.take_trace().calls;
    let ok = calls.iter().map(|call| call.result == CallResult::Ok).collect::<Vec<_>>();
    assert_eq!(ok, [false, true, false, true, true, false]);
}

/// G2: names of nothing that is granted are not asked for; an address is its own answer.
#[tokio::test]
async fn names_need_a_grant() {
    let (run, session) = session([("service.test", 80), ("gone.test", 80)], AMPLE);
    for (name, kind) in [
        ("other.test", ErrorKind::Denied),
        ("gone.test", ErrorKind::NameNotFound),
        ("not a name", ErrorKind::Invalid),
    ] {
        let error = session.lookup(name).await.unwrap_err();
        assert_eq!(error.kind, kind, "{error}");
    }
    let calls = run.take_trace().calls;
    let CallResult::Denied { grant_line, .. } = &calls[0].result else { panic!("{calls:?}") };
    assert_eq!(grant_line, "allow = [\"dns:other.test\"] under [plugins.tester]");
    for text in ["127.0.0.1", "::1", "169.254.0.1"] {
        assert_eq!(session.lookup(text).await.unwrap(), [text.parse::<IpAddr>().unwrap()]);
    }
    assert!(run.take_trace().calls.is_empty());
}

/// G3: addresses that need a literal grant are left out beside others, and are never dialled.
#[tokio::test]
async fn special_addresses_are_not_dialled() {
    let (_, session) = session([("mixed.test", 80), ("local.test", 80)], AMPLE);
    assert_eq!(session.lookup("mixed.test").await.unwrap(), [lo(0).ip()]);
    let found = session.lookup("local.test").await.unwrap();
    assert_eq!(found, ["169.254.0.1".parse::<IpAddr>().unwrap()]);
    let error = session.connect(SocketAddr::new(found[0], 80)).await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::Denied);
    assert!(
        error.message.contains("tcp://local.test:80 leads to 169.254.0.1, a link-local"),
        "{error}"
    );
    assert!(error.message.contains("allow = [\"tcp://169.254.0.1:80\"]"), "{error}");
}

/// P3, P7: a port that refuses, and one that does not answer until the deadline.
#[tokio::test]
async fn what_does_not_connect_says_why() {
    let (refuses, hangs) = (ClosedPort::reserve(), FullBacklog::start());
    let (closed, full) = (refuses.address(), hangs.address());
    let names = [("127.0.0.1", closed.port()), ("127.0.0.1", full.port())];
    let (run, session) = session(names, Duration::from_millis(300));
    let error = session.connect(closed).await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::Refused, "{error}");
    let error = session.connect(full).await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::Timeout, "{error}");
    assert!(
        error.message.starts_with(&format!("timeout after 300 ms connecting to {full}")),
        "{error}"
    );
    assert_eq!(run.timeout_message(), Some(error.message));
    assert_eq!(session.connect(lo(0)).await.unwrap_err().kind, ErrorKind::Invalid);
}
