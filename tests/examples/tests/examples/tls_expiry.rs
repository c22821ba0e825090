//! `tls-expiry` against servers with certificates of every kind.

use probehost_model::{Outcome, Reason};
use probehost_test_support::certs::{Ca, Identity};
use probehost_test_support::upstream::{Script, Setup, Upstream};
use serde_json::{Value, json};

use crate::{AMPLE, SHORT, failure, measured, probe};

fn serve(identity: Identity) -> Upstream {
    Setup::script(Script::hang()).tls(identity.server_config().unwrap()).start()
}

fn config(upstream: &Upstream) -> Value {
    json!({"host": "127.0.0.1", "port": upstream.port()})
}

/// P6: good for long enough, good for too short, and bad.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn certificates() {
    let ca = Ca::new().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("ca.pem");
    std::fs::write(&root, ca.pem()).unwrap();
    let with = |upstream: Upstream, extra: Value| {
        let mut config = config(&upstream);
        config.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
        let root = root.clone();
        async move {
            let _serving = upstream;
            probe("tls-expiry", &config, AMPLE, vec![root]).await.0
        }
    };
    let report = with(serve(ca.good().unwrap()), json!({})).await;
    assert_eq!(report.outcome, Outcome::Pass);
    assert!(measured(&report, "certificate_days").is_some_and(|days| (19.0..20.0).contains(&days)));
    assert!(measured(&report, "connect").is_some() && measured(&report, "tls").is_some());

    for (identity, extra, reason, says) in [
        (
            ca.good_for_days(3).unwrap(),
            json!({}),
            Reason::Answer,
            "expires in 3.0 days, 14 are wanted",
        ),
        (ca.good().unwrap(), json!({"days": 25}), Reason::Answer, "expires in 20.0 days, 25 are"),
        (ca.expired().unwrap(), json!({}), Reason::Tls, "has expired on "),
        (ca.expired().unwrap(), json!({"trusted": false}), Reason::Tls, "expired 1.0 days ago"),
        (ca.wrong_host().unwrap(), json!({}), Reason::Tls, "is not for 127.0.0.1"),
        (Identity::self_signed().unwrap(), json!({}), Reason::Tls, "does not trust"),
    ] {
        let report = with(serve(identity), extra).await;
        let (got, message) = failure(&report);
        assert_eq!(got, reason, "{message}");
        assert!(message.contains(says), "{message}");
        assert!(measured(&report, "certificate_days").is_some(), "{message}");
    }

    for (identity, extra) in [
        (ca.good_for_days(3).unwrap(), json!({"days": 2})),
        (ca.wrong_host().unwrap(), json!({"server_name": "somewhere-else.test"})),
        (Identity::self_signed().unwrap(), json!({"trusted": false})),
    ] {
        let report = with(serve(identity), extra).await;
        assert_eq!(report.outcome, Outcome::Pass);
    }
}

/// P3: a server that never finishes the handshake is a timeout that names the phase.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stalled_handshake() {
    let upstream = Upstream::script(Script::hang());
    let mut config = config(&upstream);
    config["trusted"] = false.into();
    let (report, _) = probe("tls-expiry", &config, SHORT, Vec::new()).await;
    let (reason, message) = failure(&report);
    assert_eq!(reason, Reason::Timeout, "{message}");
    assert!(message.contains("in the TLS handshake with 127.0.0.1:"), "{message}");
}
