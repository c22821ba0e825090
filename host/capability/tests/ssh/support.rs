//! What the tests share: capabilities with a known machine, requests, a company of real servers.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use probehost_capability::resolve::Resolver;
use probehost_capability::secrets::Secrets;
use probehost_capability::ssh::{Error, Identity, Jump, Local, Report, Request};
use probehost_capability::{Capabilities, Options, Run};
use probehost_model::grant::Grants;
use probehost_test_support::ssh::{Key, Sshd, user};
use tempfile::TempDir;
use tokio::time::Instant;

/// Long enough that it is never met.
pub(crate) const AMPLE: Duration = Duration::from_secs(60);

/// A fingerprint that no key has.
pub(crate) const NOBODY: &str = "SHA256:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU";

/// The password of the tests' users, where there is one.
pub(crate) const PASSWORD: &str = "correct horse";

/// Capabilities on a machine that has these.
pub(crate) fn on_machine(
    known_hosts: Option<PathBuf>,
    agent_socket: Option<PathBuf>,
) -> Capabilities {
    let secrets = Secrets::new([], |name| match name {
        "PROBEHOST_SECRET_PASSWORD" => Some(PASSWORD.to_owned()),
        "PROBEHOST_SECRET_WRONG" => Some("battery staple".to_owned()),
        _ => None,
    });
    let local = Local { known_hosts, agent_socket, secrets };
    let options =
        Options { resolver: Resolver::fixed([]), system_roots: false, root_files: Vec::new() };
    Capabilities::with_local(options, local).unwrap()
}

/// A run that may reach everything, whose config names what `request` names on this machine.
pub(crate) fn run(request: &Request, budget: Duration) -> Run {
    let mut texts = Vec::new();
    let identities = [Some(&request.identity), request.jump.as_ref().map(|jump| &jump.identity)];
    for identity in identities.into_iter().flatten() {
        match identity {
            Identity::None => {}
            Identity::Agent { socket, .. } => texts.extend(socket.clone()),
            Identity::KeyFile { path, passphrase } => {
                texts.push(path.clone());
                texts.extend(passphrase.clone());
            }
            Identity::Password(name) => texts.push(name.clone()),
        }
    }
    let grants = Grants::new([], vec!["ssh://*:*".parse().unwrap()])
        .with_texts(texts.into_iter().map(Into::into).collect());
    Run::new("tester", grants, Instant::now() + budget)
}

/// A handshake on a machine with nothing.
pub(crate) async fn handshake(request: Request) -> Result<Report, Error> {
    handshake_within(request, AMPLE).await
}

pub(crate) async fn handshake_within(request: Request, budget: Duration) -> Result<Report, Error> {
    let run = run(&request, budget);
    on_machine(None, None).ssh().handshake(&run, request).await
}

pub(crate) fn request(port: u16, host_key: impl Into<String>, identity: Identity) -> Request {
    Request {
        host: "127.0.0.1".to_owned(),
        port,
        user: user(),
        host_key: host_key.into(),
        identity,
        jump: None,
    }
}

pub(crate) fn jump(port: u16, identity: Identity) -> Jump {
    Jump { host: "127.0.0.1".to_owned(), port, user: user(), identity }
}

pub(crate) fn key_file(key: &Key) -> Identity {
    Identity::KeyFile { path: key.path.display().to_string(), passphrase: None }
}

/// One sshd with three host keys, and user keys that it lets in.
pub(crate) struct Company {
    pub(crate) sshd: Sshd,
    pub(crate) ed25519: Key,
    pub(crate) rsa: Key,
    pub(crate) ecdsa: Key,
    /// Encrypted with [`PASSWORD`].
    pub(crate) encrypted: Key,
    /// One that is not let in.
    pub(crate) stranger: Key,
    _dir: TempDir,
}

/// All types of host keys that sshd is given.
pub(crate) const KINDS: [&str; 3] = ["ed25519", "ecdsa", "rsa"];

/// The company: started for the first test that wants it, and ended with the last that has it.
pub(crate) fn company() -> Arc<Company> {
    static COMPANY: Mutex<Weak<Company>> = Mutex::new(Weak::new());
    // A test that could not start it must not keep the others from trying.
    let mut shared = COMPANY.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(company) = shared.upgrade() {
        return company;
    }
    let dir = probehost_test_support::ssh::folder().unwrap();
    let make = |name: &str, kind, passphrase| {
        Key::generate(&dir.path().join(name), kind, passphrase).unwrap()
    };
    let company = Arc::new(Company {
        sshd: Sshd::start(&KINDS, "AllowTcpForwarding yes\nMaxStartups 200").unwrap(),
        ed25519: make("ed25519", "ed25519", ""),
        rsa: make("rsa", "rsa", ""),
        ecdsa: make("ecdsa", "ecdsa", ""),
        encrypted: make("encrypted", "ed25519", PASSWORD),
        stranger: make("stranger", "ed25519", ""),
        _dir: dir,
    });
    for key in [&company.ed25519, &company.rsa, &company.ecdsa, &company.encrypted] {
        company.sshd.authorize(key).unwrap();
    }
    *shared = Arc::downgrade(&company);
    company
}
