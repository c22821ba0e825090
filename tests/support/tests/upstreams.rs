//! Each upstream does on the wire what it says.

use std::io::{ErrorKind, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use probehost_test_support::raw::{HEAD, exchange};
use probehost_test_support::upstream::{
    ClosedPort, FullBacklog, Response, Script, Setup, StatusSwitch, Step, Upstream,
};
use probehost_test_support::wait::eventually;

/// Long enough for anything that answers.
const LIMIT: Duration = Duration::from_secs(10);
/// Long enough to see that something does not answer; what is tested is that no answer exists at all.
const MOMENT: Duration = Duration::from_millis(200);

#[test]
fn http_answers_and_notes_the_request() {
    let upstream = Upstream::http(|request| match request.path.as_str() {
        "/health?a=b" => Response::new(200).header("x-seen", &request.method).body("fine"),
        _ => Response::new(404),
    });
    let request =
        b"POST /health?a=b HTTP/1.1\r\nContent-Length: 4\r\nConnection: close\r\n\r\nbody";
    let answer = exchange(upstream.address(), request, LIMIT).unwrap();
    assert_eq!(answer, b"HTTP/1.1 200 \r\nx-seen: POST\r\ncontent-length: 4\r\n\r\nfine");

    let seen = upstream.requests();
    assert_eq!(seen.len(), 1);
    assert_eq!((seen[0].method.as_str(), seen[0].path.as_str()), ("POST", "/health?a=b"));
    assert_eq!(seen[0].body, b"body");
    assert!(upstream.strays().is_empty());
}

/// A test of HEAD discipline (H1) has to see a body, announced or not.
#[test]
fn bodies_show_whether_announced_or_not() {
    let upstream = Upstream::status(200);
    let chunked = b"HEAD / HTTP/1.1\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n3\r\nabc\r\n0\r\n\r\n";
    exchange(upstream.address(), chunked, LIMIT).unwrap();
    assert_eq!(upstream.requests()[0].body, b"3\r\nabc\r\n0\r\n\r\n");

    let mut sender = TcpStream::connect(upstream.address()).unwrap();
    sender.write_all(b"HEAD / HTTP/1.1\r\nHost: x\r\n\r\nunannounced").unwrap();
    drop(sender);
    let rt = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    rt.block_on(eventually(
        "the stray is noted",
        LIMIT,
        || async { upstream.strays() },
        |strays| !strays.is_empty(),
    ));
    assert_eq!(upstream.strays(), [b"unannounced".to_vec()]);
    assert!(upstream.requests()[1].body.is_empty());
}

/// A test of fresh connections (H5) has to see one that was reused.
#[test]
fn a_reused_connection_shows() {
    let upstream = Upstream::status(204);
    let twice =
        [&b"HEAD /1 HTTP/1.1\r\n\r\n"[..], b"HEAD /2 HTTP/1.1\r\nConnection: close\r\n\r\n"]
            .concat();
    exchange(upstream.address(), &twice, LIMIT).unwrap();
    exchange(upstream.address(), HEAD, LIMIT).unwrap();
    let connections: Vec<_> =
        upstream.requests().iter().map(|request| request.connection).collect();
    assert_eq!(connections, [0, 0, 1]);
    assert_eq!(upstream.connections(), 2);
}

#[test]
fn a_switched_status_changes_while_it_runs() {
    let switch = StatusSwitch::new(503);
    let upstream = Upstream::switched(&switch);
    assert!(exchange(upstream.address(), HEAD, LIMIT).unwrap().starts_with(b"HTTP/1.1 503 "));
    switch.set(200);
    assert!(exchange(upstream.address(), HEAD, LIMIT).unwrap().starts_with(b"HTTP/1.1 200 "));
}

#[test]
fn scripts_go_by_connection_and_the_last_one_stays() {
    let upstream =
        Upstream::scripts([Script::answer("first"), Script::close(), Script::answer("then")]);
    let answers = [(); 4].map(|()| exchange(upstream.address(), HEAD, LIMIT).unwrap_or_default());
    assert_eq!(answers, [&b"first"[..], b"", b"then", b"then"]);
    assert_eq!(upstream.requests().len(), 3);
}

#[test]
fn drips_and_garbage_arrive() {
    let drip = Upstream::script(Script::drip("HTTP/1.1 200 \r\n\r\n", Duration::from_millis(1)));
    assert_eq!(exchange(drip.address(), HEAD, LIMIT).unwrap(), b"HTTP/1.1 200 \r\n\r\n");
    let garbage = Upstream::script(Script::garbage());
    assert!(!exchange(garbage.address(), HEAD, LIMIT).unwrap().starts_with(b"HTTP/"));
    let flood = Upstream::script([Step::ReadHead, Step::Flood(3_000_000)]);
    assert_eq!(exchange(flood.address(), HEAD, LIMIT).unwrap().len(), 3_000_000);
}

#[test]
fn a_reset_is_a_reset() {
    let upstream = Upstream::script(Script::reset());
    let error = exchange(upstream.address(), HEAD, LIMIT).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ConnectionReset);
    assert_eq!(upstream.requests().len(), 1);
}

#[tokio::test]
async fn a_hanging_upstream_notices_when_its_peer_leaves() {
    let upstream = Upstream::script(Script::hang());
    let peer = TcpStream::connect(upstream.address()).unwrap();
    eventually("one is open", LIMIT, || async { upstream.open_connections() }, |open| *open == 1)
        .await;
    assert_eq!(
        exchange(upstream.address(), HEAD, MOMENT).unwrap_err().kind(),
        ErrorKind::WouldBlock
    );
    drop(peer);
    eventually("none is open", LIMIT, || async { upstream.open_connections() }, |open| *open == 0)
        .await;
    assert_eq!(upstream.connections(), 2);
}

#[test]
fn dropping_closes_port_and_connections() {
    let upstream = Upstream::script(Script::hang());
    let address = upstream.address();
    let held = TcpStream::connect(address).unwrap();
    drop(upstream);
    assert_eq!(TcpStream::connect(address).unwrap_err().kind(), ErrorKind::ConnectionRefused);
    held.set_read_timeout(Some(LIMIT)).unwrap();
    let end = std::io::Read::read(&mut &held, &mut [0]);
    assert!(
        matches!(&end, Ok(0)) || end.is_err_and(|error| error.kind() == ErrorKind::ConnectionReset)
    );
}

#[test]
fn a_taken_port_is_an_error_that_names_it() {
    let upstream = Upstream::status(200);
    let taken = SocketAddr::from(([127, 0, 0, 1], upstream.port()));
    let error = Setup::http(|_| Response::new(200)).start_at(taken).unwrap_err().to_string();
    assert!(error.starts_with(&format!("could not listen on {taken}: ")), "{error}");
}

#[test]
fn a_closed_port_refuses_and_stays_reserved() {
    let port = ClosedPort::reserve();
    let error = exchange(port.address(), HEAD, LIMIT).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ConnectionRefused);
    assert!(std::net::TcpListener::bind(port.address()).is_err());
}

#[test]
fn a_full_backlog_never_answers_a_connect() {
    let full = FullBacklog::start();
    assert_eq!(exchange(full.address(), HEAD, MOMENT).unwrap_err().kind(), ErrorKind::TimedOut);
}
