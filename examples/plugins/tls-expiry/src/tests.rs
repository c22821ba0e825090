//! Certificates good, short and bad.

use probehost_sdk::native::{self, tcp};
use probehost_sdk::tcp::{Error, ErrorKind, Phase};
use probehost_sdk::{Address, Endpoint, Outcome, Report};

use super::*;

fn shown(config: &str, days_left: f64) -> Report {
    let peer = tcp::Peer::new(|_| Vec::new()).tls(Ok(tcp::certificate(days_left)));
    tcp::answer_with(Ok(peer));
    native::check::<TlsExpiry>(config)
}

fn measured(report: &Report, name: &str) -> Option<f64> {
    report.measurements.iter().find(|m| m.name == name).map(|m| m.value)
}

fn failure(outcome: &Outcome) -> Option<(Reason, &str)> {
    match outcome {
        Outcome::Fail(failure) => Some((failure.reason, &failure.message)),
        _ => None,
    }
}

/// The default is a fortnight, and a certificate that has it passes.
#[test]
fn days_are_counted() {
    let plain = r#"{"host": "web", "port": 443}"#;
    let strict = r#"{"host": "web", "port": 443, "days": 30}"#;
    let lax = r#"{"host": "web", "port": 443, "days": 0, "trusted": false}"#;
    let says = "the certificate of web:443 expires in 13.9 days, 14 are wanted";
    for (config, left, expected) in [
        (plain, 14.0, None),
        (plain, 13.9, Some((Reason::Answer, says))),
        (strict, 30.5, None),
        (
            strict,
            2.25,
            Some((Reason::Answer, "the certificate of web:443 expires in 2.2 days, 30 are wanted")),
        ),
        (lax, 0.1, None),
        (lax, -3.0, Some((Reason::Tls, "the certificate of web:443 expired 3.0 days ago"))),
    ] {
        let report = shown(config, left);
        assert_eq!(failure(&report.outcome), expected, "{config} {left}");
        assert_eq!(measured(&report, "certificate_days"), Some(left));
        assert!(measured(&report, "connect").is_some() && measured(&report, "tls").is_some());
    }
}

/// P6: a certificate that is refused is a `tls` failure, with its days.
#[test]
fn a_refused_certificate() {
    let mut error = Error::new(ErrorKind::Tls, Phase::Tls, "the certificate has expired");
    error.certificate = Some(Box::new(tcp::certificate(-1.5)));
    tcp::answer_with(Ok(tcp::Peer::new(|_| Vec::new()).tls(Err(error))));
    let report = native::check::<TlsExpiry>(r#"{"host": "web", "port": 443}"#);
    assert_eq!(failure(&report.outcome), Some((Reason::Tls, "the certificate has expired")));
    assert_eq!(measured(&report, "certificate_days"), Some(-1.5));
}

/// Which name is asked for, and whether the certificate has to be trusted.
#[test]
fn handshakes() {
    shown(r#"{"host": "10.0.0.1", "port": 443, "server_name": "web.example"}"#, 90.0);
    shown(r#"{"host": "web", "port": 8443, "trusted": false}"#, 90.0);
    let named = (Some("web.example".to_owned()), TlsMode::Verify);
    assert_eq!(tcp::handshakes(), [named, (None, TlsMode::Inspect)]);
}

/// P2: the plan names the server; a wrong config is said by its key.
#[test]
fn plans() {
    let plan = native::plan::<TlsExpiry>(r#"{"host": "::1", "port": 443}"#).unwrap();
    assert_eq!(plan.subject, "[::1]:443");
    assert_eq!(plan.endpoints, [Endpoint::Tcp(Address { host: "::1".to_owned(), port: 443 })]);
    for (config, path) in [
        (r#"{"host": "", "port": 443}"#, "host"),
        (r#"{"host": "web", "port": 0}"#, "port"),
        (r#"{"host": "web", "port": 443, "server_name": ""}"#, "server_name"),
        (r#"{"host": "web", "port": 443, "days": -1}"#, "days"),
    ] {
        assert_eq!(native::plan::<TlsExpiry>(config).unwrap_err().path, path);
    }
}
