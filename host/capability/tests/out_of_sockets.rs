//! A host that has no sockets left knows nothing of its targets.

// Helpers of tests may fail as tests do.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

use std::fs::File;
use std::process::Command;
use std::time::Duration;

use probehost_capability::http::{ErrorKind, Request};
use probehost_capability::resolve::Resolver;
use probehost_capability::{Capabilities, Options, Run, sockets};
use probehost_model::grant::Grants;

const INSIDE: &str = "PROBEHOST_TEST_FEW_FILES";

/// P5: out of file descriptors is the host's own fault, and is said to be.
/// The test runs itself again in a process that may open few files.
#[test]
fn out_of_sockets_is_the_hosts_own_fault() {
    if std::env::var_os(INSIDE).is_some() {
        return inside();
    }
    let status = Command::new("sh")
        .args(["-c", "ulimit -n 40 && exec \"$0\" --exact out_of_sockets_is_the_hosts_own_fault"])
        .arg(std::env::current_exe().unwrap())
        .env(INSIDE, "1")
        .status()
        .unwrap();
    assert!(status.success(), "{status}");
}

fn inside() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let options =
            Options { resolver: Resolver::fixed([]), system_roots: false, root_files: Vec::new() };
        let capabilities = Capabilities::new(options).unwrap();
        let mut files = Vec::new();
        while let Ok(file) = File::open("/dev/null") {
            files.push(file);
        }
        let allowed = vec!["http://*:*".parse().unwrap()];
        let deadline = tokio::time::Instant::now() + Duration::from_secs(30);
        let run = Run::new("tester", Grants::new([], allowed), deadline);
        let request = Request {
            method: "HEAD".to_owned(),
            url: format!("http://{address}/"),
            headers: Vec::new(),
            body: None,
            redirects: 0,
            body_limit: 0,
        };
        let error = capabilities.http().send(&run, request).await.unwrap_err();
        let bare = capabilities.sockets().session(&run).connect(address).await.unwrap_err();
        drop(files);
        assert_eq!(bare.kind, sockets::ErrorKind::Host, "{bare}");
        assert_eq!(bare.message, error.message);
        assert_eq!(error.kind, ErrorKind::Host, "{error}");
        let says = format!("this host could not connect to {address} (Too many open files)");
        assert_eq!(error.message, says);
    });
}
