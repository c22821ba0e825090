//! The probe kind `container-inspect` through the real binary, against a real dockerd.

use probehost_test_support::docker::{self, Docker};
use probehost_test_support::wait::eventually;
use serde_json::json;

use crate::host::{LIMIT, Ran, run};

fn probe(docker: &Docker, name: &str, more: &[&str]) -> Ran {
    let engine = format!("--engine=unix://{}", docker.socket().display());
    let container = format!("container={name}");
    run(&[&["probe", "container-inspect", &container, &engine], more].concat())
}

fn expect(ran: &Ran, code: i32, words: &str) {
    assert_eq!(ran.code, code, "{}{}", ran.stdout, ran.stderr);
    assert!(ran.stdout.contains(words), "{}", ran.stdout);
}

/// C2, C3, C4, T5: passed, stopped, killed for want of memory, not there; and an engine that hangs
/// or is gone is inconclusive.
#[tokio::test(flavor = "multi_thread")]
async fn each_outcome_has_its_reason() {
    if docker::skip() {
        return;
    }
    let mut docker = Docker::start().unwrap();
    docker.container("running", &["sleep", "1000"], json!({})).unwrap();
    docker.container("exited", &["sh", "-c", "exit 3"], json!({})).unwrap();
    let small = json!({"HostConfig": {"Memory": 16 << 20, "MemorySwap": 16 << 20}});
    docker.container("hungry", &["tail", "/dev/zero"], small).unwrap();
    for name in ["exited", "hungry"] {
        let look = || async { docker.inspect(name).unwrap()["State"]["Status"].clone() };
        eventually("the container has ended", LIMIT, look, |status| status == "exited").await;
    }
    expect(&probe(&docker, "running", &[]), 0, "PASS\n");
    expect(
        &probe(&docker, "exited", &[]),
        2,
        "FAIL stopped: the container exited does not run: it ended with exit code 3",
    );
    expect(&probe(&docker, "hungry", &[]), 2, "FAIL oom: the container hungry does not run");
    expect(&probe(&docker, "missing", &[]), 2, "FAIL stopped: there is no container missing");
    docker.freeze().unwrap();
    let hung = probe(&docker, "running", &["--timeout=0.5"]);
    expect(&hung, 3, "does not answer: timeout after");
    docker.thaw().unwrap();
    expect(&probe(&docker, "running", &[]), 0, "PASS\n");
    docker.kill().unwrap();
    expect(&probe(&docker, "running", &[]), 3, "connection refused");
}
