//! Mail by TLS.

use probehost_test_support::certs::Ca;
use probehost_test_support::smtp::SmtpServer;
use probehost_test_support::wait::eventually;
use serde_json::json;

use super::sink;
use crate::host::{Config, Host, LIMIT, run};

/// E5: a mail server that an authority of `[tls] ca_files` vouches for is trusted by a host and by
/// `notify test`, and one that nobody vouches for gets no mail; what is said then tells what to do.
#[tokio::test]
async fn a_mail_server_is_trusted_by_the_operators_authority() {
    let ca = Ca::new().unwrap();
    let server = SmtpServer::start_tls(ca.good().unwrap().server_config().unwrap());
    let lines = "from = \"probehost@example.com\"\nto = [\"oncall@example.com\"]";
    let config = || sink(Config::new(), "mail", "email", &server.url(), lines);

    let (_folder, path) = config().file();
    let ran = run(&["notify", "test", "mail", "--config", path.to_str().unwrap()]);
    assert_eq!(ran.code, 1, "{ran:?}");
    assert!(ran.stdout.contains("invalid peer certificate: UnknownIssuer"), "{ran:?}");
    assert!(ran.stdout.contains("[tls] ca_files"), "{ran:?}");
    assert_eq!(server.mails(), []);

    let folder = tempfile::tempdir().unwrap();
    let pem = folder.path().join("ca.pem");
    std::fs::write(&pem, ca.pem()).unwrap();
    let trusting = || config().section(&format!("[tls]\nca_files = [{pem:?}]"));
    let (_folder, path) = trusting().file();
    let ran = run(&["notify", "test", "mail", "--config", path.to_str().unwrap()]);
    assert_eq!(ran.code, 0, "{ran:?}");
    let taken = || async { server.mails().len() };
    eventually("it was mailed", LIMIT, taken, |count| *count == 1).await;

    let mut host = Host::start(trusting().launch());
    let answer = host.api.post("/api/v1/sinks/mail/test", &json!({})).await.unwrap();
    assert_eq!(answer.status, 200, "{answer:?}");
    eventually("it was mailed again", LIMIT, taken, |count| *count == 2).await;
    host.stop();
}
