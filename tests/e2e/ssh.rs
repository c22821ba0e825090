//! The probe kind `ssh-handshake` through the real binary, against a real sshd.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::process::Command;

use probehost_test_support::ssh::{Key, Sshd, folder, skip, user};

use crate::host::{BINARY, Ran, run, text};

/// A fingerprint that no key has.
const NOBODY: &str = "SHA256:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU";

fn probe(port: u16, pin: &str, more: &[&str]) -> Ran {
    let words = [format!("port={port}"), format!("host_key={pin}"), format!("user={}", user())];
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    run(&[&["probe", "ssh-handshake", "host=127.0.0.1"], words.as_slice(), more].concat())
}

/// K1, K2, K4, P2: passed, and failed with the reason that each fault has.
#[test]
fn each_outcome_has_its_reason() {
    if skip() {
        return;
    }
    let sshd = Sshd::start(&["ed25519", "rsa"], "").unwrap();
    let dir = folder().unwrap();
    let key = |name: &str| Key::generate(&dir.path().join(name), "ed25519", "").unwrap();
    let (known, stranger) = (key("known"), key("stranger"));
    sshd.authorize(&known).unwrap();
    let pin = sshd.host_key("rsa").pin().unwrap();
    let with = |key: &Key| format!("identity.key_file.path={}", key.path.display());
    let wrong = format!("ssh-rsa {NOBODY}");
    let rows = [
        (pin.as_str(), with(&known), 0, "PASS\n"),
        (pin.as_str(), "identity=none".to_owned(), 0, "PASS\n"),
        (pin.as_str(), with(&stranger), 2, "FAIL auth: 127.0.0.1:"),
        (wrong.as_str(), with(&known), 2, "FAIL host-key: 127.0.0.1:"),
        ("", with(&known), 2, "FAIL config: host_key: is empty"),
        (
            pin.as_str(),
            "identity.password.secret=absent".to_owned(),
            2,
            "FAIL config: the secret absent is not there",
        ),
        (
            pin.as_str(),
            "identity.key_file.path=/nowhere".to_owned(),
            2,
            "FAIL config: the key file /nowhere",
        ),
    ];
    for (pin, identity, code, words) in rows {
        let ran = probe(sshd.port(), pin, &[&identity]);
        assert_eq!(ran.code, code, "{identity}: {}{}", ran.stdout, ran.stderr);
        assert!(ran.stdout.contains(words), "{identity}: {}", ran.stdout);
    }
}

/// What a person pins is what is offered, and it is called unverified.
#[test]
fn the_offered_keys_are_shown_unverified() {
    if skip() {
        return;
    }
    let sshd = Sshd::start(&["ed25519", "rsa"], "").unwrap();
    let ran = run(&["ssh-fingerprint", &format!("127.0.0.1:{}", sshd.port())]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    for kind in ["ed25519", "rsa"] {
        assert!(ran.stdout.contains(&sshd.host_key(kind).pin().unwrap()), "{}", ran.stdout);
    }
    assert!(ran.stdout.contains("UNVERIFIED"), "{}", ran.stdout);
}

/// P8: a secret from the environment, a folder, and a file of mode 600 is put on the wire and shown
/// to nobody; a file that others can read is refused, and that is said before anything is dialled.
#[test]
fn secrets_are_looked_up_and_shown_to_nobody() {
    const SECRET: &str = "correct horse battery";
    if skip() {
        return;
    }
    let sshd = Sshd::start(&["ed25519"], "").unwrap();
    let dir = folder().unwrap();
    let file = dir.path().join("secrets.toml");
    fs::write(&file, format!("db-login = \"{SECRET}\"\n")).unwrap();
    let readable = |mode| fs::set_permissions(&file, fs::Permissions::from_mode(mode)).unwrap();
    fs::create_dir(dir.path().join("secrets")).unwrap();
    fs::write(dir.path().join("secrets/db-login"), SECRET).unwrap();
    let ask = |variable: Option<&str>, more: &[&str]| {
        let mut command = Command::new(BINARY);
        command.args(["probe", "ssh-handshake", "host=127.0.0.1", "--json"]);
        command.arg(format!("port={}", sshd.port()));
        command.arg(format!("host_key={}", sshd.host_key("ed25519").pin().unwrap()));
        command.arg(format!("user={}", user()));
        command.args(["identity.password.secret=db-login"]).args(more);
        command.env_remove("CREDENTIALS_DIRECTORY").env("PROBEHOST_LOG", "trace");
        if let Some(name) = variable {
            command.env(name, SECRET);
        }
        let output = command.output().unwrap();
        let stdout = String::from_utf8(output.stdout).unwrap();
        let all = stdout.clone() + &String::from_utf8(output.stderr).unwrap();
        assert!(!all.contains(SECRET), "{all}");
        let json: serde_json::Value = serde_json::from_str(&stdout).unwrap();
        (text(&json["reason"]).to_owned(), text(&json["message"]).to_owned())
    };
    let folder = dir.path().join("secrets");
    let from_folder = ["--secrets", folder.to_str().unwrap()];
    let from_file = ["--secrets-file", file.to_str().unwrap()];
    // It is of no use there, which only somebody can say who has got it.
    let refused = |(reason, message): (String, String)| {
        assert_eq!(reason, "auth", "{message}");
        assert!(message.contains("with the password"), "{message}");
    };
    refused(ask(Some("PROBEHOST_SECRET_DB_LOGIN"), &[]));
    refused(ask(None, &from_folder));
    readable(0o600);
    refused(ask(None, &from_file));
    readable(0o644);
    for variable in [None, Some("PROBEHOST_SECRET_DB_LOGIN")] {
        let (reason, message) = ask(variable, &from_file);
        assert_eq!(reason, "config", "{message}");
        let path = file.display();
        assert_eq!(
            message,
            format!(
                "the secret db-login cannot be read from {path}: others than its owner may use it \
                 (mode 644), so it is not read; chmod 600 {path}"
            )
        );
    }
    let (reason, message) = ask(None, &[]);
    assert_eq!(reason, "config", "{message}");
    assert!(message.starts_with("the secret db-login is not there; "), "{message}");
    assert!(!sshd.log().contains(SECRET));
}
