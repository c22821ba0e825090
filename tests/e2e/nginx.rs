//! A real nginx as the upstream: H1, H2, H3 and H4 against what people run.

use probehost_test_support::installed::skip_unless_installed;
use probehost_test_support::nginx::{INSTALL, Nginx};
use probehost_test_support::wait::eventually;

use crate::host::{BY_HAND, Config, LIMIT, measured, text};

/// H1, H2, H3: nginx's own 405, 304, 401, 403, 404 and 429 pass, its 5xx fail, and a connection
/// that it closes without an answer is a transport failure. It saw HEAD requests without a body.
#[tokio::test]
async fn answers() {
    if skip_unless_installed("nginx", INSTALL) {
        return;
    }
    let nginx = Nginx::start().unwrap();
    let table = [
        ("ok", 200, "", "pass"),
        ("no-head", 405, "", "pass"),
        ("304", 304, "", "pass"),
        ("401", 401, "", "pass"),
        ("403", 403, "", "pass"),
        ("404", 404, "", "pass"),
        ("429", 429, "", "pass"),
        ("redirect", 302, "", "pass"),
        ("500", 500, "answer", "fail"),
        ("503", 503, "answer", "fail"),
        ("444", 0, "network", "fail"),
    ];
    let host = table
        .iter()
        .fold(Config::new(), |config, (path, ..)| {
            let settings = format!("url = \"{}\", path = \"{path}\"", nginx.url());
            config.target(path, "http-head", BY_HAND, &settings)
        })
        .start();
    for (path, status, reason, outcome) in table {
        let probe = host.probe(path).await;
        let found = (text(&probe["outcome"]), text(&probe["reason"]));
        assert_eq!(found, (outcome, reason), "{path}: {probe}");
        assert_eq!(measured(&probe, "status"), Some(f64::from(status)), "{path}: {probe}");
    }
    let log = eventually(
        "nginx has logged every probe",
        LIMIT,
        || async { nginx.access_log().unwrap_or_default() },
        |lines| lines.len() >= table.len(),
    )
    .await;
    assert_eq!(log.len(), table.len(), "{log:?}");
    // Method, path, status, length of the body.
    for (path, status, ..) in table {
        let status = if status == 0 { 444 } else { status };
        let line = format!("HEAD /{path} {status} -");
        assert!(log.contains(&line), "no {line:?} in {log:?}");
    }
}

/// H4: nginx's redirects, followed when asked: to a page, in a circle, and to a host that is
/// not granted.
#[tokio::test]
async fn redirects() {
    if skip_unless_installed("nginx", INSTALL) {
        return;
    }
    let nginx = Nginx::start().unwrap();
    let config =
        |path: &str| format!("url = \"{}\", path = \"{path}\", redirects = 4", nginx.url());
    let host = Config::new()
        .target("page", "http-head", BY_HAND, &config("redirect"))
        .target("circle", "http-head", BY_HAND, &config("redirect-loop"))
        .target("elsewhere", "http-head", BY_HAND, &config("redirect-elsewhere"))
        .start();
    let page = host.probe("page").await;
    assert_eq!((&page["outcome"], measured(&page, "status")), (&"pass".into(), Some(200.0)));
    let circle = host.probe("circle").await;
    assert_eq!(circle["outcome"], "fail", "{circle}");
    assert!(text(&circle["message"]).contains("after 4 redirects"), "{circle}");
    let elsewhere = host.probe("elsewhere").await;
    assert_eq!(elsewhere["reason"], "config", "{elsewhere}");
    assert!(text(&elsewhere["message"]).contains("elsewhere.test"), "{elsewhere}");
}
