//! The process capability with real programs: what they get, what comes of them, and that nothing
//! of them is left.

// Helpers of tests may fail as tests do.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

use std::path::PathBuf;
use std::time::Duration;

use probehost_capability::process::{Child, Command, Commands, Error, ErrorKind, Exit, Value};
use probehost_capability::resolve::Resolver;
use probehost_capability::secrets::Secrets;
use probehost_capability::{CallResult, Capabilities, Options, Run};
use probehost_model::Endpoint;
use probehost_model::grant::Grants;
use probehost_test_support::wait::eventually;
use tokio::time::Instant;

/// Long enough that it is never met.
const AMPLE: Duration = Duration::from_secs(30);

const LIMIT: u32 = 64 << 10;

fn shell(script: &str) -> Command {
    let argv = ["sh", "-c", script].map(str::to_owned).to_vec();
    Command { argv, env: Vec::new(), cwd: None }
}

fn run(budget: Duration) -> Run {
    let grants = Grants::new([Endpoint::Process("tool".to_owned())], Vec::new());
    Run::new("tester", grants, Instant::now() + budget)
}

fn capabilities(command: Command) -> Capabilities {
    let options =
        Options { resolver: Resolver::fixed([]), system_roots: false, root_files: Vec::new() };
    let secrets =
        Secrets::new([], |name| (name == "PROBEHOST_SECRET_KEY").then(|| "hunter2".to_owned()));
    let commands = Commands::from([("tool".to_owned(), command)]);
    Capabilities::new(options).unwrap().with_commands(commands, secrets)
}

/// Starts a program by its name.
fn start_in(run: &Run, command: Command) -> Result<Child, Error> {
    capabilities(command).processes().start(run, "tool")
}

fn start(script: &str) -> Child {
    start_in(&run(AMPLE), shell(script)).unwrap()
}

async fn line(child: &mut Child) -> Option<String> {
    child.read_line(LIMIT).await.unwrap().map(|line| String::from_utf8(line).unwrap())
}

/// Whether a process is there and no zombie.
fn lives(id: &str) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{id}/stat")).unwrap_or_default();
    status.rsplit(')').next().is_some_and(|rest| {
        let state = rest.trim_start().chars().next();
        state.is_some_and(|state| state != 'Z' && state != 'X')
    })
}

async fn is_gone(id: &str) {
    eventually("the process is gone", AMPLE, || async { lives(id) }, |lives| !lives).await;
}

/// M2: what is written is read, and the other way round; the end is told.
#[tokio::test]
async fn a_conversation() {
    let mut child = start("read a; echo \"got $a\"; read b || echo end; printf rest; exit 7");
    child.write(b"one\n").await.unwrap();
    assert_eq!(line(&mut child).await.as_deref(), Some("got one"));
    child.close_input();
    assert_eq!(line(&mut child).await.as_deref(), Some("end"));
    assert_eq!(child.read(2).await.unwrap().as_deref(), Some(&b"re"[..]));
    assert_eq!(line(&mut child).await.as_deref(), Some("st"));
    assert_eq!(line(&mut child).await, None);
    assert_eq!(child.wait().await.unwrap(), Exit { code: Some(7), signal: None });
    assert_eq!(child.wait().await.unwrap(), Exit { code: Some(7), signal: None });
}

/// M2: the arguments are what stands in the config; no shell looks at them.
#[tokio::test]
async fn there_is_no_shell() {
    let argv = ["echo", "$HOME;", "*", "`id`"].map(str::to_owned).to_vec();
    let mut child = start_in(&run(AMPLE), Command { argv, env: Vec::new(), cwd: None }).unwrap();
    assert_eq!(line(&mut child).await.as_deref(), Some("$HOME; * `id`"));
}

/// M6: a program gets its own variables, with secrets looked up, and few of the host's.
#[tokio::test]
async fn environment_and_folder() {
    let env = vec![
        ("PLAIN".to_owned(), Value::Text("text".to_owned())),
        ("API_KEY".to_owned(), Value::Secret("key".to_owned())),
    ];
    let command = Command { env, cwd: Some(PathBuf::from("/")), ..shell("env; pwd; echo done") };
    let run = run(AMPLE);
    let mut child = start_in(&run, command).unwrap();
    let mut lines = Vec::new();
    while let Some(line) = line(&mut child).await {
        lines.push(line);
    }
    for wanted in ["PLAIN=text", "API_KEY=hunter2", "/"] {
        assert!(lines.iter().any(|line| line == wanted), "{wanted}: {lines:?}");
    }
    assert!(!lines.iter().any(|line| line.starts_with("CARGO")), "{lines:?}");
    assert!(!format!("{:?}", run.take_trace()).contains("hunter2"));
}

/// P2, G2: what can't be started is told with its remedy, and nothing runs.
#[tokio::test]
async fn what_cannot_be_started() {
    let run = run(AMPLE);
    let missing = Command { argv: vec!["/no/such/program".to_owned()], ..shell("") };
    let error = start_in(&run, missing).unwrap_err();
    assert_eq!(error.kind, ErrorKind::Start, "{error}");
    assert!(error.message.contains("/no/such/program"), "{error}");
    let folder = Command { cwd: Some(PathBuf::from("/no/such/folder")), ..shell("true") };
    let error = start_in(&run, folder).unwrap_err();
    assert!(error.kind == ErrorKind::Start && error.message.contains("/no/such/folder"), "{error}");
    let env = vec![("KEY".to_owned(), Value::Secret("gone".to_owned()))];
    let error = start_in(&run, Command { env, ..shell("true") }).unwrap_err();
    assert_eq!(error.kind, ErrorKind::Unknown);
    assert!(error.message.contains("PROBEHOST_SECRET_GONE"), "{error}");

    let all = Grants::new([], vec!["process:*".parse().unwrap()]);
    let free = Run::new("tester", all, Instant::now() + AMPLE);
    let error = capabilities(shell("true")).processes().start(&free, "other").unwrap_err();
    assert_eq!(error.kind, ErrorKind::Unknown);
    assert_eq!(
        error.message,
        "there is no command other under [commands] of the host's config (there is tool)"
    );
    let none = Run::new("tester", Grants::default(), Instant::now() + AMPLE);
    let error = capabilities(shell("true")).processes().start(&none, "tool").unwrap_err();
    assert_eq!(error.kind, ErrorKind::Denied);
    assert!(error.message.contains(r#"allow = ["process:tool"]"#), "{error}");
    assert!(matches!(none.take_trace().calls[0].result, CallResult::Denied { .. }));
}

/// P3: a program that says nothing, one that does not read, one that does not end are cut at the
/// deadline.
#[tokio::test]
async fn the_deadline_cuts() {
    let short = Duration::from_millis(200);
    let mut silent = start_in(&run(short), shell("sleep 1000")).unwrap();
    let error = silent.read_line(LIMIT).await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::Timeout);
    assert_eq!(error.message, "timeout after 200 ms waiting for output of the command tool");
    let mut deaf = start_in(&run(short), shell("sleep 1000")).unwrap();
    let error = deaf.write(&vec![b'x'; 1 << 20]).await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::Timeout);
    assert!(error.message.contains("writing to the command tool"), "{error}");
    let mut endless = start_in(&run(short), shell("sleep 1000")).unwrap();
    let error = endless.wait().await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::Timeout);
    assert!(error.message.contains("waiting for the end of the command tool"), "{error}");
}

/// G4: a program can't fill the host's memory, by lines or by one line.
#[tokio::test]
async fn a_flood_is_capped() {
    let mut child = start("while :; do echo 0123456789012345678901234567890123456789; done");
    let mut bytes = 0;
    let error = loop {
        match child.read_line(LIMIT).await {
            Ok(line) => bytes += line.unwrap().len() + 1,
            Err(error) => break error,
        }
    };
    assert_eq!(error.kind, ErrorKind::TooLarge, "{error}");
    assert!(bytes <= 4 << 20, "{bytes}");
    let mut child = start("head -c 100000 /dev/zero; sleep 1000");
    let error = child.read_line(1000).await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::TooLarge, "{error}");
}

/// P8: what it complains of goes to the log, bounded, and is waited for by nobody.
#[tokio::test]
async fn complaints_go_to_the_log() {
    let run = run(AMPLE);
    let script = "i=0; while [ $i -lt 5000 ]; do echo complaint >&2; i=$((i+1)); done; echo done";
    let mut child = start_in(&run, shell(script)).unwrap();
    assert_eq!(line(&mut child).await.as_deref(), Some("done"));
    let trace = run.take_trace();
    assert_eq!(trace.log[0].text, "tool: complaint");
    assert!(trace.log.len() <= 64 && trace.log_dropped > 1000, "{}", trace.log_dropped);
}

/// M2: whatever it started is killed with it, when it is dropped.
#[tokio::test]
async fn its_children_are_killed_with_it() {
    let script = "sh -c 'sleep 1000 & echo $!; wait' & echo $$; wait";
    let mut child = start(script);
    let ids = [line(&mut child).await.unwrap(), line(&mut child).await.unwrap()];
    assert!(ids.iter().all(|id| lives(id)), "{ids:?}");
    drop(child);
    for id in &ids {
        is_gone(id).await;
    }
}

/// M2: what a program leaves behind when it ends is killed too.
#[tokio::test]
async fn what_it_leaves_behind_is_killed() {
    let mut child = start("sleep 1000 >/dev/null & echo $!");
    let left = line(&mut child).await.unwrap();
    assert_eq!(child.wait().await.unwrap().code, Some(0));
    is_gone(&left).await;
}

/// P4: a run that is dropped while it waits leaves nothing.
#[tokio::test]
async fn a_cancelled_wait_leaves_nothing() {
    let mut child = start("echo $$; exec sleep 1000");
    let id = line(&mut child).await.unwrap();
    let waits = tokio::time::timeout(Duration::from_millis(50), async move {
        let _cut = child.wait().await;
    });
    assert!(waits.await.is_err());
    is_gone(&id).await;
}

/// M2: many in a row leave neither a process nor a zombie of this host.
#[tokio::test]
async fn many_leave_no_zombies() {
    for _ in 0..100 {
        let mut child = start("echo ready; exec sleep 1000");
        assert_eq!(line(&mut child).await.as_deref(), Some("ready"));
    }
    let me = std::process::id().to_string();
    let look = || async {
        std::fs::read_dir("/proc")
            .unwrap()
            .filter_map(|entry| std::fs::read_to_string(entry.ok()?.path().join("stat")).ok())
            .filter(|stat| stat.contains("(sleep)") || stat.contains("(sh)"))
            .filter(|stat| {
                stat.rsplit(')').next().and_then(|rest| rest.split_whitespace().nth(1)) == Some(&me)
            })
            .filter(|stat| stat.contains(") Z "))
            .count()
    };
    eventually("no zombie is left", AMPLE, look, |zombies| *zombies == 0).await;
}

/// A program that ends before it is written to is told so.
#[tokio::test]
async fn writing_to_what_has_ended() {
    let mut child = start("exec <&-; echo closed; exit 3");
    assert_eq!(line(&mut child).await.as_deref(), Some("closed"));
    assert_eq!(line(&mut child).await, None);
    let error = child.write(b"hello\n").await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::Ended, "{error}");
    let mut killed = start("kill -9 $$");
    assert_eq!(killed.wait().await.unwrap(), Exit { code: None, signal: Some(9) });
}
