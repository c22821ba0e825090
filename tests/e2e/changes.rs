//! Targets through the API: created, changed, switched and deleted beside those of the file.

use probehost_test_support::http::Answer;
use probehost_test_support::upstream::{Script, Upstream};
use probehost_test_support::wait::eventually;
use serde_json::{Value, json};

use crate::host::{BY_HAND, Config, Host, LIMIT, code, text};

const TARGETS: &str = "/api/v1/targets";

/// A target with one check that is probed when it is saved, and then not for an hour.
fn hourly(id: &str, url: &str) -> Value {
    json!({ "id": id, "checks": [{ "kind": "http-head", "interval": 3600, "config": { "url": url } }] })
}

async fn post(host: &Host, path: &str, body: &Value) -> Answer {
    host.api.post(path, body).await.unwrap()
}

async fn put(host: &Host, id: &str, body: &Value) -> Answer {
    host.api.put(&format!("{TARGETS}/{id}"), body).await.unwrap()
}

async fn delete(host: &Host, id: &str) -> Answer {
    host.api.delete(&format!("{TARGETS}/{id}")).await.unwrap()
}

/// What each target change left in the audit.
async fn told(host: &Host, id: &str) -> Vec<String> {
    let rows = host.audit(&format!("target={id}&action=target-changed")).await;
    rows.iter()
        .map(|row| format!("{} {}", text(&row["principal"]), text(&row["outcome"])))
        .collect()
}

/// T7, R9, A1: a target lives through the API: probed when it is created, started anew when what
/// it watches changes and only then, silent while it is disabled, gone when it is deleted; and it
/// outlives a restart. Its id is never used again.
#[tokio::test]
async fn a_target_lives_through_the_api() {
    let [up, down] = [Upstream::status(200), Upstream::status(503)];
    let mut host = Config::new().start();
    let created = post(&host, TARGETS, &hourly("shop", &up.url())).await;
    assert_eq!(created.status, 201, "{created:?}");
    let view = created.json().unwrap();
    assert_eq!((&view["source"], &view["enabled"]), (&"api".into(), &true.into()));
    assert_eq!(
        (&view["name"], &view["checks"][0]["timeout_seconds"]),
        (&"shop".into(), &10.0.into())
    );
    let healthy = |check: &Value| check["status"] == "healthy";
    host.until("probed when created", "shop", healthy).await;

    let same = put(&host, "shop", &hourly("shop", &up.url())).await;
    assert_eq!(same.status, 200, "{same:?}");
    let mut renamed = hourly("shop", &up.url());
    renamed["name"] = "Shop".into();
    renamed["labels"] = json!({ "team": "sales" });
    assert_eq!(put(&host, "shop", &renamed).await.status, 200);
    let resets = "probehost_probe_reset_total";
    assert_eq!(host.metric(resets).await, 0.0);
    assert!(healthy(&host.check("shop").await));
    assert_eq!(host.json("/api/v1/targets/shop").await["labels"]["team"], "sales");

    assert_eq!(put(&host, "shop", &hourly("shop", &down.url())).await.status, 200);
    let failed =
        host.until("probed when changed", "shop", |check| check["reason"] == "answer").await;
    assert_eq!(failed["last_success_at"], Value::Null);
    assert_eq!(host.metric(resets).await, 1.0);

    let off = post(&host, "/api/v1/targets/shop/disable", &json!({})).await.json().unwrap();
    assert_eq!(
        (&off["enabled"], &off["checks"][0]["probing_enabled"]),
        (&false.into(), &false.into())
    );
    host.stop();
    host.restart(None);
    let kept = host.json("/api/v1/targets/shop").await;
    assert_eq!((&kept["enabled"], &kept["source"]), (&false.into(), &"api".into()));
    assert_eq!(kept["checks"][0]["reason"], "answer");
    assert_eq!(post(&host, "/api/v1/targets/shop/enable", &json!({})).await.status, 200);

    assert_eq!(delete(&host, "shop").await.status, 204);
    assert_eq!(code(&delete(&host, "shop").await, 404), "no-such-target");
    assert_eq!(code(&host.get("/api/v1/targets/shop").await, 404), "no-such-target");
    let again = post(&host, TARGETS, &hourly("shop", &up.url())).await;
    assert_eq!(code(&again, 409), "target-was-deleted");
    let story = ["created", "changed", "changed", "disabled", "enabled", "deleted"]
        .map(|w| format!("local {w}"));
    assert_eq!(told(&host, "shop").await, story);
}

/// P2, P9, P10: whatever is wrong is told at once, each thing at its field, and nothing is changed.
#[tokio::test]
async fn what_is_wrong_is_told_field_by_field() {
    let up = Upstream::status(200);
    let host = Config::new().start();
    let body = json!({
        "id": "shop",
        "checks": [
            { "kind": "http-head", "timeout": -1, "config": { "url": up.url() } },
            { "kind": "http-head", "name": "b", "intervall": 5, "config": { "url": up.url() } },
        ],
    });
    let answer = post(&host, TARGETS, &body).await;
    assert_eq!(code(&answer, 422), "invalid-target");
    let error = answer.json().unwrap()["error"].clone();
    assert_eq!(error["message"], "2 things are wrong with the target; nothing was changed");
    assert_eq!(error["fields"][0]["pointer"], "/checks/0/timeout");
    assert_eq!(error["fields"][1]["pointer"], "/checks/1/intervall");
    assert_eq!(error["fields"][1]["help"], "did you mean `interval`?");

    for (check, pointer, said) in [
        (json!({ "kind": "http-haed", "config": {} }), "/checks/0/kind", "not installed"),
        (json!({ "kind": "http-head", "config": {} }), "/checks/0/config", "`url` is missing"),
        (
            json!({ "kind": "http-head", "config": { "url": "ftp://a" } }),
            "/checks/0/config/url",
            "http",
        ),
    ] {
        let answer = post(&host, TARGETS, &json!({ "id": "shop", "checks": [check] })).await;
        let field = answer.json().unwrap()["error"]["fields"][0].clone();
        assert_eq!(
            (code(&answer, 422).as_str(), text(&field["pointer"])),
            ("invalid-target", pointer)
        );
        assert!(text(&field["message"]).contains(said), "{field}");
    }
    let mut other = hourly("other", &up.url());
    assert_eq!(code(&put(&host, "shop", &other).await, 422), "invalid-target");
    other["id"] = Value::Null;
    assert_eq!(code(&put(&host, "shop", &other).await, 404), "no-such-target");
    assert_eq!(code(&post(&host, TARGETS, &json!("shop")).await, 422), "invalid-target");
    assert_eq!(host.json(TARGETS).await["targets"], json!([]));
    assert_eq!(up.requests().len(), 0);
}

/// The targets of the file are read-only over the API, and a file that names a target of the
/// API takes it over.
#[tokio::test]
async fn the_targets_of_the_file_are_its_own() {
    let up = Upstream::status(200);
    let mut host = Config::new().head("web", BY_HAND, &up.url()).start();
    let body = hourly("web", &up.url());
    assert_eq!(code(&post(&host, TARGETS, &body).await, 409), "target-exists");
    assert_eq!(code(&put(&host, "web", &body).await, 409), "file-target");
    for switch in ["enable", "disable"] {
        let answer = post(&host, &format!("{TARGETS}/web/{switch}"), &json!({})).await;
        assert_eq!(code(&answer, 409), "file-target");
    }
    let refused = delete(&host, "web").await;
    assert_eq!(code(&refused, 409), "file-target");
    assert!(refused.text.contains("configuration file; change it there"), "{refused:?}");
    assert_eq!(told(&host, "web").await, ["system:health created"]);

    assert_eq!(post(&host, TARGETS, &hourly("shop", &up.url())).await.status, 201);
    host.stop();
    host.restart(Some(&Config::new().head("shop", BY_HAND, &up.url())));
    assert_eq!(host.json("/api/v1/targets/shop").await["source"], "file");
    assert_eq!(host.get("/api/v1/targets/web").await.status, 404);
}

/// T8, R2: a probe that was in flight when its check was changed comes to nothing, and the one
/// that the save started tells of the new.
#[tokio::test]
async fn a_probe_in_flight_loses_to_a_save() {
    let slow = Upstream::script(Script::hang());
    let up = Upstream::status(200);
    let host = Config::new().start();
    let mut body = hourly("shop", &slow.url());
    body["checks"][0]["timeout"] = json!(2);
    assert_eq!(post(&host, TARGETS, &body).await.status, 201);
    let dialled = || async { slow.connections() };
    eventually("the first probe dials", LIMIT, dialled, |count| *count == 1).await;
    assert_eq!(put(&host, "shop", &hourly("shop", &up.url())).await.status, 200);
    let refused = || host.metric("probehost_write_refused_total");
    eventually("the first probe is refused", LIMIT, refused, |count| *count == 1.0).await;
    let check =
        host.until("the new one is probed", "shop", |check| check["status"] == "healthy").await;
    assert_eq!(check["streak"], 0);
    assert_eq!(host.transitions("shop").await, ["unknown>healthy"]);
}
