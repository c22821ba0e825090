//! The real nginx answers as its locations are named.

use std::net::SocketAddr;
use std::time::Duration;

use probehost_test_support::http::JsonClient;
use probehost_test_support::installed::skip_unless_installed;
use probehost_test_support::nginx::{INSTALL, Nginx};
use probehost_test_support::raw::exchange;
use probehost_test_support::upstream::{Response, Upstream};
use probehost_test_support::wait::eventually;

const LIMIT: Duration = Duration::from_secs(10);

/// The status line's code, `None` where nothing was answered.
fn status(port: u16, method: &str, path: &str) -> Option<u16> {
    let request = format!("{method} {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n");
    let answer =
        exchange(SocketAddr::from(([127, 0, 0, 1], port)), request.as_bytes(), LIMIT).ok()?;
    String::from_utf8_lossy(&answer).split(' ').nth(1)?.parse().ok()
}

#[tokio::test]
async fn locations_answer_as_named() {
    if skip_unless_installed("nginx", INSTALL) {
        return;
    }
    let nginx = Nginx::start().unwrap();
    let port = nginx.port();
    for code in [304, 401, 403, 404, 429, 500, 503] {
        assert_eq!(status(port, "HEAD", &format!("/{code}")), Some(code));
    }
    assert_eq!(status(port, "HEAD", "/ok"), Some(200));
    assert_eq!(status(port, "HEAD", "/no-head"), Some(405));
    assert_eq!(status(port, "GET", "/no-head"), Some(200));
    assert_eq!(status(port, "HEAD", "/redirect"), Some(302));
    assert_eq!(status(port, "HEAD", "/444"), None);
    eventually(
        "the log has the last request",
        LIMIT,
        || async { nginx.access_log().unwrap_or_default() },
        |lines| lines.last().is_some_and(|line| line == "HEAD /444 444 -"),
    )
    .await;
}

#[test]
fn a_broken_site_is_an_error_that_says_why() {
    if skip_unless_installed("nginx", INSTALL) {
        return;
    }
    let error = Nginx::with_site("no_such_directive on;").unwrap_err().to_string();
    assert!(error.contains("no_such_directive"), "{error}");
}

#[tokio::test]
async fn the_json_client_reads_answers_and_explains_what_is_no_json() {
    let upstream =
        Upstream::http(|request| match (request.method.as_str(), request.path.as_str()) {
            ("GET", "/api") => {
                Response::new(200).header("content-type", "application/json").body(r#"{"n":1}"#)
            }
            ("POST", "/api") => Response::new(409).body(request.body.clone()),
            _ => Response::new(500).body("oops"),
        });
    let client = JsonClient::new(&upstream.url()).unwrap();
    let got = client.get("/api").await.unwrap();
    assert_eq!((got.status, got.content_type.as_str()), (200, "application/json"));
    assert_eq!(got.json().unwrap()["n"], 1);

    let sent = serde_json::json!({"probe": true});
    let answer = client.post("/api", &sent).await.unwrap();
    assert_eq!((answer.status, answer.json().unwrap()), (409, sent));

    let error = client.get("/else").await.unwrap().json().unwrap_err().to_string();
    assert!(error.contains("answered 500") && error.contains("\"oops\""), "{error}");

    let url = upstream.url();
    drop(upstream);
    let error = client.get("/api").await.unwrap_err().to_string();
    assert!(error.starts_with(&format!("GET {url}/api: ")), "{error}");
}
