//! The probe kind `ssh-handshake` through the real binary, against a real sshd.

use probehost_test_support::ssh::{Key, Sshd, folder, skip, user};

use crate::host::{Ran, run};

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
