//! Certificates that are wrong in one way each fail for that reason alone.

use std::time::{Duration, Instant};

use probehost_test_support::certs::{Ca, CertError, Identity};
use probehost_test_support::raw::{HEAD, exchange_tls};
use probehost_test_support::upstream::{Response, Setup, Upstream};
use probehost_test_support::wait::eventually;

const LIMIT: Duration = Duration::from_secs(10);

/// An HTTPS upstream that shows this certificate.
fn with(identity: Identity) -> Result<Upstream, CertError> {
    Ok(Setup::http(|_| Response::new(200)).tls(identity.server_config()?).start())
}

#[test]
fn a_good_certificate_is_accepted_by_name_and_by_address() {
    let ca = Ca::new().unwrap();
    let upstream = with(ca.good().unwrap()).unwrap();
    for host in ["localhost", "127.0.0.1"] {
        let answer =
            exchange_tls(upstream.address(), host, ca.client_config().unwrap(), HEAD, LIMIT);
        assert!(answer.unwrap().starts_with(b"HTTP/1.1 200 "), "{host}");
    }
    assert_eq!(upstream.failed_handshakes(), 0);
    assert!(upstream.url().starts_with("https://127.0.0.1:"));
    assert!(ca.pem().starts_with("-----BEGIN CERTIFICATE-----"));
}

#[tokio::test]
async fn a_bad_certificate_is_rejected_for_its_own_fault() {
    let ca = Ca::new().unwrap();
    let cases = [
        (ca.expired().unwrap(), "certificate expired"),
        (ca.not_yet_valid().unwrap(), "not valid yet"),
        (ca.wrong_host().unwrap(), "not valid for name"),
        (Identity::self_signed().unwrap(), "UnknownIssuer"),
        (Ca::new().unwrap().good().unwrap(), "BadSignature"),
    ];
    for (identity, fault) in cases {
        let upstream = with(identity).unwrap();
        let config = ca.client_config().unwrap();
        let error = exchange_tls(upstream.address(), "localhost", config, HEAD, LIMIT)
            .unwrap_err()
            .to_string();
        assert!(error.contains(fault), "wanted {fault:?}: {error}");
        eventually(
            "it shows",
            LIMIT,
            || async { upstream.failed_handshakes() },
            |failed| *failed == 1,
        )
        .await;
        assert!(upstream.requests().is_empty());
    }
}

#[test]
fn a_slow_handshake_takes_at_least_its_delay() {
    let delay = Duration::from_millis(300);
    let ca = Ca::new().unwrap();
    let config = ca.good().unwrap().server_config().unwrap();
    let upstream = Setup::http(|_| Response::new(200)).tls(config).handshake_delay(delay).start();
    let begun = Instant::now();
    exchange_tls(upstream.address(), "localhost", ca.client_config().unwrap(), HEAD, LIMIT)
        .unwrap();
    assert!(begun.elapsed() >= delay);
}
