//! Restarts by a command.

use std::fs;
use std::path::Path;
use std::time::Duration;

use probehost_capability::container::Engine;
use probehost_capability::process::{Command, Commands, ErrorKind, Value};
use probehost_capability::runtime::{End, RestartError, Runtimes};
use probehost_capability::secrets::Secrets;
use probehost_model::{MAX_MESSAGE_BYTES, Runtime};
use probehost_test_support::wait::eventually;
use tempfile::TempDir;

use crate::AMPLE;

fn shell(script: &str) -> Command {
    let argv = ["sh", "-c", script].map(str::to_owned).to_vec();
    let env = vec![("API_KEY".to_owned(), Value::Secret("key".to_owned()))];
    Command { argv, env, cwd: None }
}

fn runtimes(command: Command) -> Runtimes {
    let secrets =
        Secrets::new([], |name| (name == "PROBEHOST_SECRET_KEY").then(|| "hunter2".to_owned()));
    Runtimes::new(Engine::default(), Commands::from([("tool".to_owned(), command)]), secrets)
}

async fn restart(command: Command, limit: Duration) -> Result<(), RestartError> {
    runtimes(command).restart(&Runtime::Command("tool".to_owned()), limit).await
}

async fn failure(script: &str) -> RestartError {
    restart(shell(script), AMPLE).await.unwrap_err()
}

/// Whether a process is there and no zombie.
fn lives(id: &str) -> bool {
    let status = fs::read_to_string(format!("/proc/{id}/stat")).unwrap_or_default();
    status.rsplit(')').next().is_some_and(|rest| {
        let state = rest.trim_start().chars().next();
        state.is_some_and(|state| state != 'Z' && state != 'X')
    })
}

fn kill(id: &str) {
    assert!(std::process::Command::new("kill").arg(id).status().unwrap().success());
}

/// The process ids that a script has written to `file`, as soon as there are so many.
async fn ids(file: &Path, count: usize) -> Vec<String> {
    let look = || async {
        let text = fs::read_to_string(file).unwrap_or_default();
        text.lines().map(str::to_owned).collect::<Vec<_>>()
    };
    eventually("the ids are there", AMPLE, look, |ids| ids.len() == count).await
}

async fn are_gone(ids: &[String]) {
    let look = || async { ids.iter().any(|id| lives(id)) };
    eventually("the processes are gone", AMPLE, look, |lives| !lives).await;
}

/// A script that writes its id and that of a child to `ids` in the folder, and ends never.
fn endless(folder: &TempDir) -> Command {
    let script = "echo last words >&2; sleep 1000 & printf '%s\\n' $$ $! >ids; wait; sleep 1000";
    Command { cwd: Some(folder.path().to_owned()), ..shell(script) }
}

/// L9: exit code 0 is a restart; it has its environment, no input, and whatever it writes is no
/// matter.
#[tokio::test]
async fn a_restart() {
    let script = "test \"$API_KEY\" = hunter2 && test -z \"$CARGO_PKG_NAME\" && ! read line && \
                  head -c 1000000 /dev/zero && head -c 1000000 /dev/zero >&2";
    restart(shell(script), AMPLE).await.unwrap();
}

/// L9: what it leaves running is the target, and lives on.
#[tokio::test]
async fn what_it_has_started_lives_on() {
    let folder = TempDir::new().unwrap();
    let script = "sleep 1000 >/dev/null 2>&1 & echo $! >ids";
    let command = Command { cwd: Some(folder.path().to_owned()), ..shell(script) };
    restart(command, AMPLE).await.unwrap();
    let started = ids(&folder.path().join("ids"), 1).await;
    assert!(lives(&started[0]), "{started:?}");
    kill(&started[0]);

    // Whoever has the output of a failed one still open is not waited for.
    let RestartError::Failed { said, .. } = failure("sleep 1000 & echo $!; exit 1").await else {
        panic!("it failed");
    };
    assert!(lives(&said.0), "{said}");
    kill(&said.0);
}

/// L9: how it failed, with the last line that it wrote.
#[tokio::test]
async fn failures_are_told() {
    for (script, wanted) in [
        ("exit 3", "the command tool ended with exit code 3"),
        ("kill -9 $$", "the command tool ended by signal 9"),
        (
            "echo starting; echo first >&2; echo no such unit >&2; echo; exit 5",
            "the command tool ended with exit code 5: no such unit",
        ),
        (
            "echo one; printf 'locked\\033[0m'; exit 1",
            "the command tool ended with exit code 1: locked\\u{1b}[0m",
        ),
    ] {
        assert_eq!(failure(script).await.to_string(), wanted, "{script}");
    }
    let killed = failure("kill -9 $$").await;
    assert!(matches!(killed, RestartError::Failed { end: End::Signal(9), .. }), "{killed:?}");
    let long = failure("head -c 100000 /dev/zero | tr '\\0' x >&2; exit 1").await.to_string();
    assert!(long.ends_with('…') && long.len() < MAX_MESSAGE_BYTES + 100, "{long}");
}

/// L9, P8: a command that shows its secret does not show it here.
#[tokio::test]
async fn secrets_are_masked() {
    let error = failure("echo \"login with $API_KEY refused\" >&2; exit 1").await;
    assert_eq!(
        error.to_string(),
        "the command tool ended with exit code 1: login with *** refused"
    );
    assert!(!format!("{error:?}").contains("hunter2"));
}

/// L9: what can't be started is told with its remedy.
#[tokio::test]
async fn what_cannot_be_started() {
    let missing = Command { argv: vec!["/no/such/program".to_owned()], ..shell("") };
    let error = restart(missing, AMPLE).await.unwrap_err();
    assert!(matches!(error, RestartError::Start { kind: ErrorKind::Start, .. }), "{error:?}");
    assert!(error.to_string().contains("/no/such/program: No such file"), "{error}");

    let env = vec![("KEY".to_owned(), Value::Secret("gone".to_owned()))];
    let error = restart(Command { env, ..shell("true") }, AMPLE).await.unwrap_err();
    assert!(error.to_string().contains("PROBEHOST_SECRET_GONE"), "{error}");

    let other = Runtime::Command("other".to_owned());
    let error = runtimes(shell("true")).restart(&other, AMPLE).await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "there is no command other under [commands] of the host's config (there is tool)"
    );
}

/// L9: a command that hangs is killed at the limit, with its children.
#[tokio::test]
async fn a_hanging_one_is_killed_at_the_limit() {
    let folder = TempDir::new().unwrap();
    let limit = Duration::from_millis(700);
    let error = restart(endless(&folder), limit).await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "the command tool did not end within 700 ms and was killed: last words"
    );
    are_gone(&ids(&folder.path().join("ids"), 2).await).await;
}

/// L9, S8: a restart that is given up leaves nothing.
#[tokio::test]
async fn one_that_is_dropped_leaves_nothing() {
    let folder = TempDir::new().unwrap();
    let started = folder.path().join("ids");
    let ids = tokio::select! {
        ended = restart(endless(&folder), AMPLE) => panic!("{ended:?}"),
        ids = ids(&started, 2) => ids,
    };
    are_gone(&ids).await;
}
