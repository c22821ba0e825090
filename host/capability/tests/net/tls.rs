//! TLS on a connection: certificates good and bad, verified and looked at.

use std::io::Write as _;
use std::sync::Arc;

use probehost_capability::resolve::Resolver;
use probehost_capability::tcp::{Connection, Error, ErrorKind, Phase, TlsMode};
use probehost_capability::{Capabilities, Options};
use probehost_test_support::certs::{Ca, Identity};
use probehost_test_support::upstream::{Script, Setup, Step, Upstream};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::TcpListener;

use crate::{AMPLE, SHORT, capabilities, free};

/// Capabilities that trust this authority.
fn trusting(ca: &Ca) -> Capabilities {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(ca.pem().as_bytes()).unwrap();
    let table = [("tls.example".to_owned(), vec!["127.0.0.1".parse().unwrap()])];
    Capabilities::new(Options {
        resolver: Resolver::fixed(table),
        system_roots: false,
        root_files: vec![file.path().to_owned()],
    })
    .unwrap()
}

fn serve(identity: Identity) -> Upstream {
    Setup::script([Step::ReadHead, Step::Send(b"well".to_vec())])
        .tls(identity.server_config().unwrap())
        .start()
}

async fn connect(host: &Capabilities, port: u16) -> Connection {
    host.tcp().connect(&free(AMPLE), "127.0.0.1", port).await.unwrap()
}

/// A good certificate is told with all that people want to know, and what follows goes within TLS.
#[tokio::test]
async fn a_good_certificate() {
    let ca = Ca::new().unwrap();
    let upstream = serve(ca.good_for_days(5).unwrap());
    for mode in [TlsMode::Verify, TlsMode::Inspect] {
        let mut connection = connect(&trusting(&ca), upstream.port()).await;
        connection.start_tls(None, mode).await.unwrap();
        connection.write(b"GET / HTTP/1.1\r\n\r\n").await.unwrap();
        assert_eq!(connection.read(64).await.unwrap().unwrap(), b"well");
        assert_eq!(connection.read(64).await.unwrap(), None);
        assert!(connection.timings().tls.is_some() && connection.timings().connect.is_some());
        let certificate = connection.certificate().unwrap();
        assert!((4.9..5.0).contains(&certificate.dates.days_left), "{certificate:?}");
        assert!(certificate.dates.not_before < certificate.dates.not_after);
        assert_eq!(certificate.names, ["localhost", "127.0.0.1"]);
        assert_eq!(certificate.subject, "CN=probehost test server");
        assert_eq!(certificate.issuer, "CN=probehost test CA");
        assert_eq!(certificate.problem, None, "{mode:?}");
    }
    assert_eq!(upstream.requests().len(), 2);
}

/// P6: each bad certificate is refused and says what is bad, or is let through and says the same.
#[tokio::test]
async fn bad_certificates() {
    let (ca, other) = (Ca::new().unwrap(), Ca::new().unwrap());
    for (identity, says) in [
        (ca.expired().unwrap(), "has expired on "),
        (ca.not_yet_valid().unwrap(), "is not valid before "),
        (ca.wrong_host().unwrap(), "is not for 127.0.0.1, but for somewhere-else.test"),
        // An authority that has the name of the trusted one, and another key.
        (other.good().unwrap(), "is not good: BadSignature"),
        (Identity::self_signed().unwrap(), "is signed by an issuer that this host does not trust"),
    ] {
        let upstream = serve(identity);
        let host = trusting(&ca);
        let mut connection = connect(&host, upstream.port()).await;
        let error = connection.start_tls(None, TlsMode::Verify).await.unwrap_err();
        assert_eq!((error.kind, error.phase), (ErrorKind::Tls, Phase::Tls), "{error}");
        assert!(error.message.contains(says), "{error}");
        assert!(error.timings.tls.is_some() && error.timings.connect.is_some());
        let refused = error.certificate.unwrap();
        assert_eq!(refused.problem.as_deref(), Some(error.message.as_str()));
        // Nothing goes in the clear after that.
        assert_eq!(connection.write(b"x").await.unwrap_err().kind, ErrorKind::Closed);

        let mut connection = connect(&host, upstream.port()).await;
        connection.start_tls(None, TlsMode::Inspect).await.unwrap();
        let shown = connection.certificate().unwrap();
        assert!(shown.problem.as_ref().unwrap().contains(says), "{shown:?}");
        assert_eq!(
            (&shown.names, shown.dates.not_after),
            (&refused.names, refused.dates.not_after)
        );
        assert_eq!(shown.dates.days_left < 0.0, says.contains("expired"));
    }
}

/// The name that is asked for is the one that the certificate has to be for.
#[tokio::test]
async fn a_name_of_its_own() {
    let ca = Ca::new().unwrap();
    let upstream = serve(ca.wrong_host().unwrap());
    let host = trusting(&ca);
    let mut connection = connect(&host, upstream.port()).await;
    connection.start_tls(Some("somewhere-else.test."), TlsMode::Verify).await.unwrap();
    let mut connection = connect(&host, upstream.port()).await;
    let error = connection.start_tls(Some("not a name"), TlsMode::Verify).await.unwrap_err();
    assert_eq!((error.kind, error.phase), (ErrorKind::Invalid, Phase::Request), "{error}");
    // That was no attempt yet; nor is a second handshake one.
    connection.start_tls(Some("somewhere-else.test"), TlsMode::Verify).await.unwrap();
    let error = connection.start_tls(None, TlsMode::Inspect).await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::Invalid, "{error}");
    connection.write(b"x").await.unwrap();
}

/// As mail servers do: words in the clear, then TLS on the same connection.
#[tokio::test]
async fn an_upgrade() {
    let ca = Ca::new().unwrap();
    let config = ca.good().unwrap().server_config().unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let server = tokio::spawn(async move {
        let mut tcp = BufReader::new(listener.accept().await.unwrap().0);
        tcp.write_all(b"220 hello\r\n").await.unwrap();
        let mut line = String::new();
        tcp.read_line(&mut line).await.unwrap();
        assert_eq!(line, "STARTTLS\r\n");
        tcp.write_all(b"220 go\r\n").await.unwrap();
        let mut tls = tokio_rustls::TlsAcceptor::from(config).accept(tcp).await.unwrap();
        let mut bytes = [0; 4];
        tls.read_exact(&mut bytes).await.unwrap();
        tls.write_all(&bytes).await.unwrap();
        tls.shutdown().await.unwrap();
    });
    let mut connection = connect(&trusting(&ca), port).await;
    assert_eq!(connection.read(64).await.unwrap().unwrap(), b"220 hello\r\n");
    connection.write(b"STARTTLS\r\n").await.unwrap();
    assert_eq!(connection.read(64).await.unwrap().unwrap(), b"220 go\r\n");
    connection.start_tls(Some("localhost"), TlsMode::Verify).await.unwrap();
    connection.write(b"EHLO").await.unwrap();
    assert_eq!(connection.read(64).await.unwrap().unwrap(), b"EHLO");
    assert_eq!(connection.read(64).await.unwrap(), None);
    server.await.unwrap();
}

async fn refused(script: impl Into<Script>) -> Error {
    let upstream = Upstream::script(script);
    let mut connection = connect(&trusting(&Ca::new().unwrap()), upstream.port()).await;
    connection.start_tls(None, TlsMode::Inspect).await.unwrap_err()
}

/// Servers on which no handshake comes about.
#[tokio::test]
async fn no_handshake() {
    let error = refused([Step::Send(b"220 hello\r\n".to_vec()), Step::Hang]).await;
    assert_eq!((error.kind, error.phase), (ErrorKind::Tls, Phase::Tls), "{error}");
    assert!(error.message.contains("does not speak TLS"), "{error}");
    // An alert: no application protocol.
    let error = refused([Step::Send(vec![21, 3, 3, 0, 2, 2, 120]), Step::Hang]).await;
    assert_eq!(error.kind, ErrorKind::Tls);
    assert!(error.message.contains("wants an application protocol"), "{error}");
    assert_eq!(error.certificate, None);
    let error = refused(Script::close()).await;
    assert_eq!((error.kind, error.phase), (ErrorKind::Closed, Phase::Tls), "{error}");
}

/// P3: a handshake that never ends is cut at the deadline.
#[tokio::test]
async fn a_stalled_handshake() {
    let upstream = Upstream::script(Script::hang());
    let host = trusting(&Ca::new().unwrap());
    let run = free(SHORT);
    let port = upstream.port();
    let mut connection = host.tcp().connect(&run, "127.0.0.1", port).await.unwrap();
    let error = connection.start_tls(None, TlsMode::Verify).await.unwrap_err();
    assert_eq!((error.kind, error.phase), (ErrorKind::Timeout, Phase::Tls), "{error}");
    let says = format!("timeout after 600 ms in the TLS handshake with 127.0.0.1:{port}");
    assert!(error.message.starts_with(&says), "{error}");
}

/// Where nothing is trusted nothing can be said of a server, but its certificate can be looked at.
#[tokio::test]
async fn a_host_that_trusts_nobody() {
    let upstream = serve(Ca::new().unwrap().good().unwrap());
    let host = capabilities(&[]);
    let mut connection = connect(&host, upstream.port()).await;
    let error = connection.start_tls(None, TlsMode::Verify).await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::Host);
    assert!(error.message.contains("ca-certificates"), "{error}");
    let mut connection = connect(&host, upstream.port()).await;
    connection.start_tls(None, TlsMode::Inspect).await.unwrap();
    let problem = connection.certificate().unwrap().problem.as_ref().unwrap();
    assert!(problem.contains("trusts no certificate at all"), "{problem}");
}

/// An end without an end of TLS may be somebody else's doing.
#[tokio::test]
async fn a_stream_that_is_cut() {
    let config = Ca::new().unwrap().good().unwrap().server_config().unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let acceptor = tokio_rustls::TlsAcceptor::from(Arc::clone(&config));
    let server = tokio::spawn(async move {
        let tls = acceptor.accept(listener.accept().await.unwrap().0).await.unwrap();
        let (tcp, _) = tls.into_inner();
        drop(tcp);
    });
    let mut connection = connect(&capabilities(&[]), port).await;
    connection.start_tls(None, TlsMode::Inspect).await.unwrap();
    server.await.unwrap();
    let error = connection.read(64).await.unwrap_err();
    assert_eq!((error.kind, error.phase), (ErrorKind::Closed, Phase::Read), "{error}");
}
