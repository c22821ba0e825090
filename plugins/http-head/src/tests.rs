//! What http-head makes of answers and errors, against the SDK's stubs.

use probehost_sdk::http::{Certificate, Error, ErrorKind, Phase, Response, Timings};
use probehost_sdk::{Endpoint, Outcome, Report, native};

use super::*;

const CONFIG: &str = r#"{"url": "http://example.com:8080/app", "path": "health?full=1"}"#;

fn probe_answered_by(result: Result<Response, Error>) -> Report {
    native::http::answer_with(result);
    native::check::<HttpHead>(CONFIG)
}

fn measured(report: &Report) -> Vec<(&str, f64)> {
    report.measurements.iter().map(|m| (m.name.as_str(), m.value)).collect()
}

/// H1, H4: HEAD and only HEAD, to base URL plus health path, no body either way, no redirects.
#[test]
fn sends_one_head_to_base_url_plus_path() {
    assert_eq!(probe_answered_by(Ok(Response::new(200))).outcome, Outcome::Pass);
    let requests = native::http::requests();
    let [request] = requests.as_slice() else { panic!("{requests:?}") };
    assert_eq!(request.method(), "HEAD");
    assert_eq!(request.url(), "http://example.com:8080/app/health?full=1");
    assert_eq!((request.body(), request.read_limit(), request.redirect_limit()), (None, 0, 0));
}

#[test]
fn headers_and_redirects_are_passed_on() {
    native::http::answer_with(Ok(Response::new(200)));
    let config = r#"{"url": "http://a", "headers": {"X-Probe": "1"}, "redirects": 3}"#;
    assert_eq!(native::check::<HttpHead>(config).outcome, Outcome::Pass);
    let requests = native::http::requests();
    assert_eq!(requests[0].header_value("x-probe"), Some("1"));
    assert_eq!(requests[0].redirect_limit(), 3);
}

/// H2: every answer below 500 is well.
#[test]
fn statuses_below_500_pass() {
    for status in [200, 204, 301, 304, 401, 403, 404, 405, 429, 499] {
        let report = probe_answered_by(Ok(Response::new(status)));
        assert_eq!(report.outcome, Outcome::Pass, "{status}");
        assert_eq!(measured(&report), [("status", status.into()), ("total", 0.0)]);
    }
}

/// H2, P8: 500 and above fail with `answer`; the message names host, port and path, not the query.
#[test]
fn statuses_from_500_fail() {
    for (status, line) in
        [(500, "500 Internal Server Error"), (503, "503 Service Unavailable"), (599, "599")]
    {
        let report = probe_answered_by(Ok(Response::new(status)));
        let Outcome::Fail(failure) = &report.outcome else { panic!("{report:?}") };
        assert_eq!(failure.reason, Reason::Answer);
        let expected = format!("example.com:8080 answered {line} to HEAD /app/health");
        assert_eq!(failure.message, expected);
        assert_eq!(measured(&report)[0], ("status", status.into()));
    }
}

/// H4: after redirects the message names the one that answered.
#[test]
fn a_failure_after_redirects_names_who_answered() {
    let mut answer = Response::new(502);
    answer.url = "https://other.example/login?from=app".to_owned();
    let Outcome::Fail(failure) = probe_answered_by(Ok(answer)).outcome else { panic!() };
    assert_eq!(failure.message, "other.example:443 answered 502 Bad Gateway to HEAD /login");
}

/// H3: an error of transport fails by its cause, with status 0 and the phases it got to.
#[test]
fn transport_errors_fail_with_status_0() {
    for (kind, phase, reason) in [
        (ErrorKind::NameNotFound, Phase::Dns, Reason::Network),
        (ErrorKind::Refused, Phase::Connect, Reason::Network),
        (ErrorKind::Closed, Phase::FirstByte, Reason::Network),
        (ErrorKind::Timeout, Phase::FirstByte, Reason::Timeout),
        (ErrorKind::Tls, Phase::Tls, Reason::Tls),
        (ErrorKind::Denied, Phase::Request, Reason::Config),
    ] {
        let mut error = Error::new(kind, phase, "example.com:8080: what happened");
        error.timings = Timings { dns: Some(0.5), total: 1.5, ..Timings::default() };
        let report = probe_answered_by(Err(error));
        let Outcome::Fail(failure) = &report.outcome else { panic!("{report:?}") };
        assert_eq!(failure.reason, reason);
        assert_eq!(failure.message, "example.com:8080: what happened");
        assert_eq!(measured(&report), [("status", 0.0), ("dns", 0.5), ("total", 1.5)]);
    }
}

/// P5: what the host could not do says nothing about the target.
#[test]
fn an_error_of_the_host_is_inconclusive() {
    let error = Error::new(ErrorKind::Host, Phase::Connect, "out of sockets");
    let report = probe_answered_by(Err(error));
    assert_eq!(report.outcome, Outcome::Inconclusive("out of sockets".to_owned()));
}

/// H5: every phase and the certificate's days are measured.
#[test]
fn phases_and_certificate_are_measured() {
    let mut answer = Response::new(200);
    answer.timings = Timings {
        dns: Some(0.1),
        connect: Some(0.2),
        tls: Some(0.3),
        first_byte: Some(0.4),
        total: 1.0,
    };
    answer.certificate = Some(Certificate { not_before: 0, not_after: 1, days_left: -2.5 });
    let report = probe_answered_by(Ok(answer));
    let expected = [
        ("status", 200.0),
        ("dns", 0.1),
        ("connect", 0.2),
        ("tls", 0.3),
        ("first_byte", 0.4),
        ("total", 1.0),
        ("certificate_days", -2.5),
    ];
    assert_eq!(measured(&report), expected);
}

/// P2: the plan names the subject and the origin, and asks nothing of the network.
#[test]
fn the_plan_names_subject_and_origin() {
    for (url, subject, port) in
        [("https://a.example/x", "a.example:443", 443), ("http://[::1]:81", "[::1]:81", 81)]
    {
        let plan = native::plan::<HttpHead>(&format!(r#"{{"url": "{url}"}}"#)).unwrap();
        assert_eq!(plan.subject, subject);
        let [Endpoint::Http(origin)] = plan.endpoints.as_slice() else { panic!("{plan:?}") };
        assert_eq!(origin.port, port);
    }
    assert!(native::http::requests().is_empty());
}

/// P2: a bad config is reason `config`, and no request is sent.
#[test]
fn a_bad_config_sends_nothing() {
    for (config, path) in [
        (r"{}", "url"),
        (r#"{"url": "example.com"}"#, "url"),
        (r#"{"url": "http://user:pw@example.com"}"#, "url"),
        (r#"{"url": "http://a", "path": "a b"}"#, "path"),
        (r#"{"url": "http://a?x", "path": "b"}"#, "path"),
        (r#"{"url": "http://a", "redirects": 11}"#, "redirects"),
        (r#"{"url": "http://a", "headers": {"A": "b\nc"}}"#, "headers.A"),
        (r#"{"url": "http://a", "method": "GET"}"#, "method"),
    ] {
        assert_eq!(native::plan::<HttpHead>(config).unwrap_err().path, path, "{config}");
    }
    let Outcome::Fail(failure) = native::check::<HttpHead>("{}").outcome else { panic!() };
    assert_eq!(failure.reason, Reason::Config);
    assert!(native::http::requests().is_empty());
}

/// The schema that the host holds configs against: closed, with the bound of `redirects`.
#[test]
fn the_manifest_describes_the_config() {
    let manifest = native::describe::<HttpHead>();
    let schema = &manifest.config_schema;
    for part in [
        r#""additionalProperties":false"#,
        r#""required":["url"]"#,
        r#""$schema":"https://json-schema.org/draft/2020-12/schema""#,
        r#""maximum":10"#,
        r#""format":"uri""#,
    ] {
        assert!(schema.contains(part), "{part} in {schema}");
    }
    let interval = manifest.interval;
    assert_eq!((interval.default, interval.minimum, interval.maximum), (30, 5, 86_400));
    assert_eq!((manifest.timeout_ms, manifest.threshold, manifest.concurrency), (10_000, 2, None));
}
