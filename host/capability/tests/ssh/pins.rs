//! The pinned host key: verified, shown when it is another, and never re-pinned.

use probehost_capability::ssh::{ErrorKind, Hop, Identity, Phase};
use probehost_test_support::ssh::{Dropbear, Sshd, skip};

use crate::support::{AMPLE, KINDS, NOBODY, company, handshake, on_machine, request, run};

/// K1, K2: whichever of a server's keys is pinned is the one that it shows, with its type named
/// or without.
#[tokio::test(flavor = "multi_thread")]
async fn each_key_of_a_server_can_be_pinned() {
    if skip() {
        return;
    }
    let company = company();
    let sshd = &company.sshd;
    for kind in KINDS {
        let key = sshd.host_key(kind);
        for pin in [key.pin().unwrap(), key.fingerprint().unwrap()] {
            let report = handshake(request(sshd.port(), &pin, Identity::None)).await.unwrap();
            assert_eq!(report.host_key, key.pin().unwrap(), "{pin}");
            assert!(report.server.starts_with("SSH-2.0-OpenSSH"), "{report:?}");
            assert!(!report.logged_in);
            assert!(report.key_exchange.starts_with("curve25519"), "{report:?}");
            let timings = report.timings;
            assert!(timings.connect.is_some() && timings.handshake.is_some(), "{timings:?}");
            assert_eq!((timings.dns, timings.login, timings.jump), (None, None, None));
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn dropbear_answers_too() {
    if skip() {
        return;
    }
    for kind in ["ed25519", "ecdsa", "rsa"] {
        let dropbear = Dropbear::start(kind).unwrap();
        let pin = dropbear.host_key.fingerprint().unwrap();
        let report = handshake(request(dropbear.port(), &pin, Identity::None)).await.unwrap();
        assert!(report.host_key.ends_with(&pin), "{report:?}");
        assert!(report.server.contains("dropbear"), "{report:?}");
    }
}

/// K2, P7, P8: another key is `host-key`, and both are shown.
#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_pin_shows_both_keys() {
    if skip() {
        return;
    }
    let company = company();
    let sshd = &company.sshd;
    let ed25519 = sshd.host_key("ed25519").pin().unwrap();
    let pin = format!("ssh-ed25519 {NOBODY}");
    let error = handshake(request(sshd.port(), &pin, Identity::None)).await.unwrap_err();
    assert_eq!(
        (error.kind, error.hop, error.phase),
        (ErrorKind::HostKey, Hop::Target, Phase::KeyExchange)
    );
    let says = format!(
        "127.0.0.1:{} offers the host key {ed25519}, and not the pinned {pin}",
        sshd.port()
    );
    assert_eq!(error.message, says);

    // Without a type every key that it has is looked at.
    let error = handshake(request(sshd.port(), NOBODY, Identity::None)).await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::HostKey);
    for kind in KINDS {
        let fingerprint = sshd.host_key(kind).fingerprint().unwrap();
        assert!(error.message.contains(&fingerprint), "{error}");
    }
}

/// K2: the right fingerprint under another type is another pin.
#[tokio::test(flavor = "multi_thread")]
async fn a_type_that_is_gone_is_a_changed_key() {
    if skip() {
        return;
    }
    let sshd = Sshd::start(&["ed25519"], "").unwrap();
    let pin = format!("ssh-rsa {NOBODY}");
    let error = handshake(request(sshd.port(), &pin, Identity::None)).await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::HostKey);
    let says = format!(
        "127.0.0.1:{} has no host key of the pinned type, only ssh-ed25519, and not the pinned {pin}",
        sshd.port()
    );
    assert_eq!(error.message, says);
}

/// K2: a key that is rotated between two probes is refused, the second time as the first.
#[tokio::test(flavor = "multi_thread")]
async fn a_rotated_key_is_never_taken() {
    if skip() {
        return;
    }
    let sshd = Sshd::start(&["ed25519"], "").unwrap();
    let key = sshd.host_key("ed25519");
    let capabilities = on_machine(None, None);
    for pin in [key.pin().unwrap(), key.fingerprint().unwrap()] {
        let request = request(sshd.port(), pin, Identity::None);
        capabilities.ssh().handshake(&run(&request, AMPLE), request).await.unwrap();
    }
    let (pin, bare) = (key.pin().unwrap(), key.fingerprint().unwrap());
    let sshd = sshd.start_in_place_of("ed25519", &["ed25519"]).unwrap();
    let now = sshd.host_key("ed25519").pin().unwrap();
    for pin in [&pin, &bare, &pin, &bare] {
        let request = request(sshd.port(), pin, Identity::None);
        let error = capabilities.ssh().handshake(&run(&request, AMPLE), request).await.unwrap_err();
        assert_eq!(error.kind, ErrorKind::HostKey);
        assert!(error.message.contains(&now) && error.message.contains(pin.as_str()), "{error}");
    }
}

/// P2: without a pin nothing is dialled.
#[tokio::test(flavor = "multi_thread")]
async fn without_a_pin_nothing_is_dialled() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let port = listener.local_addr().unwrap().port();
    for pin in ["", "SHA256:", "ssh-dss SHA256:x", "MD5:00:11"] {
        let error = handshake(request(port, pin, Identity::None)).await.unwrap_err();
        assert_eq!((error.kind, error.phase), (ErrorKind::Invalid, Phase::Request), "{error}");
    }
    let accepted = listener.accept().map(drop).map_err(|error| error.kind());
    assert_eq!(accepted, Err(std::io::ErrorKind::WouldBlock));
}

/// What a person sees before the first pin.
#[tokio::test(flavor = "multi_thread")]
async fn the_offered_keys_can_be_seen() {
    if skip() {
        return;
    }
    let company = company();
    let sshd = &company.sshd;
    let asked = run(&request(1, "", Identity::None), AMPLE);
    let offered = on_machine(None, None).ssh().offered(&asked, "127.0.0.1", sshd.port()).await;
    let offered = offered.unwrap();
    let keys: Vec<_> = offered.iter().map(|offered| offered.host_key.clone()).collect();
    let wanted: Vec<_> = KINDS.iter().map(|kind| sshd.host_key(kind).pin().unwrap()).collect();
    assert_eq!(keys, wanted);
    assert_eq!(
        offered.iter().map(|offered| offered.bits).collect::<Vec<_>>(),
        [None, None, Some(2048)]
    );
}
