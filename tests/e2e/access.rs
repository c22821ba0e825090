//! Who may do what: tokens, roles, sessions, TLS: contract E4.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;

use probehost_test_support::certs::{Ca, Identity};
use probehost_test_support::http::JsonClient;
use probehost_test_support::upstream::Upstream;
use probehost_test_support::wait::eventually;
use serde_json::{Value, json};

use crate::host::{BY_HAND, Config, Host, LIMIT, code, run, text};

const TARGETS: &str = "/api/v1/targets";

/// Makes a token on the command line. Gives it.
fn token(config: &Path, name: &str, role: &str) -> String {
    let config = config.display().to_string();
    let ran = run(&["token", "new", name, "--role", role, "--config", &config]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let token = ran.stdout.trim().to_owned();
    assert!(token.starts_with("probehost_") && token.len() > 64, "{token}");
    token
}

fn bearer(host: &Host, token: &str) -> JsonClient {
    host.api.clone().with_header("authorization", &format!("Bearer {token}"))
}

/// A host with the target `web`, and a token of each role.
struct Guarded {
    host: Host,
    viewer: JsonClient,
    operator: JsonClient,
    admin: JsonClient,
    tokens: [String; 3],
    _upstream: Upstream,
}

async fn guarded() -> Guarded {
    let upstream = Upstream::status(200);
    let host = Config::new().head("web", BY_HAND, &upstream.url()).start();
    let path = host.host.config_path();
    let tokens =
        ["viewer", "operator", "admin"].map(|role| token(&path, &format!("an-{role}"), role));
    let closed = || async { host.get(TARGETS).await.status };
    eventually("the host asks for a token", LIMIT, closed, |status| *status == 401).await;
    let [viewer, operator, admin] = tokens.clone().map(|token| bearer(&host, &token));
    Guarded { viewer, operator, admin, tokens, _upstream: upstream, host }
}

/// Every call that is described and changes something, with its path filled in.
async fn changes(client: &JsonClient) -> Vec<(&'static str, String)> {
    let described = client.get("/api/v1/openapi.json").await.unwrap().json().unwrap();
    let mut found = Vec::new();
    for (path, methods) in described["paths"].as_object().unwrap() {
        for method in ["post", "put", "delete", "patch"] {
            if methods.get(method).is_none() || path == "/session" {
                continue;
            }
            let method = match method {
                "post" => "POST",
                "put" => "PUT",
                "delete" => "DELETE",
                _ => "PATCH",
            };
            let path = path.replace("{name}", "http-head").replace("{id}", "web");
            found.push((method, format!("/api/v1{path}")));
        }
    }
    found
}

/// E4: beyond loopback nothing is served without a token that lets somebody in, and the host says
/// how to make one.
#[test]
fn no_token_no_service_beyond_loopback() {
    let (_dir, path) = Config::new().listen("0.0.0.0:0").file();
    let config = path.display().to_string();
    let ran = run(&["serve", "--config", &config]);
    assert_eq!(ran.code, 1, "{}", ran.stderr);
    assert!(ran.stderr.contains("probehost token new"), "{}", ran.stderr);
    // One that is revoked is none.
    token(&path, "ops", "admin");
    assert_eq!(run(&["token", "revoke", "ops", "--config", &config]).code, 0);
    assert_eq!(run(&["serve", "--config", &config]).code, 1);
    let again = run(&["token", "revoke", "ops", "--config", &config]);
    assert!(again.code == 1 && again.stderr.contains("token list"), "{}", again.stderr);
}

/// E4: with a token it is served to other machines, in whatever name they know it by.
#[tokio::test]
async fn with_a_token_it_is_served_beyond_loopback() {
    let config = Config::new().listen("0.0.0.0:0");
    let (dir, path) = config.file();
    let token = token(&path, "ops", "viewer");
    let database = dir.path().join("probehost.db");
    let config = config.section(&format!("[store]\npath = {:?}", database));
    let host = Host::start(config.launch());
    let url = host.host.base_url().replace("0.0.0.0", "127.0.0.1");
    let api = JsonClient::new(&url).unwrap().with_header("host", "probes.example:9640");
    assert_eq!(api.get(TARGETS).await.unwrap().status, 401);
    let api = api.with_header("authorization", &format!("Bearer {token}"));
    assert_eq!(api.get(TARGETS).await.unwrap().status, 200);
    assert_eq!(api.get("/healthz").await.unwrap().status, 200);
}

/// E4: a viewer can do nothing but read, and an operator nothing that is an admin's: each call of
/// the description that changes something is tried.
#[tokio::test]
async fn each_role_may_do_what_is_its_own() {
    let Guarded { host, viewer, operator, admin, .. } = guarded().await;
    let changes = changes(&admin).await;
    assert!(changes.len() >= 9, "{changes:?}");
    for (method, path) in &changes {
        let nobody = host.api.send(method, path).await.unwrap();
        assert_eq!(code(&nobody, 401), "unauthorized", "{path}");
        assert!(nobody.headers["www-authenticate"].starts_with("Bearer"));
        let refused = viewer.send(method, path).await.unwrap();
        assert_eq!(code(&refused, 403), "forbidden", "{method} {path}");
    }
    let of_admins =
        [("POST", TARGETS), ("PUT", "/api/v1/targets/web"), ("DELETE", "/api/v1/targets/web")];
    for (method, path) in of_admins {
        assert_eq!(operator.send(method, path).await.unwrap().status, 403, "{method} {path}");
    }
    for path in [TARGETS, "/api/v1/audit", "/api/v1/health/pool", "/metrics", "/api/v1/plugins"] {
        assert_eq!(viewer.get(path).await.unwrap().status, 200, "{path}");
        assert_eq!(host.get(path).await.status, 401, "{path}");
    }
    // What was refused has changed nothing.
    assert_eq!(admin.get("/api/v1/targets/web").await.unwrap().status, 200);
    let probed =
        operator.post("/api/v1/targets/web/checks/http-head/probe", &json!({})).await.unwrap();
    assert_eq!(probed.status, 200, "{probed:?}");
    let shop = json!({ "id": "shop", "checks": [{ "kind": "http-head", "interval": 0, "config": { "url": "http://127.0.0.1:1" } }] });
    assert_eq!(admin.post(TARGETS, &shop).await.unwrap().status, 201);
    // A1: the audit says who it was.
    let rows = admin.get("/api/v1/audit").await.unwrap().json().unwrap();
    let told: Vec<_> = rows["audit"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| (text(&row["principal"]).to_owned(), text(&row["action"]).to_owned()))
        .collect();
    assert_eq!(told[0], ("an-admin".to_owned(), "target-changed".to_owned()));
    assert_eq!(told[1], ("an-operator".to_owned(), "probe".to_owned()));
    assert!(told.contains(&("command-line".to_owned(), "token-changed".to_owned())));
}

/// E4: a token in a URL is refused, a revoked one and an odd one too; none of them is repeated in
/// an answer, in the log or in the database.
#[tokio::test]
async fn tokens_are_kept_secret() {
    let Guarded { mut host, viewer, tokens, .. } = guarded().await;
    let in_url = host.get(&format!("{TARGETS}?token={}", tokens[0])).await;
    assert_eq!(code(&in_url, 400), "token-in-url");
    let odd = bearer(&host, "hunter2-planted").get(TARGETS).await.unwrap();
    assert_eq!(code(&odd, 401), "unauthorized");
    let basic = host.api.clone().with_header("authorization", "Basic aHVudGVyMg==");
    assert_eq!(basic.get(TARGETS).await.unwrap().status, 401);
    assert_eq!(viewer.get(TARGETS).await.unwrap().status, 200);
    let config = host.host.config_path().display().to_string();
    assert_eq!(run(&["token", "revoke", "an-viewer", "--config", &config]).code, 0);
    let status = || async { viewer.get(TARGETS).await.unwrap().status };
    eventually("it lets nobody in any more", LIMIT, status, |status| *status == 401).await;
    let listed = run(&["token", "list", "--config", &config]).stdout;
    assert!(listed.contains("revoked") && listed.contains("an-admin"), "{listed}");
    host.stop();
    let mut everything = host.output() + &listed + &in_url.text + &odd.text;
    for entry in fs::read_dir(host.host.dir()).unwrap() {
        let bytes = fs::read(entry.unwrap().path()).unwrap_or_default();
        everything.push_str(&String::from_utf8_lossy(&bytes));
    }
    for secret in tokens.iter().map(String::as_str).chain(["hunter2-planted", "aHVudGVyMg"]) {
        assert!(!everything.contains(secret), "{secret} is to be found");
    }
}

/// E4: the page logs in with a token and then has a cookie, which alone changes nothing: another
/// site's page has it too. It outlives the host, and ends with logging out.
#[tokio::test]
async fn a_session_needs_what_only_the_own_page_knows() {
    let Guarded { mut host, tokens, .. } = guarded().await;
    let login = |token: &str| json!({ "token": token });
    let bad = host.api.post("/api/v1/session", &login("nobody's")).await.unwrap();
    assert_eq!(bad.status, 401, "{bad:?}");
    let answer = host.api.post("/api/v1/session", &login(&tokens[1])).await.unwrap();
    assert_eq!(answer.status, 200, "{answer:?}");
    let set = &answer.headers["set-cookie"];
    assert!(
        set.contains("HttpOnly") && set.contains("SameSite=Strict") && !set.contains("Secure"),
        "{set}"
    );
    // A host on another port of this name has one of its own.
    let port = |host: &Host| host.host.base_url().rsplit(':').next().unwrap().to_owned();
    let cookie = set.split(';').next().unwrap().to_owned();
    let (name, session) = cookie.split_once('=').unwrap();
    assert_eq!(name, format!("probehost_session_{}", port(&host)));
    let view = answer.json().unwrap();
    assert_eq!((&view["principal"], &view["role"]), (&"an-operator".into(), &"operator".into()));
    let csrf = text(&view["csrf_token"]).to_owned();

    let probe = "/api/v1/targets/web/checks/http-head/probe";
    let page = host.api.clone().with_header("cookie", &cookie);
    assert_eq!(page.get(TARGETS).await.unwrap().status, 200);
    assert_eq!(page.get("/api/v1/session").await.unwrap().json().unwrap()["csrf_token"], csrf);
    for client in [page.clone(), page.clone().with_header("x-csrf-token", "guessed")] {
        let refused = client.post(probe, &json!({})).await.unwrap();
        assert_eq!(code(&refused, 403), "foreign-request");
    }
    let own = page.clone().with_header("x-csrf-token", &csrf);
    assert_eq!(own.post(probe, &json!({})).await.unwrap().status, 200);
    let foreign = own.clone().with_header("origin", "https://evil.example");
    assert_eq!(foreign.post(probe, &json!({})).await.unwrap().status, 403);
    assert_eq!(own.post(TARGETS, &json!({})).await.unwrap().status, 403, "an operator's");

    host.stop();
    host.restart(None);
    let cookie = format!("probehost_session_{}={session}", port(&host));
    let page = host.api.clone().with_header("cookie", &cookie);
    assert_eq!(page.get(TARGETS).await.unwrap().status, 200, "it outlives the host");
    let out =
        page.clone().with_header("x-csrf-token", &csrf).delete("/api/v1/session").await.unwrap();
    assert_eq!(out.status, 204);
    assert!(out.headers["set-cookie"].contains("Max-Age=0"));
    assert_eq!(page.get(TARGETS).await.unwrap().status, 401);
}

/// While there are no tokens, whoever is on this machine may do everything, and the page knows it.
#[tokio::test]
async fn without_tokens_the_page_needs_no_login() {
    let host = Config::new().start();
    let view = host.json("/api/v1/session").await;
    let expected = json!({ "principal": "local", "role": "admin", "csrf_token": null, "login_required": false });
    assert_eq!(view, expected);
}

fn write(dir: &Path, identity: &Identity) {
    fs::write(dir.join("cert.pem"), identity.cert_pem()).unwrap();
    fs::write(dir.join("key.pem"), identity.key_pem()).unwrap();
}

fn tls(dir: &Path) -> Config {
    Config::new().section(&format!(
        "[server.tls]\ncertificate = {:?}\nkey = {:?}",
        dir.join("cert.pem"),
        dir.join("key.pem")
    ))
}

/// E4: with a certificate it speaks TLS and nothing else, and takes up a renewed one while it runs;
/// one that can't be used changes nothing.
#[test]
fn tls_with_a_certificate_that_is_renewed() {
    let dir = tempfile::tempdir().unwrap();
    let [old, new] = [Ca::new().unwrap(), Ca::new().unwrap()];
    write(dir.path(), &old.good().unwrap());
    let [old_pem, new_pem] = ["old", "new"].map(|name| dir.path().join(format!("{name}.ca")));
    fs::write(&old_pem, old.pem()).unwrap();
    fs::write(&new_pem, new.pem()).unwrap();
    let mut host = tls(dir.path()).launch().start().unwrap();
    let url = host.base_url().replace("127.0.0.1", "localhost");
    assert!(url.starts_with("https://"), "{url}");
    let status =
        |ca: &Path| run(&["status", "--url", &url, "--api-ca-file", &ca.display().to_string()]);
    let ran = status(&old_pem);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert_eq!(status(&new_pem).code, 3, "not trusted yet");

    fs::write(dir.path().join("cert.pem"), "no certificate").unwrap();
    host.process()
        .wait_for_line(LIMIT, |line| {
            (line.contains("cert.pem") && line.contains("stays in use")).then_some(())
        })
        .unwrap();
    assert_eq!(status(&old_pem).code, 0);
    write(dir.path(), &new.good().unwrap());
    host.process().wait_for_line(LIMIT, |line| line.contains("was renewed").then_some(())).unwrap();
    assert_eq!(status(&new_pem).code, 0);
    // Plain HTTP is no handshake.
    let port = url.rsplit(':').next().unwrap();
    let mut plain = TcpStream::connect(format!("127.0.0.1:{port}")).unwrap();
    plain.write_all(b"GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n").unwrap();
    let mut answer = Vec::new();
    let _ = plain.read_to_end(&mut answer);
    assert!(!String::from_utf8_lossy(&answer).contains("HTTP/1.1"));
}

/// A certificate that can't be served with ends the start, with what to do.
#[test]
fn a_bad_certificate_is_told() {
    let dir = tempfile::tempdir().unwrap();
    let start = || {
        let (_home, path) = tls(dir.path()).file();
        let ran = run(&["serve", "--config", &path.display().to_string()]);
        assert_eq!(ran.code, 1);
        ran.stderr
    };
    assert!(start().contains("can't be read"));
    let ca = Ca::new().unwrap();
    let [one, other] = [ca.good().unwrap(), ca.good().unwrap()];
    fs::write(dir.path().join("cert.pem"), one.cert_pem()).unwrap();
    fs::write(dir.path().join("key.pem"), one.cert_pem()).unwrap();
    assert!(start().contains("no private key"));
    fs::write(dir.path().join("key.pem"), other.key_pem()).unwrap();
    assert!(start().contains("give the pair"));
}

/// A request can't be larger or have more headers than the host has a use for.
#[tokio::test]
async fn requests_have_limits() {
    let host = Config::new().start();
    let large = host.api.post(TARGETS, &json!({ "id": "x".repeat(70_000) })).await.unwrap();
    assert_eq!(code(&large, 413), "too-large");
    let many =
        (0..80).fold(host.api.clone(), |api, number| api.with_header(&format!("x-{number}"), "1"));
    assert_eq!(many.get(TARGETS).await.unwrap().status, 431);
    assert_eq!(host.get(TARGETS).await.status, 200);
}

/// E3: an answer that did not change is not sent again; the passing of time is no change.
#[tokio::test]
async fn an_unchanged_answer_is_not_sent_again() {
    let upstream = Upstream::status(200);
    let host = Config::new().head("web", BY_HAND, &upstream.url()).start();
    host.probe("web").await;
    let answer = host.get("/api/v1/targets/web").await;
    let tag = answer.headers["etag"].clone();
    let known = host.api.clone().with_header("if-none-match", &tag);
    let same = known.get("/api/v1/targets/web").await.unwrap();
    assert_eq!((same.status, same.text.as_str()), (304, ""));
    host.probe("web").await;
    let other = known.get("/api/v1/targets/web").await.unwrap();
    assert_eq!(other.status, 200);
    assert_ne!(other.headers["etag"], tag);
}

/// E3: the list comes page by page and is narrowed down; what can't be asked is told.
#[tokio::test]
async fn targets_are_listed_page_by_page() {
    let mut config = Config::new();
    for number in 0..7 {
        let lines =
            format!("labels = {{ team = \"{}\" }}", if number % 2 == 0 { "even" } else { "odd" });
        config = config.target_with(
            &format!("t{number}"),
            &lines,
            "http-head",
            BY_HAND,
            "url = \"http://127.0.0.1:1\"",
        );
    }
    let host = config.start();
    let ids = |page: &Value| -> Vec<String> {
        page["targets"]
            .as_array()
            .unwrap()
            .iter()
            .map(|target| text(&target["id"]).to_owned())
            .collect()
    };
    let first = host.json("/api/v1/targets?limit=4").await;
    assert_eq!(ids(&first), ["t0", "t1", "t2", "t3"]);
    let second =
        host.json(&format!("/api/v1/targets?limit=4&after={}", text(&first["next_after"]))).await;
    assert_eq!(
        (ids(&second), &second["next_after"]),
        (vec!["t4".to_owned(), "t5".into(), "t6".into()], &Value::Null)
    );
    let odd =
        host.json("/api/v1/targets?label=team:odd&status=unknown&kind=http-head&text=T5").await;
    assert_eq!(ids(&odd), ["t5"]);
    let bad = host.get("/api/v1/targets?labels=x").await;
    assert_eq!(code(&bad, 400), "bad-request");
    assert!(bad.text.contains("known are label"), "{}", bad.text);
}
