//! Logging in: what works, what is refused, and what can't even be tried.

use probehost_capability::ssh::{ErrorKind, Hop, Identity, Phase};
use probehost_test_support::ssh::{Agent, skip};

use crate::support::{AMPLE, PASSWORD, company, handshake, key_file, on_machine, request, run};

/// K1: a key file of each type, and one with a passphrase.
#[tokio::test(flavor = "multi_thread")]
async fn key_files_log_in() {
    if skip() {
        return;
    }
    let company = company();
    let pin = company.sshd.host_key("ed25519").pin().unwrap();
    let encrypted = Identity::KeyFile {
        path: company.encrypted.path.display().to_string(),
        passphrase: Some("password".to_owned()),
    };
    let keys = [&company.ed25519, &company.rsa, &company.ecdsa].map(key_file);
    for identity in keys.into_iter().chain([encrypted]) {
        let report = handshake(request(company.sshd.port(), &pin, identity)).await.unwrap();
        assert!(report.logged_in && report.timings.login.is_some(), "{report:?}");
    }
}

/// K4: a login that is refused is `auth`; who, with what, and what would do is said.
#[tokio::test(flavor = "multi_thread")]
async fn a_refused_login_is_auth() {
    if skip() {
        return;
    }
    let company = company();
    let pin = company.sshd.host_key("ed25519").pin().unwrap();
    let port = company.sshd.port();
    let request = |identity| request(port, &pin, identity);
    let error = handshake(request(key_file(&company.stranger))).await.unwrap_err();
    assert_eq!((error.kind, error.hop, error.phase), (ErrorKind::Auth, Hop::Target, Phase::Login));
    let path = company.stranger.path.display();
    let user = probehost_test_support::ssh::user();
    assert_eq!(
        error.message.split("; it takes").next().unwrap(),
        format!("127.0.0.1:{port} refused the login of {user} with the key of {path}"),
    );
    let error = handshake(request(Identity::Password("wrong".to_owned()))).await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::Auth);
    assert!(
        error.message.contains("with the password") && !error.message.contains("staple"),
        "{error}"
    );
}

/// K1: with an agent.
#[tokio::test(flavor = "multi_thread")]
async fn an_agent_logs_in_with_the_keys_it_holds() {
    if skip() {
        return;
    }
    let company = company();
    let agent = Agent::start().unwrap();
    let pin = company.sshd.host_key("ed25519").pin().unwrap();
    let by_variable = Identity::Agent { socket: None, key: None };
    let capabilities = on_machine(None, Some(agent.socket()));
    let handshake = async |identity| {
        let request = request(company.sshd.port(), &pin, identity);
        capabilities.ssh().handshake(&run(&request, AMPLE), request).await
    };
    let socket = agent.socket().display().to_string();

    let error = handshake(by_variable.clone()).await.unwrap_err();
    assert_eq!((error.kind, error.phase), (ErrorKind::Auth, Phase::Login));
    assert!(
        error
            .message
            .ends_with(&format!("the agent at {socket} does not hold a key that can be used")),
        "{error}"
    );

    agent.add(&company.stranger).unwrap();
    let error = handshake(by_variable.clone()).await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::Auth);
    assert!(
        error.message.contains(&format!("the agent at {socket} (1 of its keys tried)")),
        "{error}"
    );

    for key in [&company.rsa, &company.ed25519] {
        agent.add(key).unwrap();
        let only =
            Identity::Agent { socket: Some(socket.clone()), key: Some(key.fingerprint().unwrap()) };
        assert!(handshake(only).await.unwrap().logged_in);
    }
    assert!(handshake(by_variable).await.unwrap().logged_in);

    let missing = company.ecdsa.fingerprint().unwrap();
    let only = Identity::Agent { socket: None, key: Some(missing.clone()) };
    let error = handshake(only).await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::Auth);
    assert!(error.message.ends_with(&format!("does not hold the key {missing}")), "{error}");
}

/// Without an agent nothing is dialled. That none is named is the config's fault; that a named
/// one does not answer says nothing of the target.
#[tokio::test(flavor = "multi_thread")]
async fn without_an_agent_nothing_is_dialled() {
    let agent =
        |socket: Option<&str>| Identity::Agent { socket: socket.map(str::to_owned), key: None };
    let pin = crate::support::NOBODY;
    let error = handshake(request(1, pin, agent(None))).await.unwrap_err();
    assert_eq!((error.kind, error.phase), (ErrorKind::Identity, Phase::Request));
    assert!(error.message.contains("SSH_AUTH_SOCK is not set"), "{error}");
    let error = handshake(request(1, pin, agent(Some("/nowhere/agent")))).await.unwrap_err();
    assert_eq!((error.kind, error.phase), (ErrorKind::Host, Phase::Request));
    assert_eq!(
        error.message,
        "the agent at /nowhere/agent cannot be reached: No such file or directory; nothing was dialled"
    );
}

/// An agent that hangs does not pass for a target that hangs.
#[tokio::test(flavor = "multi_thread")]
async fn a_silent_agent_is_no_fault_of_the_target() {
    if skip() {
        return;
    }
    let company = company();
    let dir = probehost_test_support::ssh::folder().unwrap();
    let socket = dir.path().join("agent");
    let _silent = tokio::net::UnixListener::bind(&socket).unwrap();
    let identity = Identity::Agent { socket: Some(socket.display().to_string()), key: None };
    let pin = company.sshd.host_key("ed25519").pin().unwrap();
    let error = handshake(request(company.sshd.port(), &pin, identity)).await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::Host, "{error}");
    assert!(error.message.ends_with("does not answer"), "{error}");
}

/// P2, P8: an identity that can't be used is found before anything is dialled, and the message
/// says what to mend without a word of what is in the file.
#[tokio::test(flavor = "multi_thread")]
async fn an_unusable_identity_is_named() {
    if skip() {
        return;
    }
    let company = company();
    let dir = probehost_test_support::ssh::folder().unwrap();
    let junk = dir.path().join("junk");
    std::fs::write(&junk, "-----BEGIN OPENSSH PRIVATE KEY-----\nc2VjcmV0\n").unwrap();
    let file = |path: &str, passphrase: Option<&str>| Identity::KeyFile {
        path: path.to_owned(),
        passphrase: passphrase.map(str::to_owned),
    };
    let encrypted = company.encrypted.path.display().to_string();
    let rows = [
        (file("/nowhere/key", None), "the key file /nowhere/key cannot be read: No such file"),
        (file("key", None), "the key file key is not named by an absolute path"),
        (file("/dev/zero", None), "the key file /dev/zero is not a file"),
        (file(&junk.display().to_string(), None), "is no private key that this host can read"),
        (file(&encrypted, None), "is encrypted; name the secret that is its passphrase"),
        (file(&encrypted, Some("wrong")), "not one that opens with its passphrase"),
        (
            file(&encrypted, Some("absent")),
            "the secret absent is not there; set the environment variable PROBEHOST_SECRET_ABSENT",
        ),
        (Identity::Password("absent".to_owned()), "the secret absent is not there"),
    ];
    for (identity, words) in rows {
        let error = handshake(request(1, crate::support::NOBODY, identity)).await.unwrap_err();
        assert_eq!((error.kind, error.phase), (ErrorKind::Identity, Phase::Request), "{error}");
        assert!(error.message.contains(words), "{error}");
        for secret in [PASSWORD, "staple", "c2VjcmV0"] {
            assert!(!error.message.contains(secret), "{error}");
        }
    }
}

/// G2: a plugin uses nothing of this machine that the check's config does not name.
#[tokio::test(flavor = "multi_thread")]
async fn what_the_config_does_not_name_is_not_used() {
    let rows = [
        Identity::Password("password".to_owned()),
        Identity::KeyFile { path: "/etc/shadow".to_owned(), passphrase: None },
        Identity::Agent { socket: Some("/run/agent".to_owned()), key: None },
    ];
    for identity in rows {
        let request = request(1, crate::support::NOBODY, identity);
        let run = run(&crate::support::request(1, "", Identity::None), AMPLE);
        let error = on_machine(None, None).ssh().handshake(&run, request).await.unwrap_err();
        assert_eq!((error.kind, error.phase), (ErrorKind::Denied, Phase::Request), "{error}");
        assert!(error.message.contains("config does not name the"), "{error}");
    }
}
