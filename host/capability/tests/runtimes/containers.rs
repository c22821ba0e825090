//! Restarts by a real dockerd, which one test starts, uses and breaks.

use std::os::unix::process::CommandExt as _;
use std::process::Command;
use std::time::Duration;

use probehost_capability::container::ErrorKind;
use probehost_capability::runtime::RestartError;
use probehost_test_support::docker::{self, Docker};
use probehost_test_support::wait::eventually;
use serde_json::{Value, json};

use crate::{AMPLE, restart};

/// Names the engine for the part of the test that runs as another user.
const SOCKET: &str = "PROBEHOST_TEST_ENGINE";

/// Nobody's user and group on most machines.
const NOBODY: u32 = 65_534;

/// L9, against a real engine: first what containers do, then what the engine does.
#[tokio::test(flavor = "multi_thread")]
async fn a_real_engine() {
    if docker::skip() {
        return;
    }
    let mut docker = Docker::start().unwrap();
    let engine = format!("unix://{}", docker.socket().display());
    states(&docker, &engine).await;
    stops(&docker, &engine).await;
    refused(&docker, &engine).await;
    forbidden(&docker, &engine);
    faults(&mut docker, &engine).await;
}

fn state(docker: &Docker, name: &str) -> Value {
    docker.inspect(name).unwrap()["State"].clone()
}

/// Waits until a container does something.
async fn reaches(docker: &Docker, name: &str, status: &str) {
    let look = || async { state(docker, name)["Status"].as_str().unwrap().to_owned() };
    eventually("the container is in its state", AMPLE, look, |found| found == status).await;
}

/// A container runs after its restart, and is another process than before.
async fn runs_again(docker: &Docker, engine: &str, name: &str) {
    let before = state(docker, name);
    restart(engine, name, AMPLE).await.unwrap();
    let after = state(docker, name);
    assert_eq!(after["Status"], "running", "{name}: {after}");
    assert_ne!(after["StartedAt"], before["StartedAt"], "{name}");
    assert_ne!(after["Pid"], before["Pid"], "{name}");
}

/// Whatever state it is in, it runs afterwards.
async fn states(docker: &Docker, engine: &str) {
    // Nothing stops a sleep that is the first process, so nothing else is tried.
    let (sleep, at_once) = (["sleep", "1000"], json!({"StopSignal": "SIGKILL"}));
    docker.container("running", &sleep, at_once.clone()).unwrap();
    runs_again(docker, engine, "running").await;
    let id = docker.inspect("running").unwrap()["Id"].as_str().unwrap()[..12].to_owned();
    runs_again(docker, engine, &id).await;

    docker.container("paused", &sleep, at_once).unwrap();
    docker.post("/containers/paused/pause", None).unwrap();
    reaches(docker, "paused", "paused").await;
    runs_again(docker, engine, "paused").await;
    assert_eq!(state(docker, "paused")["Paused"], false);

    docker.create("created", &sleep, json!({})).unwrap();
    runs_again(docker, engine, "created").await;

    docker.container("killed", &sleep, json!({})).unwrap();
    docker.post("/containers/killed/kill", None).unwrap();
    reaches(docker, "killed", "exited").await;
    runs_again(docker, engine, "killed").await;

    // The first time it eats all of its memory; a file keeps it from the second.
    let small = json!({"HostConfig": {"Memory": 16 << 20, "MemorySwap": 16 << 20}});
    let script = "test -e /tmp/fed && exec sleep 1000; echo >/tmp/fed; exec tail /dev/zero";
    docker.container("hungry", &["sh", "-c", script], small).unwrap();
    reaches(docker, "hungry", "exited").await;
    assert_eq!(state(docker, "hungry")["OOMKilled"], true);
    runs_again(docker, engine, "hungry").await;
}

/// One that heeds no signal is killed, in the time that there is.
async fn stops(docker: &Docker, engine: &str) {
    let deaf = ["sh", "-c", "trap '' TERM; while :; do sleep 1; done"];
    docker.container("deaf", &deaf, json!({})).unwrap();
    let before = state(docker, "deaf");
    let limit = Duration::from_secs(5);
    restart(engine, "deaf", limit).await.unwrap();
    assert_ne!(state(docker, "deaf")["StartedAt"], before["StartedAt"]);

    // Given up, the call is over at once; the engine goes on by itself.
    let given_up = restart(engine, "deaf", Duration::from_secs(30));
    assert!(tokio::time::timeout(Duration::from_millis(100), given_up).await.is_err());
}

fn kind(error: &RestartError) -> ErrorKind {
    match error {
        RestartError::Container { kind, .. } => *kind,
        other => panic!("{other:?}"),
    }
}

/// What the engine does not do.
async fn refused(docker: &Docker, engine: &str) {
    let missing = restart(engine, "missing", AMPLE).await.unwrap_err();
    assert_eq!(kind(&missing), ErrorKind::NotFound, "{missing}");
    assert!(missing.to_string().contains("there is no container missing on unix://"), "{missing}");

    docker.create("broken", &["/no/such/file"], json!({})).unwrap();
    let broken = restart(engine, "broken", AMPLE).await.unwrap_err();
    assert!(broken.to_string().contains("the restart of broken"), "{broken}");
    assert!(broken.to_string().contains("/no/such/file"), "{broken}");
}

/// Hung, gone, back again: the container can be restarted then.
async fn faults(docker: &mut Docker, engine: &str) {
    docker.freeze().unwrap();
    let hung = restart(engine, "running", Duration::from_millis(300)).await.unwrap_err();
    assert_eq!(kind(&hung), ErrorKind::Timeout, "{hung}");
    let words = "does not answer: timeout after 300 ms waiting for the restart of running";
    assert!(hung.to_string().ends_with(words), "{hung}");
    docker.thaw().unwrap();

    docker.kill().unwrap();
    let gone = restart(engine, "running", AMPLE).await.unwrap_err();
    assert_eq!(kind(&gone), ErrorKind::Unreachable, "{gone}");
    docker.run().unwrap();
    runs_again(docker, engine, "running").await;
}

/// An engine that this user may not talk to. The test itself runs as root, which may do anything.
fn forbidden(docker: &Docker, engine: &str) {
    let binary = docker::copy_of_this_binary(docker.folder()).unwrap();
    let output = Command::new(binary)
        .args(["--exact", "containers::as_another_user", "--ignored", "--nocapture"])
        .env(SOCKET, engine)
        .uid(NOBODY)
        .gid(NOBODY)
        .current_dir("/")
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && said.contains("1 passed"), "{said}");
}

#[tokio::test]
#[ignore = "run as another user by the test of a real engine"]
async fn as_another_user() {
    let engine = std::env::var(SOCKET).unwrap();
    let error = restart(&engine, "running", AMPLE).await.unwrap_err();
    assert_eq!(kind(&error), ErrorKind::Forbidden, "{error}");
    assert!(error.to_string().contains("permission denied"), "{error}");
}
