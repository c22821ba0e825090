//! Certificates good and bad, and servers that do not get as far as showing one.

use std::io::Write as _;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use probehost_capability::http::{Error, ErrorKind, Phase, Response};
use probehost_capability::resolve::Resolver;
use probehost_capability::{Capabilities, Options, SetupError};
use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair, date_time_ymd};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};

use crate::server::{Server, Step, answer};
use crate::{free, request, run};

/// A certificate authority that is made for a test, and trusted by it alone.
struct Authority {
    issuer: Issuer<'static, KeyPair>,
    pem: String,
}

fn named(name: &str, hosts: &[&str]) -> CertificateParams {
    let hosts: Vec<_> = hosts.iter().map(|host| (*host).to_owned()).collect();
    let mut params = CertificateParams::new(hosts).unwrap();
    params.distinguished_name.push(DnType::CommonName, name);
    params
}

impl Authority {
    fn new(name: &str) -> Self {
        let key = KeyPair::generate().unwrap();
        let mut params = named(name, &[]);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let pem = params.self_signed(&key).unwrap().pem();
        Self { issuer: Issuer::new(params, key), pem }
    }

    /// A server that shows a certificate for `hosts`, valid in `years`.
    fn server(&self, hosts: &[&str], years: (i32, i32)) -> rustls::ServerConfig {
        let mut params = named("leaf", hosts);
        params.not_before = date_time_ymd(years.0, 1, 1);
        params.not_after = date_time_ymd(years.1, 1, 1);
        let key = KeyPair::generate().unwrap();
        let leaf = params.signed_by(&key, &self.issuer).unwrap();
        config(leaf.der().clone(), &key)
    }

    /// Capabilities that trust this authority.
    fn trusted(&self) -> Capabilities {
        let file = TempFile::new(&self.pem);
        let table = ["good.example", "other.example"]
            .map(|name| (name.to_owned(), vec!["127.0.0.1".parse().unwrap()]));
        Capabilities::new(Options {
            resolver: Resolver::fixed(table),
            system_roots: false,
            root_files: vec![file.0.clone()],
        })
        .unwrap()
    }
}

fn config(leaf: CertificateDer<'static>, key: &KeyPair) -> rustls::ServerConfig {
    let key = PrivateKeyDer::try_from(key.serialize_der()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![leaf], key)
        .unwrap()
}

struct TempFile(PathBuf);

impl TempFile {
    fn new(text: &str) -> Self {
        use std::sync::atomic::{AtomicUsize, Ordering};
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let name = format!(
            "probehost-test-{}-{}.pem",
            std::process::id(),
            COUNT.fetch_add(1, Ordering::SeqCst)
        );
        let path = std::env::temp_dir().join(name);
        std::fs::File::create_new(&path).unwrap().write_all(text.as_bytes()).unwrap();
        Self(path)
    }
}

impl Drop for TempFile {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

const FINE: (i32, i32) = (2020, 2120);

async fn ask(
    authority: &Authority,
    config: rustls::ServerConfig,
    host: &str,
) -> Result<Response, Error> {
    let server = Server::play_tls(config, answer("HTTP/1.1 200 OK\nContent-Length: 2\n\nok")).await;
    let url = format!("https://{host}:{}/", server.address.port());
    authority.trusted().http().send(&free(), request("GET", url)).await
}

/// H5: the certificate's dates come with the answer.
#[tokio::test]
async fn a_good_certificate() {
    let authority = Authority::new("test authority");
    for host in ["good.example", "127.0.0.1"] {
        let response = ask(&authority, authority.server(&[host], FINE), host).await.unwrap();
        assert_eq!(response.body, b"ok");
        let certificate = response.certificate.unwrap();
        assert_eq!(certificate.not_before, 1_577_836_800);
        assert_eq!(certificate.not_after, 4_733_510_400);
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
        let left = (4_733_510_400.0 - now.as_secs_f64()) / 86_400.0;
        assert!((certificate.days_left - left).abs() < 0.01, "{certificate:?}");
        assert!(response.timings.tls.is_some());
    }
}

/// P6: each bad certificate says what is bad, and its dates are there all the same.
#[tokio::test]
async fn bad_certificates() {
    let authority = Authority::new("test authority");
    let stranger = Authority::new("unknown authority");
    let alone = KeyPair::generate().unwrap();
    let self_signed = named("alone", &["good.example"]).self_signed(&alone).unwrap();
    let self_signed = config(self_signed.der().clone(), &alone);
    for (config, says) in [
        (authority.server(&["good.example"], (2000, 2001)), "has expired on 2001-01-01 ("),
        (authority.server(&["good.example"], (2119, 2120)), "is not valid before 2119-01-01 (in "),
        (
            authority.server(&["other.example", "*.more.example"], FINE),
            "is not for good.example, but for other.example, *.more.example",
        ),
        (
            stranger.server(&["good.example"], FINE),
            "is signed by an issuer that this host does not trust",
        ),
        (self_signed, "the certificate of good.example:"),
    ] {
        let error = ask(&authority, config, "good.example").await.unwrap_err();
        assert_eq!((error.kind, error.phase), (ErrorKind::Tls, Phase::Tls), "{error}");
        assert!(error.message.contains(says), "{error}");
        assert!(error.message.starts_with("the certificate of good.example:"), "{error}");
        let certificate = error.certificate.unwrap();
        assert_eq!(certificate.days_left < 0.0, says.contains("expired"));
        assert!(error.timings.tls.is_some() && error.timings.first_byte.is_none());
    }
}

/// Servers on which no handshake comes about.
#[tokio::test]
async fn no_handshake() {
    let http = Authority::new("test authority").trusted();
    let plain = Step::Send(b"HTTP/1.1 400 Bad Request\r\n\r\n".to_vec());
    for (script, kind, says) in [
        (vec![plain, Step::Hang], ErrorKind::Tls, "does not speak TLS"),
        (
            vec![Step::ReadBody(5)],
            ErrorKind::Closed,
            "closed the connection during the TLS handshake",
        ),
        (
            vec![Step::ReadBody(5), Step::Reset],
            ErrorKind::Closed,
            "the connection during the TLS handshake",
        ),
        // An alert: handshake failure.
        (
            vec![Step::Send(vec![21, 3, 3, 0, 2, 2, 40]), Step::Hang],
            ErrorKind::Tls,
            "broke off the TLS handshake: no cipher or version in common",
        ),
    ] {
        let server = Server::play(script).await;
        let url = format!("https://{}/", server.address);
        let error = http.http().send(&free(), request("HEAD", url)).await.unwrap_err();
        assert_eq!((error.kind, error.phase), (kind, Phase::Tls), "{error}");
        assert!(error.message.contains(says), "{error}");
        assert!(error.message.contains(&server.address.to_string()), "{error}");
        assert_eq!(error.certificate, None);
    }
}

/// P3: a server that never finishes the handshake is cut at the deadline.
#[tokio::test]
async fn a_slow_handshake() {
    let http = Authority::new("test authority").trusted();
    let server = Server::play(vec![Step::Hang]).await;
    let run = run(&["*://*:*"], Duration::from_millis(500));
    let url = format!("https://{}/", server.address);
    let error = http.http().send(&run, request("HEAD", url)).await.unwrap_err();
    assert_eq!((error.kind, error.phase), (ErrorKind::Timeout, Phase::Tls));
    let says =
        format!("timeout after 500 ms in the TLS handshake with {} (connect ", server.address);
    assert!(error.message.starts_with(&says), "{error}");
}

/// The certificate is there when the failure comes after the handshake, too.
#[tokio::test]
async fn a_failure_after_the_handshake_has_the_certificate() {
    let authority = Authority::new("test authority");
    let server = Server::play_tls(authority.server(&["127.0.0.1"], FINE), vec![Step::Read]).await;
    let url = format!("https://{}/", server.address);
    let error = authority.trusted().http().send(&free(), request("HEAD", url)).await.unwrap_err();
    assert_eq!((error.kind, error.phase), (ErrorKind::Closed, Phase::FirstByte), "{error}");
    assert!(error.certificate.is_some());
}

/// A server that insists on HTTP/2 is told that we don't speak it.
#[tokio::test]
async fn a_server_with_http2_alone() {
    let authority = Authority::new("test authority");
    let mut config = authority.server(&["good.example"], FINE);
    config.alpn_protocols = vec![b"h2".to_vec()];
    let error = ask(&authority, config, "good.example").await.unwrap_err();
    assert_eq!((error.kind, error.phase), (ErrorKind::Tls, Phase::Tls));
    assert!(error.message.contains("does not offer HTTP/1.1"), "{error}");
}

/// Where nothing is trusted nothing can be said of a server.
#[tokio::test]
async fn no_roots_at_all() {
    let server = Server::play(vec![Step::Hang]).await;
    let url = format!("https://{}/", server.address);
    let error = crate::send(request("HEAD", url)).await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::Host);
    assert!(error.message.contains("ca-certificates"), "{error}");
}

/// A file of certificates that is none is refused when the host starts.
#[tokio::test]
async fn bad_root_files() {
    for (text, says) in [("nothing here\n", "no certificate in it"), ("", "no certificate in it")] {
        let file = TempFile::new(text);
        let options = Options {
            resolver: Resolver::fixed([]),
            system_roots: false,
            root_files: vec![file.0.clone()],
        };
        let error = Capabilities::new(options).unwrap_err();
        assert!(matches!(&error, SetupError::RootFile { path, .. } if *path == file.0));
        assert!(error.to_string().contains(says), "{error}");
    }
}
