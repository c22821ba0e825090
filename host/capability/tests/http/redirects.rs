//! H4: redirects are answers, unless they are asked to be followed; then each hop is checked.

use probehost_capability::CallResult;
use probehost_capability::http::{ErrorKind, Phase, Request, RequestHeader};

use crate::server::{Server, Step, answer};
use crate::{AMPLE, capabilities, request, run, send};

fn redirect(status: u16, location: &str) -> Vec<Step> {
    answer(format!("HTTP/1.1 {status} Moved\nLocation: {location}\nContent-Length: 0\n\n"))
}

fn following(method: &str, url: String, redirects: u8) -> Request {
    Request { redirects, ..request(method, url) }
}

#[tokio::test]
async fn not_followed_unless_asked() {
    let server = Server::play(redirect(302, "/elsewhere")).await;
    let response = send(request("HEAD", server.url("/"))).await.unwrap();
    assert_eq!(response.status, 302);
    assert_eq!(server.accepted(), 1);
}

#[tokio::test]
async fn followed_when_asked() {
    for status in [301, 302, 303, 307, 308] {
        let server = Server::play_each(move |n| match n {
            0 => redirect(status, "/two?x#y"),
            _ => answer("HTTP/1.1 200 OK\n\n"),
        })
        .await;
        let response = send(following("HEAD", server.url("/one"), 1)).await.unwrap();
        assert_eq!((response.status, response.url), (200, server.url("/two?x#y")));
        let heads: Vec<_> = server
            .seen()
            .iter()
            .map(|head| head.split(" http/").next().unwrap().to_owned())
            .collect();
        assert_eq!(heads, ["head /one", "head /two?x"], "{status}");
    }
}

#[tokio::test]
async fn a_post_becomes_a_get_where_it_should() {
    for (status, second) in [(302, "get /"), (303, "get /"), (307, "post /")] {
        let server = Server::play_each(move |n| match n {
            0 => redirect(status, "/"),
            _ => answer("HTTP/1.1 200 OK\n\n"),
        })
        .await;
        let asked = Request {
            body: Some(b"x".to_vec()),
            headers: vec![RequestHeader::text("content-type", "text/plain")],
            ..following("POST", server.url("/"), 1)
        };
        send(asked).await.unwrap();
        let seen = server.seen().pop().unwrap();
        assert!(seen.starts_with(second), "{status}: {seen}");
        assert_eq!(seen.contains("content-type"), status == 307, "{seen}");
    }
}

#[tokio::test]
async fn loops_end() {
    let server = Server::play(redirect(302, "/")).await;
    let error = send(following("HEAD", server.url("/"), 3)).await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::Redirect);
    assert_eq!(
        error.message,
        format!(
            "{} redirects once more after 3 redirects, and no more are allowed",
            server.address
        )
    );
    assert_eq!(server.accepted(), 4);
    // The host's own limit.
    let error = send(following("HEAD", server.url("/"), 255)).await.unwrap_err();
    assert!(error.message.contains("after 10 redirects"), "{error}");
}

#[tokio::test]
async fn nowhere() {
    for (location, says) in [
        ("Location: ftp://example.com/", "its location is neither http nor https"),
        ("Location: http://me:pw@127.0.0.1/", "its location has a user part"),
        ("Location: http://[::1", "its location is not a URL"),
        ("X: y", "it names no location"),
    ] {
        let server = Server::play(answer(format!("HTTP/1.1 301 Moved\n{location}\n\n"))).await;
        let error = send(following("HEAD", server.url("/"), 5)).await.unwrap_err();
        assert_eq!(error.kind, ErrorKind::Redirect);
        assert!(error.message.contains(says), "{error}");
        assert!(error.message.starts_with(&format!("{} redirects (301)", server.address)));
    }
}

/// H4, G2: a hop that is not granted is not dialled.
#[tokio::test]
async fn each_hop_must_be_granted() {
    let second = Server::play(answer("HTTP/1.1 200 OK\n\n")).await;
    let first = Server::play(redirect(302, &second.url("/"))).await;
    let grant = format!("http://{}", first.address);
    let denied = run(&[&grant], AMPLE);
    let error = capabilities(&[])
        .http()
        .send(&denied, following("HEAD", first.url("/"), 5))
        .await
        .unwrap_err();
    assert_eq!((error.kind, error.phase), (ErrorKind::Denied, Phase::Request));
    let line = format!("allow = [\"http://{}\"] under [plugins.tester]", second.address);
    assert!(error.message.contains(&line), "{error}");
    assert_eq!(second.accepted(), 0);
    assert!(matches!(denied.take_trace().calls[0].result, CallResult::Denied { .. }));

    let both = run(&[&grant, &format!("http://{}", second.address)], AMPLE);
    let sent = capabilities(&[]).http().send(&both, following("HEAD", first.url("/"), 5)).await;
    assert_eq!(sent.unwrap().url, second.url("/"));
}

/// G3: a hop to a metadata address is refused, whatever wildcard is granted.
#[tokio::test]
async fn a_hop_to_the_metadata_address_is_refused() {
    let server = Server::play(redirect(302, "http://169.254.169.254/latest/")).await;
    let error = send(following("GET", server.url("/"), 5)).await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::Denied);
    assert!(error.message.contains("a cloud metadata address"), "{error}");
}

/// Credentials for one origin go to no other.
#[tokio::test]
async fn credentials_stay_with_their_origin() {
    let second = Server::play(answer("HTTP/1.1 200 OK\n\n")).await;
    let elsewhere = second.url("/");
    let first = Server::play_each(move |n| match n {
        0 => redirect(302, "/again"),
        _ => redirect(302, &elsewhere),
    })
    .await;
    let mut asked = following("HEAD", first.url("/"), 5);
    for name in ["Authorization", "Cookie", "X-Kept"] {
        asked.headers.push(RequestHeader::text(name, "v"));
    }
    send(asked).await.unwrap();
    for head in first.seen() {
        assert!(head.contains("authorization: v") && head.contains("cookie: v"), "{head}");
    }
    let head = &second.seen()[0];
    assert!(!head.contains("authorization") && !head.contains("cookie"), "{head}");
    assert!(head.contains("x-kept: v"));
}
