//! Targets that come over the API: judged as the file's are, and told of field by field.

#![allow(clippy::unwrap_used, reason = "helpers of tests fail the test")]

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use probehost_config::{Config, FieldError, KindRules, Submitted};
use probehost_model::{IntervalBounds, Role, Source, Thresholds};
use serde_json::{Value, json};

/// What is installed: a kind with a schema of its own.
fn kinds() -> BTreeMap<String, KindRules> {
    let schema = json!({
        "type": "object",
        "required": ["url"],
        "additionalProperties": false,
        "properties": {
            "url": { "type": "string", "description": "The base URL." },
            "headers": { "type": "array", "items": { "type": "object" } },
        },
    });
    let interval = IntervalBounds { default: 60, minimum: 15, maximum: 3600 };
    let rules = KindRules { interval, timeout: Duration::from_secs(7), threshold: 3, schema };
    BTreeMap::from([("http-head".to_owned(), rules)])
}

fn submit(body: &Value) -> Result<Submitted, Vec<FieldError>> {
    let file = "[probes]\ntimeout = 5\nfailure_threshold = 4\n[[targets]]\nid = \"web\"\n\
                [[targets.checks]]\nkind = \"http-head\"\nconfig = { url = \"http://a\" }\n";
    Config::parse(file, Path::new("probehost.toml"), &|_| None).unwrap().submitted(body, &kinds())
}

#[track_caller]
fn refused(body: &Value) -> Vec<(String, String, String)> {
    let errors = submit(body).unwrap_err();
    errors.into_iter().map(|error| (error.pointer, error.message, error.help)).collect()
}

fn told(pointer: &str, message: &str, help: &str) -> (String, String, String) {
    (pointer.into(), message.into(), help.into())
}

/// S6, P10: the file's defaults, then the kind's, fill what is left out, and clamps are told.
#[test]
fn a_good_body_is_as_good_as_the_file() {
    let submitted = submit(&json!({
        "id": "shop",
        "name": null,
        "labels": { "app.kubernetes.io/name": "shop" },
        "checks": [{
            "kind": "http-head", "role": "readiness", "interval": 5,
            "config": { "url": "http://b", "headers": null },
        }],
    }))
    .unwrap();
    let target = &submitted.target;
    assert_eq!((target.id.as_str(), target.name.as_str(), target.enabled), ("shop", "shop", true));
    assert_eq!((target.source, target.labels.len()), (Source::Api, 1));
    let check = &target.checks[0];
    assert_eq!((check.name.as_str(), check.role), ("http-head", Role::Readiness));
    assert_eq!(check.config, json!({ "url": "http://b" }));
    assert_eq!(check.timeout, Duration::from_secs(5));
    assert_eq!(check.interval, Some(Duration::from_secs(15)));
    assert_eq!(check.thresholds, Thresholds { failure: 4, inconclusive: 4 });
    assert_eq!(submitted.clamps.len(), 1);
    let error = submitted.plan_error("http-head", "headers[0].name", "no name");
    assert_eq!(error.pointer, "/checks/0/config/headers/0/name");
}

/// P10: every slip is told at once, each at its field, with what would be right.
#[test]
fn every_slip_is_told_at_its_field() {
    let found = refused(&json!({
        "id": "a shop",
        "lables": {},
        "labels": { "team": 7 },
        "checks": [
            { "kind": "http-head", "timeout": -1, "failure_threshold": 0 },
            { "name": "x", "interval": "often" },
        ],
    }));
    let at: Vec<_> = found.iter().map(|(pointer, ..)| pointer.as_str()).collect();
    for pointer in [
        "/id",
        "/lables",
        "/labels/team",
        "/checks/0/timeout",
        "/checks/0/failure_threshold",
        "/checks/1",
        "/checks/1/interval",
    ] {
        assert!(at.contains(&pointer), "{pointer} of {found:#?}");
    }
    assert_eq!(found.len(), 7, "{found:#?}");
    let slip = told("/lables", "unknown key `lables`", "did you mean `labels`?");
    assert!(found.contains(&slip), "{found:#?}");
    assert!(found.contains(&told("/checks/1", "`kind` is missing", "add `kind`")), "{found:#?}");
}

/// The plugin's own schema judges each config, at its place in the body.
#[test]
fn the_schema_of_the_kind_judges_the_config() {
    let found = refused(&json!({
        "id": "shop",
        "checks": [
            { "kind": "http-head", "config": { "url": "http://a" } },
            { "kind": "http-head", "name": "b", "config": { "ulr": "http://a", "url": 7 } },
        ],
    }));
    let expected = [
        told("/checks/1/config/ulr", "unknown key `ulr`", "did you mean `url`?"),
        told(
            "/checks/1/config/url",
            "expected a text, found a number",
            "what belongs here: The base URL.",
        ),
    ];
    assert_eq!(found.len(), 2, "{found:#?}");
    assert!(expected.iter().all(|one| found.contains(one)), "{found:#?}");
}

/// P9: over the API a kind that is not installed is a slip.
#[test]
fn a_kind_that_is_not_installed_is_told() {
    let found = refused(&json!({ "id": "shop", "checks": [{ "kind": "http-haed" }] }));
    let expected = told(
        "/checks/0/kind",
        "the plugin `http-haed` is not installed",
        "did you mean `http-head`?",
    );
    assert_eq!(found, [expected]);
}

/// What no file can hold is told at its place too.
#[test]
fn odd_json_is_told() {
    for (body, pointer) in [
        (json!([]), ""),
        (json!({ "id": "shop" }), ""),
        (json!({ "id": "shop", "checks": [] }), ""),
        (json!({ "id": null, "checks": [{ "kind": "http-head", "config": { "url": "" } }] }), ""),
        (json!({ "id": "shop", "checks": [null] }), "/checks/0"),
        (
            json!({ "id": "shop", "checks": [{ "kind": "http-head", "config": 7 }] }),
            "/checks/0/config",
        ),
        (
            json!({ "id": "shop", "checks": [{ "kind": "http-head", "interval": u64::MAX }] }),
            "/checks/0/interval",
        ),
    ] {
        let found = refused(&body);
        assert_eq!(found.len(), 1, "{body}: {found:#?}");
        assert_eq!(found[0].0, pointer, "{body}: {found:#?}");
        assert!(!found[0].2.is_empty() && !found[0].2.contains("[["), "{body}: {found:#?}");
    }
}
