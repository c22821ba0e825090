//! Through a jump host: verified on its own, and named when it is at fault.

use std::path::PathBuf;
use std::time::Duration;

use probehost_capability::log::Level;
use probehost_capability::ssh::{Error, ErrorKind, Hop, Identity, Phase, Report, Request};
use probehost_test_support::ssh::{Sshd, skip};

use crate::scripted::{Script, server};
use crate::support::{AMPLE, Company, NOBODY, company, jump, key_file, on_machine, request, run};

/// A machine that keeps its known hosts in a folder.
struct Machine {
    known_hosts: PathBuf,
    _dir: tempfile::TempDir,
}

impl Machine {
    fn new() -> Self {
        let dir = probehost_test_support::ssh::folder().unwrap();
        Self { known_hosts: dir.path().join("known_hosts"), _dir: dir }
    }

    async fn handshake(&self, request: Request, budget: Duration) -> Result<Report, Error> {
        let run = run(&request, budget);
        on_machine(Some(self.known_hosts.clone()), None).ssh().handshake(&run, request).await
    }
}

/// A target behind the company's sshd.
fn behind(company: &Company, port: u16, pin: &str, identity: Identity) -> Request {
    let jump = jump(company.sshd.port(), key_file(&company.ed25519));
    Request { jump: Some(jump), ..request(port, pin, identity) }
}

/// K3: the jump host is accepted when it is new, which is logged, and held to its key from then on.
#[tokio::test(flavor = "multi_thread")]
async fn a_target_behind_a_jump_host_is_reached() {
    if skip() {
        return;
    }
    let company = company();
    let target = Sshd::start(&["ed25519"], "").unwrap();
    target.authorize(&company.rsa).unwrap();
    let pin = target.host_key("ed25519").pin().unwrap();
    let machine = Machine::new();
    let capabilities = on_machine(Some(machine.known_hosts.clone()), None);
    for time in 0..2 {
        let request = behind(&company, target.port(), &pin, key_file(&company.rsa));
        let run = run(&request, AMPLE);
        let report = capabilities.ssh().handshake(&run, request).await.unwrap();
        let timings = report.timings;
        assert_eq!(report.host_key, pin);
        assert!(
            timings.jump.is_some() && timings.connect.is_some() && timings.login.is_some(),
            "{timings:?}"
        );
        let log = run.take_trace().log;
        if time == 0 {
            assert_eq!((log.len(), log[0].level), (1, Level::Warn), "{log:?}");
            let key = company.sshd.host_key("ed25519").pin().unwrap();
            assert!(log[0].text.contains(&key) && log[0].text.contains("was not known"), "{log:?}");
        } else {
            assert!(log.is_empty(), "{log:?}");
        }
    }
    let kept = std::fs::read_to_string(&machine.known_hosts).unwrap();
    assert_eq!(kept.lines().count(), 1, "{kept}");
    assert!(
        kept.starts_with(&format!("[127.0.0.1]:{} ssh-ed25519 ", company.sshd.port())),
        "{kept}"
    );
}

/// K3, P7: a jump host whose key has changed is `host-key`, on the jump hop, and is not re-kept.
#[tokio::test(flavor = "multi_thread")]
async fn a_changed_jump_host_is_refused() {
    if skip() {
        return;
    }
    let company = company();
    let machine = Machine::new();
    let port = company.sshd.port();
    let other = company.stranger.public().unwrap();
    let line = format!("[127.0.0.1]:{port} {other}");
    std::fs::write(&machine.known_hosts, &line).unwrap();
    let request = behind(&company, 22, NOBODY, Identity::None);
    let error = machine.handshake(request, AMPLE).await.unwrap_err();
    assert_eq!((error.kind, error.hop), (ErrorKind::HostKey, Hop::Jump));
    let begins = format!(
        "jump host 127.0.0.1:{port}, on the way to 127.0.0.1:22: [127.0.0.1]:{port} offers the host key "
    );
    assert!(error.message.starts_with(&begins), "{error}");
    assert!(error.message.contains(&company.stranger.fingerprint().unwrap()), "{error}");
    assert_eq!(std::fs::read_to_string(&machine.known_hosts).unwrap(), line);
}

/// K3, P8: what is wrong with the jump host is said of the jump host.
#[tokio::test(flavor = "multi_thread")]
async fn a_jump_host_that_fails_is_named() {
    if skip() {
        return;
    }
    let company = company();
    let machine = Machine::new();
    let through = |port, identity| Request {
        jump: Some(jump(port, identity)),
        ..request(22, NOBODY, Identity::None)
    };
    let down = {
        let closed = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        closed.local_addr().unwrap().port()
    };
    let silent = server(Script::Silent).await;
    let stalls = server(Script::Says("SSH-2.0-x\r\n")).await;
    let key = || key_file(&company.ed25519);
    let sshd = company.sshd.port();
    let rows = [
        (down, key(), ErrorKind::Refused, Phase::Connect, "refused the connection"),
        (
            silent,
            key(),
            ErrorKind::Timeout,
            Phase::Version,
            "waiting for the version line of the jump host",
        ),
        (
            stalls,
            key(),
            ErrorKind::Timeout,
            Phase::KeyExchange,
            "in the key exchange with the jump host",
        ),
        (sshd, key_file(&company.stranger), ErrorKind::Auth, Phase::Login, "refused the login"),
        (sshd, Identity::None, ErrorKind::Invalid, Phase::Request, "give its identity"),
        (
            sshd,
            Identity::Password("absent".to_owned()),
            ErrorKind::Identity,
            Phase::Request,
            "the secret absent is not there",
        ),
    ];
    for (port, identity, kind, phase, words) in rows {
        let budget = if kind == ErrorKind::Timeout { Duration::from_millis(600) } else { AMPLE };
        let error = machine.handshake(through(port, identity), budget).await.unwrap_err();
        assert_eq!((error.kind, error.hop, error.phase), (kind, Hop::Jump, phase), "{error}");
        for part in [words, &format!("jump host 127.0.0.1:{port}, on the way to 127.0.0.1:22")] {
            assert!(error.message.contains(part), "{part}: {error}");
        }
    }
}

/// K3, P8: what is wrong behind the jump host is said of the target, and where it was seen from.
#[tokio::test(flavor = "multi_thread")]
async fn a_target_that_fails_behind_the_jump_host_is_named() {
    if skip() {
        return;
    }
    let company = company();
    let machine = Machine::new();
    let jump = format!("127.0.0.1:{}", company.sshd.port());
    let down = {
        let closed = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        closed.local_addr().unwrap().port()
    };
    let request = behind(&company, down, NOBODY, Identity::None);
    let error = machine.handshake(request, AMPLE).await.unwrap_err();
    assert_eq!(
        (error.kind, error.hop, error.phase),
        (ErrorKind::Unreachable, Hop::Target, Phase::Connect)
    );
    let says = format!(
        "127.0.0.1:{down} cannot be reached from the jump host {jump}, which could not connect to it"
    );
    assert_eq!(error.message, says);

    for (script, phase) in
        [(Script::Silent, Phase::Version), (Script::Says("SSH-2.0-x\r\n"), Phase::KeyExchange)]
    {
        let port = server(script).await;
        let request = behind(&company, port, NOBODY, Identity::None);
        let error = machine.handshake(request, Duration::from_millis(1500)).await.unwrap_err();
        assert_eq!(
            (error.kind, error.hop, error.phase),
            (ErrorKind::Timeout, Hop::Target, phase),
            "{error}"
        );
        assert!(
            error.message.contains(&format!("127.0.0.1:{port} behind the jump host {jump} (jump ")),
            "{error}"
        );
    }

    // A wrong pin behind it.
    let request = behind(&company, company.sshd.port(), NOBODY, Identity::None);
    let error = machine.handshake(request, AMPLE).await.unwrap_err();
    assert_eq!((error.kind, error.hop), (ErrorKind::HostKey, Hop::Target), "{error}");
}

/// K3: a jump host that does not forward.
#[tokio::test(flavor = "multi_thread")]
async fn a_jump_host_that_does_not_forward_is_named() {
    if skip() {
        return;
    }
    let company = company();
    let closed = Sshd::start(&["ed25519"], "AllowTcpForwarding no").unwrap();
    closed.authorize(&company.ed25519).unwrap();
    let request = Request {
        jump: Some(jump(closed.port(), key_file(&company.ed25519))),
        ..request(company.sshd.port(), NOBODY, Identity::None)
    };
    let error = Machine::new().handshake(request, AMPLE).await.unwrap_err();
    assert_eq!((error.kind, error.hop), (ErrorKind::Forwarding, Hop::Jump), "{error}");
    let says = format!("the jump host 127.0.0.1:{} does not forward connections to", closed.port());
    assert!(error.message.starts_with(&says), "{error}");
}

/// Without a file of known hosts nothing vouches for a jump host: none is dialled.
#[tokio::test(flavor = "multi_thread")]
async fn without_known_hosts_there_is_no_jump() {
    if skip() {
        return;
    }
    let company = company();
    let request = behind(&company, 22, NOBODY, Identity::None);
    let run = run(&request, AMPLE);
    let error = on_machine(None, None).ssh().handshake(&run, request).await.unwrap_err();
    assert_eq!((error.hop, error.phase), (Hop::Jump, Phase::Request), "{error}");
    assert!(error.message.contains("known_hosts under [ssh]"), "{error}");
}
