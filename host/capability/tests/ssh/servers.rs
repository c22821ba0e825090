//! What real servers do when they are configured to: passwords, too many connections at once,
//! algorithms that nobody here has.

use std::io::Read as _;
use std::net::TcpStream;
use std::time::Duration;

use probehost_capability::ssh::{ErrorKind, Hop, Identity, Phase, Request};
use probehost_test_support::ssh::{Account, Sshd, skip, skip_unless_root};
use probehost_test_support::wait::eventually;

use crate::support::{
    AMPLE, NOBODY, PASSWORD, company, handshake, jump, key_file, on_machine, request, run,
};

/// The tests' password, for an account of its own.
const PROBER: Account = Account {
    user: "prober",
    hash: "$6$probehost$4iy.4n76wSvD2fLAs1Xcv2GxT66yQ1w2FsELH/HupthMdmo/1ZOipR6exeX7ZKAkBtuDDxBIDCrEXLt/X6Hup.",
};

/// K1, K4, P8: a password that is right logs in to sshd, and one that is wrong is `auth`; neither
/// is anywhere in what is said.
#[tokio::test(flavor = "multi_thread")]
async fn a_password_logs_in_to_sshd() {
    if skip() || skip_unless_root() {
        return;
    }
    let sshd = Sshd::start_with(PROBER).unwrap();
    let pin = sshd.host_key("ed25519").pin().unwrap();
    let with = |secret: &str| Request {
        user: PROBER.user.to_owned(),
        ..request(sshd.port(), &pin, Identity::Password(secret.to_owned()))
    };
    let report = handshake(with("password")).await.unwrap();
    assert!(report.logged_in, "{report:?}");
    assert!(!format!("{report:?}").contains(PASSWORD));
    assert!(sshd.log().contains("Accepted password for prober"), "{}", sshd.log());
    let error = handshake(with("wrong")).await.unwrap_err();
    assert_eq!((error.kind, error.phase), (ErrorKind::Auth, Phase::Login), "{error}");
    assert!(error.message.contains("refused the login of prober with the password"), "{error}");
    assert!(!error.message.contains("staple"), "{error}");
}

/// K4, P7, P8: a server that has too many connections already closes, and what it says is shown.
#[tokio::test(flavor = "multi_thread")]
async fn max_startups_is_closed_with_its_words() {
    if skip() {
        return;
    }
    let sshd = Sshd::start(&["ed25519"], "MaxStartups 1:100:1").unwrap();
    let pin = sshd.host_key("ed25519").pin().unwrap();
    let mut held = TcpStream::connect(("127.0.0.1", sshd.port())).unwrap();
    // Its version line: the one place is taken.
    held.read_exact(&mut [0; 4]).unwrap();
    let error = handshake(request(sshd.port(), &pin, Identity::None)).await.unwrap_err();
    assert_eq!(
        (error.kind, error.hop, error.phase),
        (ErrorKind::Closed, Hop::Target, Phase::Version),
        "{error}"
    );
    let begins = format!("127.0.0.1:{} ", sshd.port());
    assert!(error.message.starts_with(&begins), "{error}");
    assert!(error.message.contains("the connection before its version line"), "{error}");
    drop(held);
    let again = || handshake(request(sshd.port(), &pin, Identity::None));
    eventually("the place is free", Duration::from_secs(10), again, Result::is_ok).await.unwrap();
}

/// P7: a server that is reached and has nothing in common with this host.
#[tokio::test(flavor = "multi_thread")]
async fn sshd_without_a_common_algorithm() {
    if skip() {
        return;
    }
    let rows = [
        ("KexAlgorithms sntrup761x25519-sha512@openssh.com", "key exchange", "sntrup761x25519"),
        ("Ciphers aes128-cbc", "cipher", "aes128-cbc"),
    ];
    for (conf, what, has) in rows {
        let sshd = Sshd::start(&["ed25519"], conf).unwrap();
        let pin = sshd.host_key("ed25519").pin().unwrap();
        let error = handshake(request(sshd.port(), &pin, Identity::None)).await.unwrap_err();
        assert_eq!((error.kind, error.phase), (ErrorKind::Algorithms, Phase::KeyExchange));
        let words = format!("have no {what} algorithm in common; it has {has}");
        assert!(error.message.contains(&words), "{error}");
    }
}

/// K1: what the servers log of probes that pass, with a login and without, and through a jump
/// host, is farewells: nothing that is an error, and nothing that sshd counts against a client.
#[tokio::test(flavor = "multi_thread")]
async fn the_logs_of_passing_probes_are_clean() {
    const EACH: usize = 5;
    if skip() {
        return;
    }
    let company = company();
    let start = |conf| {
        let sshd = Sshd::start(&["ed25519", "rsa"], conf).unwrap();
        sshd.authorize(&company.ed25519).unwrap();
        sshd.authorize(&company.rsa).unwrap();
        sshd
    };
    let (bastion, target) = (start("AllowTcpForwarding yes"), start(""));
    let dir = probehost_test_support::ssh::folder().unwrap();
    let capabilities = on_machine(Some(dir.path().join("known_hosts")), None);
    let typed = target.host_key("ed25519").pin().unwrap();
    let direct = |identity| request(target.port(), &typed, identity);
    let through = Request {
        jump: Some(jump(bastion.port(), key_file(&company.rsa))),
        ..direct(key_file(&company.ed25519))
    };
    let requests = [direct(key_file(&company.rsa)), direct(Identity::None), through];
    for request in &requests {
        for _ in 0..EACH {
            let run = run(request, AMPLE);
            capabilities.ssh().handshake(&run, request.clone()).await.unwrap();
        }
    }
    for (name, sshd, ends, logins) in
        [("target", &target, 3 * EACH, 2 * EACH), ("bastion", &bastion, EACH, EACH)]
    {
        let look = || async { sshd.log() };
        let all = |log: &String| log.matches("Received disconnect from").count() == ends;
        let log = eventually("every farewell", Duration::from_secs(10), look, all).await;
        assert_eq!(log.matches("probe done").count(), ends, "{name}: {log}");
        assert_eq!(log.matches("Accepted publickey for").count(), logins, "{name}: {log}");
        assert_eq!(log.matches("Connection from").count(), ends, "{name}: {log}");
        for odd in [
            "error:",
            "fatal:",
            "kex_exchange_identification",
            "enalty",
            "enalti",
            "banner",
            "Bad ",
            "Connection reset",
            "Connection closed",
            "Unable to",
            "Failed ",
            "Timeout",
            "Starting session",
        ] {
            assert!(!log.contains(odd), "{name}: {odd}: {log}");
        }
    }
}

/// P3: nothing of an sshd that hangs, as one does that is stopped, is waited for past the deadline.
#[tokio::test(flavor = "multi_thread")]
async fn a_stopped_sshd_is_cut_at_the_deadline() {
    if skip() {
        return;
    }
    let sshd = Sshd::start(&["ed25519"], "").unwrap();
    let pause = |signal: &str| {
        let id = sshd.id().to_string();
        let status =
            std::process::Command::new("kill").args([signal, id.as_str()]).status().unwrap();
        assert!(status.success());
    };
    pause("-STOP");
    let budget = Duration::from_millis(500);
    let began = tokio::time::Instant::now();
    let error =
        crate::support::handshake_within(request(sshd.port(), NOBODY, Identity::None), budget)
            .await
            .unwrap_err();
    let took = began.elapsed();
    pause("-CONT");
    assert_eq!((error.kind, error.phase), (ErrorKind::Timeout, Phase::Version), "{error}");
    assert!(took >= budget && took < budget + Duration::from_secs(5), "{took:?}");
}
