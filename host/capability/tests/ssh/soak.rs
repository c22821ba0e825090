//! A thousand probes of every outcome, one after the other and side by side: no socket, no task and
//! no memory is left behind.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use probehost_capability::Capabilities;
use probehost_capability::ssh::{ErrorKind, Identity, Request};
use probehost_test_support::ssh::{Agent, skip};
use tokio::runtime::Builder;

use crate::leftovers::{join_all, nothing_is_left, servers};
use crate::scripted::Script;
use crate::support::{AMPLE, Company, NOBODY, company, jump, key_file, on_machine, request, run};

/// Set in the process that makes the probes.
const INSIDE: &str = "PROBEHOST_TEST_SSH_SOAK";

/// The name of the test, for the process that it starts.
const NAME: &str = "soak::nothing_grows";

/// Probes in all, and those before memory is looked at for the first time.
const SHORT: (usize, usize) = (240, 120);
const LONG: (usize, usize) = (1000, 200);

/// Most that the process may grow by over the second part, in KiB. What one handshake holds is
/// over a hundred, so that even the short form would grow by twice this if one in ten stayed.
const MOST_KIB: u64 = 1024;

/// Long enough to get to where a scripted server stalls.
const BRIEF: Duration = Duration::from_millis(300);

/// P3: all of them leave nothing. With `PROBEHOST_SOAK=1` in the environment they are a thousand,
/// otherwise some two hundred. The test runs itself in a process of its own, as the memory of this
/// one is everyone's.
#[test]
fn nothing_grows() {
    if skip() {
        return;
    }
    if std::env::var_os(INSIDE).is_some() {
        return inside();
    }
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", NAME, "--nocapture"])
        .env(INSIDE, "1")
        // One heap: with several, which thread takes what decides how much there is.
        .env("MALLOC_ARENA_MAX", "1")
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    let told = said.lines().find(|line| line.contains("KiB")).unwrap_or_default();
    println!("{told}");
}

fn inside() {
    let soak = std::env::var("PROBEHOST_SOAK").is_ok_and(|value| value == "1");
    let (all, warm) = if soak { LONG } else { SHORT };
    let company = company();
    let agent = Agent::start().unwrap();
    agent.add(&company.stranger).unwrap();
    let dir = probehost_test_support::ssh::folder().unwrap();
    let ports = servers(&[
        Script::Silent,
        Script::Drips,
        Script::Says("SSH-2.0-Stalls\r\n"),
        Script::Ends(""),
        Script::Resets,
        Script::Odd,
    ]);
    let rows = rows(&company, &ports, &agent.socket(), dir.path());
    let watched = [ports.as_slice(), &[company.sshd.port()]].concat();
    let runtime = Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(async {
        let capabilities = on_machine(Some(dir.path().join("known_hosts")), Some(agent.socket()));
        let mut made = round(&capabilities, &rows).await;
        while made < warm {
            made += round(&capabilities, &rows).await;
        }
        nothing_is_left(&watched).await;
        let (files, kib) = (open_files(), resident_kib());
        let since = made;
        while made < all {
            made += round(&capabilities, &rows).await;
        }
        nothing_is_left(&watched).await;
        let grown = resident_kib().saturating_sub(kib);
        println!("grew by {grown} KiB from {kib} KiB over {} probes", made - since);
        assert_eq!(open_files(), files);
        assert!(grown <= MOST_KIB, "{grown} KiB");
    });
}

/// What is asked for, the time for it, and what it comes to; none is a pass.
type Row = (Request, Duration, Option<ErrorKind>);

fn rows(company: &Company, scripts: &[u16], agent: &Path, dir: &Path) -> Vec<Row> {
    let sshd = company.sshd.port();
    let pin = company.sshd.host_key("ed25519").pin().unwrap();
    let closed = {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        listener.local_addr().unwrap().port()
    };
    let key = || key_file(&company.ed25519);
    let stranger = || key_file(&company.stranger);
    let none = || Identity::None;
    let nobody = |port| request(port, NOBODY, none());
    let through = |hop: u16, login, to: Request| Request { jump: Some(jump(hop, login)), ..to };
    let unresolvable = Request { host: "nowhere.invalid".to_owned(), ..nobody(22) };
    let with_agent = Identity::Agent { socket: Some(agent.display().to_string()), key: None };
    let no_agent =
        Identity::Agent { socket: Some(dir.join("nothing").display().to_string()), key: None };
    let [silent, drips, stalls, ends, resets, odd] = scripts else { panic!("{scripts:?}") };
    vec![
        (request(sshd, &pin, key()), AMPLE, None),
        (request(sshd, &pin, none()), AMPLE, None),
        (through(sshd, key(), request(sshd, &pin, key())), AMPLE, None),
        (nobody(sshd), AMPLE, Some(ErrorKind::HostKey)),
        (request(sshd, &pin, stranger()), AMPLE, Some(ErrorKind::Auth)),
        (request(sshd, &pin, with_agent), AMPLE, Some(ErrorKind::Auth)),
        (request(sshd, &pin, no_agent), AMPLE, Some(ErrorKind::Host)),
        (
            request(sshd, &pin, Identity::Password("absent".to_owned())),
            AMPLE,
            Some(ErrorKind::Identity),
        ),
        (nobody(closed), AMPLE, Some(ErrorKind::Refused)),
        (unresolvable, AMPLE, Some(ErrorKind::NameNotFound)),
        (nobody(*silent), BRIEF, Some(ErrorKind::Timeout)),
        (nobody(*drips), BRIEF, Some(ErrorKind::Timeout)),
        (nobody(*stalls), BRIEF, Some(ErrorKind::Timeout)),
        (nobody(*ends), AMPLE, Some(ErrorKind::Closed)),
        (nobody(*resets), AMPLE, Some(ErrorKind::Closed)),
        (nobody(*odd), AMPLE, Some(ErrorKind::Algorithms)),
        (through(closed, key(), nobody(22)), AMPLE, Some(ErrorKind::Refused)),
        (through(sshd, stranger(), nobody(22)), AMPLE, Some(ErrorKind::Auth)),
        (through(sshd, key(), nobody(closed)), AMPLE, Some(ErrorKind::Unreachable)),
        (through(sshd, key(), nobody(*silent)), 3 * BRIEF, Some(ErrorKind::Timeout)),
    ]
}

/// All of them at once; how many there were.
async fn round(capabilities: &Capabilities, rows: &[Row]) -> usize {
    let probes = rows.iter().map(|(request, budget, expected)| async move {
        let run = run(request, *budget);
        let result = capabilities.ssh().handshake(&run, request.clone()).await;
        match (&result, expected) {
            (Ok(_), None) => {}
            (Err(error), Some(kind)) => assert_eq!(error.kind, *kind, "{error}"),
            _ => panic!("{request:?}: {result:?}, expected {expected:?}"),
        }
    });
    join_all(probes).await.len()
}

fn open_files() -> usize {
    std::fs::read_dir("/proc/self/fd").unwrap().count()
}

fn resident_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}
