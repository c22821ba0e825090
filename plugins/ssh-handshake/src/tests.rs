//! The plugin against a scripted capability.

use probehost_sdk::native::{self, ssh};
use probehost_sdk::ssh::{Error, ErrorKind, Handshake, Phase, Report, Timings};
use probehost_sdk::{Address, Endpoint, Interval, Outcome, Reason, Unit};

use super::*;

const PIN: &str = "ssh-ed25519 SHA256:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU";

fn config(rest: &str) -> String {
    format!(r#"{{"host": "db", "host_key": "{PIN}", "user": "probe"{rest}}}"#)
}

fn endpoint(host: &str, port: u16) -> Endpoint {
    Endpoint::Ssh(Address { host: host.to_owned(), port })
}

/// K5: the kind's own interval, threshold and limit.
#[test]
fn it_describes_itself() {
    let manifest = native::describe::<SshHandshake>();
    assert_eq!(manifest.interval, Interval { default: 60, minimum: 15, maximum: 3600 });
    assert_eq!((manifest.threshold, manifest.timeout_ms), (2, 10_000));
    assert_eq!(manifest.concurrency, Some(4));
}

/// P2, K3: the plan names both hosts; the subject is the target.
#[test]
fn the_plan_names_what_is_reached() {
    let plan = native::plan::<SshHandshake>(&config(r#", "identity": "none""#)).unwrap();
    assert_eq!((plan.subject.as_str(), plan.endpoints), ("db:22", vec![endpoint("db", 22)]));
    let jump = r#", "port": 2222, "identity": {"agent": {}},
        "jump": {"host": "bastion", "user": "hop", "identity": {"key_file": {"path": "/k"}}}"#;
    let plan = native::plan::<SshHandshake>(&config(jump)).unwrap();
    assert_eq!(plan.subject, "db:2222");
    assert_eq!(plan.endpoints, [endpoint("db", 2222), endpoint("bastion", 22)]);
}

/// P2, P10: each mistake is named with its path, before anything is dialled.
#[test]
fn mistakes_are_named() {
    let none = r#", "identity": "none""#;
    let rows = [
        (r#"{"host": "db", "identity": "none"}"#.to_owned(), "host_key: is missing"),
        (r#"{"host": "db", "host_key": " ", "identity": "none"}"#.to_owned(), "host_key: is empty"),
        (
            r#"{"host": "db", "host_key": "MD5:00", "identity": "none"}"#.to_owned(),
            "host_key: is not `TYPE SHA256:",
        ),
        (
            r#"{"host": "db", "host_key": "ssh-dss SHA256:x", "identity": "none"}"#.to_owned(),
            "host_key: \"ssh-dss\" is no type",
        ),
        (config(""), "identity: is missing"),
        (
            config(r#", "identity": {"password": "hunter2"}"#),
            "identity: a secret is given by its name",
        ),
        (
            config(r#", "identity": {"key_file": {"path": "k"}}"#),
            "identity.key_file.path: is not an absolute path",
        ),
        (config(r#", "identity": {"agent": {"key": "x"}}"#), "identity.agent.key: is not SHA256:"),
        (config(&format!(r#"{none}, "port": 0"#)), "port: is 0"),
        (config(none).replace("\"db\"", "\"probe@db\""), "host: is not a name or an address"),
        (config(r#", "identity": {"agent": {}}"#).replace("\"probe\"", "\"\""), "user: is missing"),
        (
            config(&format!(r#"{none}, "jump": {{"host": "b", "user": "u", "identity": "none"}}"#)),
            "jump.identity: is none",
        ),
    ];
    for (text, words) in rows {
        let error = native::plan::<SshHandshake>(&text).unwrap_err().to_string();
        assert!(error.starts_with(words), "{text}: {error}");
        assert!(!error.contains("hunter2"), "{error}");
    }
}

/// K1, K3: what it asks the host for, and nothing else.
#[test]
fn it_makes_one_handshake() {
    let rest = r#", "identity": {"password": {"secret": "db-login"}},
        "jump": {"host": "bastion", "port": 2022, "user": "hop",
                 "identity": {"key_file": {"path": "/k", "passphrase": {"secret": "k"}}}}"#;
    ssh::answer_with(Ok(Report {
        timings: Timings {
            handshake: Some(0.01),
            login: Some(0.02),
            total: 0.04,
            ..Timings::default()
        },
        ..Report::new(PIN)
    }));
    let report = native::check::<SshHandshake>(&config(rest));
    assert_eq!(report.outcome, Outcome::Pass);
    let measured: Vec<_> =
        report.measurements.iter().map(|m| (m.name.as_str(), m.unit, m.value)).collect();
    let seconds = Unit::Seconds;
    assert_eq!(
        measured,
        [("handshake", seconds, 0.01), ("login", seconds, 0.02), ("total", seconds, 0.04)]
    );
    let (db, key): (Secret, Secret) = (secret("db-login"), secret("k"));
    let wanted = Handshake::new("db", 22, PIN).login("probe", Identity::password(&db)).through(
        "bastion",
        2022,
        "hop",
        Identity::key_file("/k", Some(&key)),
    );
    assert_eq!(ssh::handshakes(), [wanted]);
}

/// P2: no pin, no handshake, even when nobody planned.
#[test]
fn without_a_pin_it_asks_for_nothing() {
    let text = config(r#", "identity": "none""#).replace(PIN, "");
    let report = native::check::<SshHandshake>(&text);
    assert!(matches!(report.outcome, Outcome::Fail(failure) if failure.reason == Reason::Config));
    assert!(ssh::handshakes().is_empty());
}

/// K2, P7: what the host says of the key is the failure.
#[test]
fn a_changed_key_is_host_key() {
    ssh::answer_with(Err(Error::new(ErrorKind::HostKey, Phase::KeyExchange, "db:22 offers …")));
    let report = native::check::<SshHandshake>(&config(r#", "identity": {"agent": {}}"#));
    let Outcome::Fail(failure) = report.outcome else { panic!("{report:?}") };
    assert_eq!((failure.reason, failure.message.as_str()), (Reason::HostKey, "db:22 offers …"));
}

fn secret(name: &str) -> Secret {
    native::secret(name)
}
