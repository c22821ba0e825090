//! Probes by hand: their callers' deadlines, callers that leave, and callers that share.

use std::time::Duration;

use probehost_test_support::upstream::{Response, Script, Upstream};
use probehost_test_support::wait::eventually;
use serde_json::json;

use crate::host::{BY_HAND, Config, LIMIT, text};

const PATH: &str = "/api/v1/targets/web/checks/http-head/probe";

/// An upstream that takes its time, which is long for a caller and short for a test.
fn slow() -> Upstream {
    Upstream::http(|_| Response::new(200).after(Duration::from_secs(3)))
}

async fn asked(upstream: &Upstream) {
    let seen = || async { upstream.requests().len() };
    eventually("the probe is in flight", LIMIT, seen, |requests| *requests == 1).await;
}

/// P4: the caller's own deadline counts as the check's does: a failure with `timeout`, which is
/// recorded. One that is longer than the check's changes nothing.
#[tokio::test]
async fn the_callers_deadline_is_a_deadline() {
    let upstream = Upstream::script(Script::hang());
    let host = Config::new()
        .head("web", &format!("{BY_HAND}\ntimeout = 3600"), &upstream.url())
        .head("short", &format!("{BY_HAND}\ntimeout = 0.3"), &upstream.url())
        .start();
    let probe = host.api.post(PATH, &json!({ "timeout": 0.3 })).await.unwrap().json().unwrap();
    assert_eq!((&probe["reason"], &probe["recorded"]), (&"timeout".into(), &true.into()));
    assert!(text(&probe["message"]).contains(&upstream.address().to_string()), "{probe}");
    assert_eq!(host.check("web").await["streak"], 1);
    let path = PATH.replace("web", "short");
    let probe = host.api.post(&path, &json!({ "timeout": 3600 })).await.unwrap().json().unwrap();
    assert_eq!(probe["reason"], "timeout", "{probe}");
}

/// R4, S7, A1: a probe by hand outlives its caller; its result lands and is audited.
#[tokio::test]
async fn a_caller_that_leaves_loses_no_write() {
    let upstream = slow();
    let host = Config::new().head("web", BY_HAND, &upstream.url()).start();
    let api = host.api.clone();
    let caller = tokio::spawn(async move { api.post(PATH, &json!({})).await });
    asked(&upstream).await;
    caller.abort();
    assert!(caller.await.unwrap_err().is_cancelled());
    host.until("the result has landed", "web", |check| check["status"] == "healthy").await;
    assert_eq!(host.audit("target=web&action=probe").await.len(), 1);
    assert_eq!(upstream.connections(), 1);
}

/// S7, A1: callers that come while a probe by hand runs share it: one request, one result, one
/// audit row.
#[tokio::test]
async fn callers_share_one_run() {
    let upstream = slow();
    let host = Config::new().head("web", BY_HAND, &upstream.url()).start();
    let ask = || {
        let api = host.api.clone();
        tokio::spawn(async move { api.post(PATH, &json!({})).await.unwrap().json().unwrap() })
    };
    let first = ask();
    asked(&upstream).await;
    let others = [ask(), ask(), ask()];
    let first = first.await.unwrap();
    assert_eq!((&first["outcome"], &first["recorded"]), (&"pass".into(), &true.into()));
    for other in others {
        assert_eq!(other.await.unwrap(), first);
    }
    assert_eq!(upstream.connections(), 1);
    assert_eq!(host.audit("target=web&action=probe").await.len(), 1);
}
