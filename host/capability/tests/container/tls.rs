//! A real engine that speaks TLS, and clients that it does not let in.

use std::fs;
use std::path::Path;
use std::time::Duration;

use probehost_capability::container::{Engine, EngineError, Error, ErrorKind, State};
use probehost_test_support::certs::{Ca, Identity};
use probehost_test_support::docker::{self, Docker};
use serde_json::json;
use tokio::io::AsyncReadExt as _;
use tokio::net::TcpListener;

use crate::{AMPLE, capabilities, run};

/// A folder with what a client needs.
fn folder(trusted: String, client: &Identity) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let files =
        [("ca.pem", trusted), ("cert.pem", client.cert_pem()), ("key.pem", client.key_pem())];
    for (name, text) in files {
        fs::write(folder.path().join(name), text).unwrap();
    }
    folder
}

fn engine(address: &str, folder: &Path) -> Result<Engine, EngineError> {
    address.parse::<Engine>().unwrap().with_tls(folder)
}

async fn failure(address: &str, folder: &Path, budget: Duration) -> Error {
    let engine = engine(address, folder).unwrap();
    capabilities(engine).containers().inspect(&run("web", budget), "web").await.unwrap_err()
}

/// C1, C3: the engine and this host show each other what one authority has signed, or nothing is
/// asked.
#[tokio::test(flavor = "multi_thread")]
async fn a_real_engine_with_tls() {
    if docker::skip() {
        return;
    }
    let (ca, other) = (Ca::new().unwrap(), Ca::new().unwrap());
    let docker = Docker::start_with_tls(&ca).unwrap();
    docker.container("web", &["sleep", "1000"], json!({"StopSignal": "SIGKILL"})).unwrap();
    let port = docker.tls_port().unwrap();
    let address = format!("tcp://127.0.0.1:{port}");
    let good = folder(ca.pem(), &ca.client().unwrap());
    for address in [address.clone(), format!("tcp://localhost:{port}")] {
        let engine = engine(&address, good.path()).unwrap();
        let found = capabilities(engine).containers().inspect(&run("web", AMPLE), "web").await;
        assert_eq!(found.unwrap().state, State::Running);
    }

    // This host's certificate is another authority's.
    let stranger = folder(ca.pem(), &other.client().unwrap());
    let error = failure(&address, stranger.path(), AMPLE).await;
    assert_eq!(error.kind, ErrorKind::Forbidden, "{error}");
    assert!(error.message.contains("does not trust the client certificate"), "{error}");

    // The engine's is signed by nobody who is in `ca.pem`.
    let wary = folder(Identity::self_signed().unwrap().cert_pem(), &ca.client().unwrap());
    let error = failure(&address, wary.path(), AMPLE).await;
    assert_eq!(error.kind, ErrorKind::Unreachable, "{error}");
    assert!(error.message.contains("signed by an issuer that this host does not trust"), "{error}");
}

/// C3: an engine that never answers the handshake is cut at the deadline, and its connection is
/// closed; one that does not speak TLS is told apart.
#[tokio::test]
async fn engines_that_do_not_shake_hands() {
    let ca = Ca::new().unwrap();
    let files = folder(ca.pem(), &ca.client().unwrap());
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("tcp://{}", listener.local_addr().unwrap());
    let accepted = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut all = Vec::new();
        stream.read_to_end(&mut all).await.unwrap();
        listener
    });
    let error = failure(&address, files.path(), Duration::from_millis(200)).await;
    assert_eq!(error.kind, ErrorKind::Timeout, "{error}");
    let listener = tokio::time::timeout(AMPLE, accepted).await.unwrap().unwrap();

    let plain = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        tokio::io::AsyncWriteExt::write_all(&mut stream, b"HTTP/1.0 400 Bad\r\n\r\n").await
    });
    let error = failure(&address, files.path(), AMPLE).await;
    assert_eq!(error.kind, ErrorKind::Unreachable, "{error}");
    assert!(error.message.contains("does not speak TLS"), "{error}");
    plain.await.unwrap().unwrap();
}

/// C3: what is wrong with the files is told at once, with the file.
#[test]
fn files_that_will_not_do() {
    let ca = Ca::new().unwrap();
    let client = ca.client().unwrap();
    let address = "tcp://127.0.0.1:2376";
    for (name, words) in [
        ("ca.pem", "there is no certificate in it"),
        ("cert.pem", "cert.pem"),
        ("key.pem", "no items found"),
    ] {
        let files = folder(ca.pem(), &client);
        fs::write(files.path().join(name), "").unwrap();
        let error = engine(address, files.path()).unwrap_err().to_string();
        assert!(error.contains(name) && error.contains(words), "{error}");
        fs::remove_file(files.path().join(name)).unwrap();
        let error = engine(address, files.path()).unwrap_err().to_string();
        assert!(error.contains(name) && error.contains("No such file"), "{error}");
    }
    let files = folder(ca.pem(), &client);
    let error = engine("unix:///var/run/docker.sock", files.path()).unwrap_err().to_string();
    assert!(error.contains("leave `tls` out"), "{error}");
}
