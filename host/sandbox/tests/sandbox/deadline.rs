//! Deadlines and cancellation (contract P3 to P5).

use std::time::Duration;

use probehost_capability::Run;
use probehost_model::grant::Grants;
use probehost_model::{Outcome, Reason};
use probehost_sandbox::{Catalog, Fault};
use probehost_test_support::upstream::{Script, Upstream};
use probehost_test_support::wait::eventually;
use tokio::time::Instant;

use crate::support::{AMPLE, load, load_into, probe, request, small_sandbox};

/// P3, P5, P8: a target that accepts and stalls is a timeout that names host and port.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stalled_target_is_a_timeout() {
    let upstream = Upstream::script(Script::hang());
    let config = format!(r#"{{"url":"{}"}}"#, upstream.url());
    let probed = probe(&load("http_get").await, &config, Duration::from_millis(300)).await;
    let Outcome::Fail(failure) = &probed.report.outcome else { panic!("{:?}", probed.report) };
    assert_eq!(failure.reason, Reason::Timeout);
    assert!(failure.message().contains(&upstream.address().to_string()), "{failure:?}");
    assert_eq!(probed.trace.calls.len(), 1);
}

/// P4: a probe that is dropped gives back its place and its connection.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_dropped_probe_leaves_nothing() {
    let catalog = Catalog::new(small_sandbox(1), std::collections::BTreeMap::new());
    let upstream = Upstream::script(Script::hang());
    let config = format!(r#"{{"url":"{}"}}"#, upstream.url());
    for (fixture, config) in
        [("loop_in_check", "{}"), ("sleepy", "{}"), ("http_get", config.as_str())]
    {
        let plugin = load_into(&catalog, fixture).await;
        let plan = plugin.plan(config).await.unwrap();
        let run =
            Run::new(fixture, Grants::new(plan.endpoints, Vec::new()), Instant::now() + AMPLE);
        let probe = plugin.check(request(config, &run));
        let waited = async {
            if fixture == "http_get" {
                let open = || async { upstream.open_connections() };
                eventually("the request has come", AMPLE, open, |open| *open == 1).await;
            } else {
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        };
        tokio::select! {
            report = probe => panic!("{report:?}"),
            () = waited => {}
        }
        // The only place is free again.
        let echo = load_into(&catalog, "echo").await;
        assert_eq!(probe_once(&echo).await, Outcome::Pass);
    }
    let open = || async { upstream.open_connections() };
    eventually("the connection is closed", AMPLE, open, |open| *open == 0).await;
}

/// P3: waiting for a place counts too, and is nobody's fault but the host's.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_probe_that_gets_no_place_is_inconclusive() {
    let catalog = Catalog::new(small_sandbox(1), std::collections::BTreeMap::new());
    let (sleepy, echo) = (load_into(&catalog, "sleepy").await, load_into(&catalog, "echo").await);
    let run = Run::new("sleepy", Grants::default(), Instant::now() + AMPLE);
    tokio::select! {
        report = sleepy.check(request("{}", &run)) => panic!("{report:?}"),
        probed = probe_soon(&echo) => {
            assert!(matches!(probed.fault().0, Fault::Host(_)), "{:?}", probed.report);
        }
    }
    assert_eq!(probe_once(&echo).await, Outcome::Pass);
}

async fn probe_soon(plugin: &probehost_sandbox::Plugin) -> crate::support::Probed {
    // Without a plan, which would wait for a place for itself.
    tokio::task::yield_now().await;
    crate::support::probe_with(plugin, "{}", Vec::new(), Duration::from_millis(100)).await
}

async fn probe_once(plugin: &probehost_sandbox::Plugin) -> Outcome {
    probe(plugin, "{}", AMPLE).await.report.outcome
}
