//! Header values that are secrets: only the host sees them.

use probehost_capability::http::{ErrorKind, Header, HeaderValue, Request, RequestHeader};
use probehost_capability::resolve::Resolver;
use probehost_capability::secrets::Secrets;
use probehost_capability::ssh::Local;
use probehost_capability::{Capabilities, Options, Run};
use probehost_model::grant::Grants;
use tokio::time::Instant;

use crate::server::{Server, Step, answer};
use crate::{AMPLE, request};

fn with_secrets() -> Capabilities {
    let secrets = Secrets::new([], |name| match name {
        "PROBEHOST_SECRET_API_KEY" => Some("hunter2".to_owned()),
        "PROBEHOST_SECRET_BROKEN" => Some("one\ntwo".to_owned()),
        _ => None,
    });
    let local = Local { known_hosts: None, agent_socket: None, secrets };
    let options =
        Options { resolver: Resolver::fixed([]), system_roots: false, root_files: Vec::new() };
    Capabilities::with_local(options, local).unwrap()
}

/// A run whose config names these secrets.
fn naming(names: &[&str]) -> Run {
    let grants = Grants::new([], vec!["*://*:*".parse().unwrap()])
        .with_texts(names.iter().map(|name| (*name).into()).collect());
    Run::new("tester", grants, Instant::now() + AMPLE)
}

fn with_secret(request: Request, header: &str, secret: &str) -> Request {
    let value = HeaderValue::Secret { prefix: "Bearer ".to_owned(), name: secret.to_owned() };
    Request { headers: vec![RequestHeader { name: header.to_owned(), value }], ..request }
}

/// M6: the host puts it on the wire, and nothing that is told holds it.
#[tokio::test]
async fn a_secret_goes_on_the_wire() {
    let server = Server::play(answer("HTTP/1.1 200 OK\nX-Own: 1\n\n")).await;
    let run = naming(&["api-key"]);
    let asked = with_secret(request("GET", server.url("/")), "Authorization", "api-key");
    let answered = with_secrets().http().send(&run, asked).await.unwrap();
    assert!(server.seen()[0].contains("authorization: bearer hunter2\r\n"));
    assert!(answered.headers.contains(&Header { name: "x-own".into(), value: "1".into() }));
    assert!(!format!("{:?} {answered:?}", run.take_trace()).contains("hunter2"));
}

/// M6, G2: one that the config does not name, one that is not there and one that is no header's
/// value are refused before anything is dialled.
#[tokio::test]
async fn a_secret_that_cannot_be_used_is_refused() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    for (named, secret, kind, words) in [
        ("other", "api-key", ErrorKind::Denied, "does not name the secret api-key"),
        ("gone", "gone", ErrorKind::Invalid, "PROBEHOST_SECRET_GONE"),
        ("broken", "broken", ErrorKind::Invalid, "the value of the header authorization has"),
    ] {
        let asked = with_secret(request("GET", url.as_str()), "Authorization", secret);
        let error = with_secrets().http().send(&naming(&[named]), asked).await.unwrap_err();
        assert_eq!(error.kind, kind, "{error}");
        assert!(error.message.contains(words), "{error}");
        assert!(!error.message.contains("hunter2") && !error.message.contains("two"), "{error}");
    }
    let accepted = listener.accept().map(drop).map_err(|error| error.kind());
    assert_eq!(accepted, Err(std::io::ErrorKind::WouldBlock));
}

/// M6: a redirect to another origin does not take it along, whatever the header's name is.
#[tokio::test]
async fn a_secret_stays_with_its_origin() {
    let second = Server::play(answer("HTTP/1.1 200 OK\n\n")).await;
    let location = format!("HTTP/1.1 302 Found\nLocation: {}\n\n", second.url("/"));
    let first: Vec<Step> = answer(&location);
    let first = Server::play(first).await;
    let asked = Request { redirects: 1, ..request("GET", first.url("/")) };
    let asked = with_secret(asked, "X-Api-Key", "api-key");
    with_secrets().http().send(&naming(&["api-key"]), asked).await.unwrap();
    assert!(first.seen()[0].contains("x-api-key: bearer hunter2"));
    assert!(!second.seen()[0].contains("x-api-key"), "{}", second.seen()[0]);
}
