//! What each answer says, and what a check asks for.

use probehost_sdk::native::{self, tcp};
use probehost_sdk::tcp::{Error, ErrorKind, Phase, TlsMode};
use probehost_sdk::{Address, Endpoint, Outcome, Reason, Report};

use super::*;

const CONFIG: &str = r#"{"host": "cache.internal", "port": 6379}"#;

fn answered(config: &str, answer: &str) -> Report {
    let answer = answer.as_bytes().to_vec();
    tcp::answer_with(Ok(tcp::Peer::new(move |_| answer.clone())));
    native::check::<RedisPing>(config)
}

fn reason(outcome: &Outcome) -> Option<Reason> {
    match outcome {
        Outcome::Fail(failure) => Some(failure.reason),
        _ => None,
    }
}

#[test]
fn pong_passes() {
    let report = answered(CONFIG, "+PONG\r\n");
    assert_eq!(report.outcome, Outcome::Pass);
    assert_eq!(tcp::sent(), b"PING\r\n");
    assert_eq!(tcp::connected(), [Address { host: "cache.internal".to_owned(), port: 6379 }]);
    let names: Vec<_> = report.measurements.iter().map(|m| m.name.as_str()).collect();
    assert_eq!(names, ["connect", "answer"]);
}

/// P6, P8: each answer has its reason, and no message holds what the server wrote.
#[test]
fn answers_are_judged() {
    let secured = r#"{"host": "cache.internal", "port": 6379, "password": true}"#;
    for (config, answer, expected) in [
        (CONFIG, "-NOAUTH Authentication required.\r\n", Some(Reason::Auth)),
        (secured, "-NOAUTH Authentication required.\r\n", None),
        (secured, "+PONG\r\n", Some(Reason::Answer)),
        (CONFIG, "-DENIED Redis is running in protected mode\r\n", Some(Reason::Auth)),
        (CONFIG, "-LOADING secret\r\n", Some(Reason::Answer)),
        (CONFIG, "-MASTERDOWN secret\r\n", Some(Reason::Answer)),
        (CONFIG, "-ERR secret\r\n", Some(Reason::Answer)),
        (CONFIG, "HTTP/1.1 400 secret\r\n", Some(Reason::Answer)),
        (CONFIG, "", Some(Reason::Network)),
    ] {
        let outcome = answered(config, answer).outcome;
        assert_eq!(reason(&outcome), expected, "{answer}: {outcome:?}");
        if let Outcome::Fail(failure) = outcome {
            assert!(failure.message.starts_with("cache.internal:6379 "), "{failure:?}");
            assert!(!failure.message.contains("secret"), "{failure:?}");
        }
    }
}

/// P7: an error of the connection keeps its cause.
#[test]
fn errors_keep_their_cause() {
    tcp::answer_with(Err(Error::new(ErrorKind::Refused, Phase::Connect, "refused")));
    let outcome = native::check::<RedisPing>(CONFIG).outcome;
    assert_eq!(reason(&outcome), Some(Reason::Network));
    let silent = Error::new(ErrorKind::Timeout, Phase::Read, "timeout");
    tcp::answer_with(Ok(tcp::Peer::new(|_| Vec::new()).then_failing(silent)));
    let outcome = native::check::<RedisPing>(CONFIG).outcome;
    assert_eq!(reason(&outcome), Some(Reason::Timeout));
}

#[test]
fn tls_is_verified() {
    let report = answered(r#"{"host": "cache", "port": 6380, "tls": true}"#, "+PONG\r\n");
    assert_eq!(report.outcome, Outcome::Pass);
    assert_eq!(tcp::handshakes(), [(None, TlsMode::Verify)]);
    assert!(report.measurements.iter().any(|m| m.name == "certificate_days"));
}

/// P2: the plan names the server; a wrong config is said by its key.
#[test]
fn plans() {
    let plan = native::plan::<RedisPing>(CONFIG).unwrap();
    assert_eq!(plan.subject, "cache.internal:6379");
    let address = Address { host: "cache.internal".to_owned(), port: 6379 };
    assert_eq!(plan.endpoints, [Endpoint::Tcp(address)]);
    for (config, path) in [
        (r#"{"host": "", "port": 6379}"#, "host"),
        (r#"{"host": "cache", "port": 0}"#, "port"),
        (r#"{"host": "cache"}"#, "port"),
    ] {
        assert_eq!(native::plan::<RedisPing>(config).unwrap_err().path, path);
    }
}
