//! G3: names are resolved by the host, the addresses are checked, and exactly those are dialled.

use probehost_capability::CallResult;
use probehost_capability::http::{ErrorKind, Phase};
use tokio::net::TcpListener;

use crate::server::{Blackhole, Server, answer};
use crate::{AMPLE, capabilities, free, request, run};

/// G3: a name that leads to a special address, in any form, is refused and never dialled.
#[tokio::test]
async fn names_that_lead_to_special_addresses() {
    for address in [
        "169.254.169.254",
        "169.254.0.9",
        "0.0.0.0",
        "224.0.0.1",
        "255.255.255.255",
        "fe80::1",
        "fd00:ec2::254",
        "::ffff:169.254.169.254",
        "64:ff9b::a9fe:a9fe",
        "2002:a9fe:a9fe::",
    ] {
        let run = free();
        let http = capabilities(&[("rebound.example", &[address])]);
        let error =
            http.http().send(&run, request("GET", "http://rebound.example/")).await.unwrap_err();
        assert_eq!((error.kind, error.phase), (ErrorKind::Denied, Phase::Dns), "{error}");
        // It never came to connecting.
        assert_eq!(error.timings.connect, None);
        assert!(error.message.contains("http://rebound.example:80 leads to"), "{error}");
        let CallResult::Denied { grant_line, .. } = run.take_trace().calls.remove(0).result else {
            panic!("not denied");
        };
        assert!(grant_line.starts_with("allow = [\"http://"), "{grant_line}");
        assert!(!grant_line.contains("rebound"), "{grant_line}");
    }
}

/// G3: loopback by "this host" needs a literal grant, and gets through with one.
#[tokio::test]
async fn a_literal_grant_admits() {
    let server = Server::play(answer("HTTP/1.1 200 OK\n\n")).await;
    let port = server.address.port();
    let url = format!("http://zero.example:{port}/");
    let http = capabilities(&[("zero.example", &["0.0.0.0"])]);
    let name = format!("http://zero.example:{port}");
    let by_name = run(&[&name, "http://0.0.0.0/8:*"], AMPLE);
    let error = http.http().send(&by_name, request("HEAD", &url)).await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::Denied);
    let literal = run(&[&name, &format!("http://0.0.0.0:{port}")], AMPLE);
    assert_eq!(http.http().send(&literal, request("HEAD", &url)).await.unwrap().status, 200);
}

/// G3: URLs have many spellings of an address; all are the address.
#[tokio::test]
async fn spellings_of_an_address() {
    for host in
        ["0xa9fea9fe", "2852039166", "0251.0376.0251.0376", "169.254.43518", "[::ffff:a9fe:a9fe]"]
    {
        let url = format!("http://{host}/");
        let error = capabilities(&[]).http().send(&free(), request("GET", url)).await.unwrap_err();
        assert_eq!((error.kind, error.phase), (ErrorKind::Denied, Phase::Request), "{host}");
        assert!(error.message.contains("a cloud metadata address"), "{error}");
    }
}

/// A name with a special address beside others is served by the others.
#[tokio::test]
async fn special_addresses_are_passed_over() {
    let server = Server::play(answer("HTTP/1.1 200 OK\n\n")).await;
    let http = capabilities(&[("mixed.example", &["fe80::1", "127.0.0.1"])]);
    let url = format!("http://mixed.example:{}/", server.address.port());
    let response = http.http().send(&free(), request("HEAD", url)).await.unwrap();
    assert_eq!(response.status, 200);
    assert!(response.timings.dns.is_some());
    assert!(server.seen()[0].contains(&format!("host: mixed.example:{}", server.address.port())));
}

/// One address after the other, until one answers; when none does, all are named.
#[tokio::test]
async fn addresses_are_tried_in_turn() {
    let server = Server::play(answer("HTTP/1.1 200 OK\n\n")).await;
    let port = server.address.port();
    // Nothing listens on the other loopback addresses.
    let http = capabilities(&[
        ("two.example", &["127.0.0.9", "::1", "127.0.0.1"]),
        ("none.example", &["127.0.0.9", "127.0.0.8"]),
    ]);
    let url = format!("http://two.example:{port}/");
    assert_eq!(http.http().send(&free(), request("HEAD", url)).await.unwrap().status, 200);
    let url = format!("http://none.example:{port}/");
    let error = http.http().send(&free(), request("HEAD", url)).await.unwrap_err();
    assert_eq!((error.kind, error.phase), (ErrorKind::Refused, Phase::Connect));
    assert_eq!(
        error.message,
        format!(
            "none.example:{port} refused the connection \
             (127.0.0.9:{port}: Connection refused, 127.0.0.8:{port}: Connection refused)"
        )
    );
}

/// An address that does not answer holds the next one up only for a moment.
#[tokio::test]
async fn a_silent_address_does_not_block_the_next() {
    let blackhole = Blackhole::new().await;
    let port = blackhole.address.port();
    let listener = TcpListener::bind(("127.0.0.2", port)).await.unwrap();
    let _server = Server::serve(listener, None, |_| answer("HTTP/1.1 200 OK\n\n"));
    let http = capabilities(&[("slow.example", &["127.0.0.1", "127.0.0.2"])]);
    let url = format!("http://slow.example:{port}/");
    let response = http.http().send(&free(), request("HEAD", url)).await.unwrap();
    assert_eq!(response.status, 200);
    assert!(response.timings.connect.unwrap().as_millis() >= 240);
}

/// IPv6, with the brackets where they belong.
#[tokio::test]
async fn ipv6() {
    let listener = TcpListener::bind("[::1]:0").await.unwrap();
    let server = Server::serve(listener, None, |_| answer("HTTP/1.1 200 OK\n\n"));
    let port = server.address.port();
    let run = run(&[&format!("http://[::1]:{port}")], AMPLE);
    let response =
        capabilities(&[]).http().send(&run, request("HEAD", server.url("/"))).await.unwrap();
    assert_eq!(response.url, format!("http://[::1]:{port}/"));
    assert!(server.seen()[0].contains(&format!("host: [::1]:{port}\r\n")));
}

/// A refusal over IPv6 names the address with its brackets.
#[tokio::test]
async fn ipv6_refused() {
    let address = TcpListener::bind("[::1]:0").await.unwrap().local_addr().unwrap();
    let http = capabilities(&[]);
    let url = format!("http://{address}/");
    let error = http.http().send(&free(), request("HEAD", url)).await.unwrap_err();
    assert_eq!(error.message, format!("{address} refused the connection"));
}
