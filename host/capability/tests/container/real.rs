//! Against a real dockerd, which one test starts, uses and breaks.

use std::os::unix::process::CommandExt as _;
use std::process::Command;
use std::time::Duration;

use probehost_capability::container::{ErrorKind, Health, Report, State};
use probehost_test_support::docker::{self, Docker};
use probehost_test_support::wait::eventually;
use serde_json::json;

use crate::{AMPLE, inspect};

/// Names the engine for the part of the test that runs as another user.
const SOCKET: &str = "PROBEHOST_TEST_ENGINE";

/// Nobody's user and group on most machines.
const NOBODY: u32 = 65_534;

/// How long the engine may take to see what a container does.
const LIMIT: Duration = Duration::from_secs(60);

/// C1 to C4, against a real engine: first what containers do, then what the engine does.
#[tokio::test(flavor = "multi_thread")]
async fn a_real_engine() {
    if docker::skip() {
        return;
    }
    let mut docker = Docker::start().unwrap();
    let engine = format!("unix://{}", docker.socket().display());
    states(&docker, &engine).await;
    forbidden(&docker, &engine);
    faults(&mut docker, &engine).await;
}

/// C1, C2, C4: every state that can be brought about.
async fn states(docker: &Docker, engine: &str) {
    let sleep = ["sleep", "1000"];
    docker.container("running", &sleep, json!({})).unwrap();
    let running = inspect(engine, "running", AMPLE).await.unwrap();
    assert_eq!((running.state, running.health), (State::Running, Health::None));
    assert!(running.started_at.is_some() && running.finished_at.is_none(), "{running:?}");
    let id = docker.inspect("running").unwrap()["Id"].as_str().unwrap()[..12].to_owned();
    assert_eq!(inspect(engine, &id, AMPLE).await.unwrap().state, State::Running);

    docker.post("/containers/running/pause", None).unwrap();
    assert_eq!(inspect(engine, "running", AMPLE).await.unwrap().state, State::Paused);
    docker.post("/containers/running/unpause", None).unwrap();

    docker.create("created", &sleep, json!({})).unwrap();
    let created = inspect(engine, "created", AMPLE).await.unwrap();
    assert_eq!((created.state, created.started_at), (State::Created, None));

    docker.container("exited", &["sh", "-c", "exit 3"], json!({})).unwrap();
    let exited = settled(engine, "exited", State::Exited).await;
    assert_eq!((exited.exit_code, exited.oom_killed), (3, false));
    assert!(exited.started_at.is_some() && exited.finished_at.is_some(), "{exited:?}");

    docker.container("killed", &sleep, json!({})).unwrap();
    docker.post("/containers/killed/kill", None).unwrap();
    let killed = settled(engine, "killed", State::Exited).await;
    assert_eq!((killed.exit_code, killed.oom_killed), (137, false));

    let small = json!({"HostConfig": {"Memory": 16 << 20, "MemorySwap": 16 << 20}});
    docker.container("hungry", &["tail", "/dev/zero"], small).unwrap();
    let hungry = settled(engine, "hungry", State::Exited).await;
    assert_eq!((hungry.exit_code, hungry.oom_killed), (137, true));

    let unwell = json!({"Healthcheck": {
        "Test": ["CMD", "false"], "Interval": 100_000_000, "Timeout": 5_000_000_000_u64, "Retries": 2,
    }});
    docker.container("unwell", &sleep, unwell).unwrap();
    let look = || async { inspect(engine, "unwell", AMPLE).await.unwrap() };
    let is_unwell = |report: &Report| report.health == Health::Unhealthy;
    let unwell = eventually("its health check fails", LIMIT, look, is_unwell).await;
    assert_eq!(unwell.state, State::Running);
    assert!(unwell.health_failures >= 2, "{unwell:?}");

    let again =
        json!({"HostConfig": {"RestartPolicy": {"Name": "on-failure", "MaximumRetryCount": 2}}});
    docker.container("crashing", &["false"], again).unwrap();
    let look = || async { inspect(engine, "crashing", AMPLE).await.unwrap() };
    let given_up = |report: &Report| report.restarts == 2 && report.state == State::Exited;
    assert_eq!(eventually("two restarts", LIMIT, look, given_up).await.exit_code, 1);

    // What can't be executed does not start, and the engine says why.
    docker.container("broken", &["/no/such/file"], json!({})).unwrap_err();
    let broken = inspect(engine, "broken", AMPLE).await.unwrap();
    assert_eq!((broken.state, broken.exit_code), (State::Created, 127));
    assert!(broken.error.unwrap().contains("/no/such/file"));

    let missing = inspect(engine, "missing", AMPLE).await.unwrap_err();
    assert_eq!(missing.kind, ErrorKind::NotFound, "{missing}");
    assert!(missing.message.contains("there is no container missing"), "{missing}");
}

async fn settled(engine: &str, name: &str, state: State) -> Report {
    let look = || async { inspect(engine, name, AMPLE).await.unwrap() };
    eventually("the container is in its state", LIMIT, look, |report| report.state == state).await
}

/// C3: hung, gone, back again. The container lives through all of it.
async fn faults(docker: &mut Docker, engine: &str) {
    docker.freeze().unwrap();
    let hung = inspect(engine, "running", Duration::from_millis(300)).await.unwrap_err();
    assert_eq!(hung.kind, ErrorKind::Timeout, "{hung}");
    docker.thaw().unwrap();
    assert_eq!(inspect(engine, "running", AMPLE).await.unwrap().state, State::Running);

    docker.kill().unwrap();
    assert!(docker.socket().exists(), "the socket is stale");
    let gone = inspect(engine, "running", AMPLE).await.unwrap_err();
    assert_eq!(gone.kind, ErrorKind::Unreachable, "{gone}");
    docker.run().unwrap();
}

/// C3: an engine that this user may not talk to. The test itself runs as root, which may do anything.
fn forbidden(docker: &Docker, engine: &str) {
    let binary = docker::copy_of_this_binary(docker.folder()).unwrap();
    let output = Command::new(binary)
        .args(["--exact", "real::as_another_user", "--ignored", "--nocapture"])
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
    let error = inspect(&engine, "running", AMPLE).await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::Forbidden, "{error}");
    assert!(error.message.contains("permission denied"), "{error}");
}
