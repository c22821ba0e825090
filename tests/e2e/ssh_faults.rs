//! Everything that can be wrong with an SSH host, provoked and probed through the whole host: the
//! reason, the message, the status that follows, and the end within the deadline.

use std::fmt::Write as _;
use std::fs;
use std::io::Read as _;
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use probehost_test_support::ssh::{Agent, Key, Sshd, folder, skip, user};
use probehost_test_support::upstream::{ClosedPort, Script, Step, Upstream};
use tempfile::TempDir;

use crate::host::{BY_HAND, Config, Host, text};

/// A fingerprint that no key has.
const NOBODY: &str = "SHA256:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU";

/// Ample for what answers, in seconds; and for what does not, once it is where it stalls.
const AMPLE: u64 = 30;
const BRIEF: u64 = 2;

/// Keys of users, and the files that go with them.
struct Desk {
    known: Key,
    stranger: Key,
    dir: TempDir,
}

impl Desk {
    fn new() -> Self {
        let dir = folder().unwrap();
        let key = |name: &str| Key::generate(&dir.path().join(name), "ed25519", "").unwrap();
        Self { known: key("known"), stranger: key("stranger"), dir }
    }

    fn sshd(&self, conf: &str) -> Sshd {
        let sshd = Sshd::start(&["ed25519", "rsa"], conf).unwrap();
        sshd.authorize(&self.known).unwrap();
        sshd
    }

    fn known_hosts(&self) -> PathBuf {
        self.dir.path().join("known_hosts")
    }

    fn config(&self) -> Config {
        Config::new().section(&format!("[ssh]\nknown_hosts = {:?}", self.known_hosts()))
    }
}

fn with_key(key: &Key) -> String {
    format!("{{ key_file = {{ path = {:?} }} }}", key.path)
}

fn with_agent(socket: &Path) -> String {
    format!("{{ agent = {{ socket = {socket:?} }} }}")
}

fn pin(sshd: &Sshd) -> String {
    sshd.host_key("ed25519").pin().unwrap()
}

/// The config of a check, without a jump host.
fn direct(host: &str, port: u16, pin: &str, identity: &str) -> String {
    let user = user();
    format!(
        "host = \"{host}\", port = {port}, host_key = \"{pin}\", user = \"{user}\", \
         identity = {identity}"
    )
}

fn through(port: u16, identity: &str, to: &str) -> String {
    let user = user();
    format!(
        "{to}, jump = {{ host = \"127.0.0.1\", port = {port}, user = \"{user}\", \
         identity = {identity} }}"
    )
}

/// One fault: its name, the config that meets it, its time, its reason and words of its message.
struct Row {
    name: &'static str,
    config: String,
    timeout: u64,
    /// Empty: inconclusive.
    reason: &'static str,
    words: String,
}

/// Rows in the making.
#[derive(Default)]
struct Rows(Vec<Row>);

impl Rows {
    fn add(
        &mut self,
        name: &'static str,
        (config, timeout): (String, u64),
        reason: &'static str,
        words: impl Into<String>,
    ) {
        self.0.push(Row { name, config, timeout, reason, words: words.into() });
    }
}

/// Probes each target twice and holds what is said against what is expected.
async fn hold(host: &Host, rows: &[Row]) {
    let mut wrong = String::new();
    for row in rows {
        for (time, expected) in ["unknown", "unhealthy"].into_iter().enumerate() {
            let began = Instant::now();
            let probe = host.probe(row.name).await;
            let took = began.elapsed();
            let (reason, message) = (text(&probe["reason"]), text(&probe["message"]));
            let sticky = matches!(row.reason, "config" | "host-key");
            let expected = if sticky { "unhealthy" } else { expected };
            let expected = if row.reason.is_empty() { "unknown" } else { expected };
            let in_time = took < Duration::from_secs(row.timeout + 5);
            if reason != row.reason
                || !message.contains(&row.words)
                || probe["to"] != expected
                || !in_time
            {
                let _ = writeln!(wrong, "{} ({time}, {took:?}): {probe}", row.name);
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

/// K2 to K4, P3, P7, P8, T3: what is wrong with a target that is dialled directly.
#[tokio::test]
async fn of_a_target() {
    if skip() {
        return;
    }
    let desk = Desk::new();
    let sshd = desk.sshd("");
    let odd = desk.sshd("KexAlgorithms sntrup761x25519-sha512@openssh.com");
    let full = desk.sshd("MaxStartups 1:100:1");
    let mut held = TcpStream::connect(("127.0.0.1", full.port())).unwrap();
    held.read_exact(&mut [0; 4]).unwrap();
    let closed = ClosedPort::reserve();
    let says = |bytes: &[u8], then: Step| {
        Upstream::script(Script::from([Step::Send(bytes.to_vec()), then]))
    };
    let silent = Upstream::script(Script::hang());
    let stalls = says(b"SSH-2.0-x\r\n", Step::Hang);
    let drips = Upstream::script(Script::from([Step::Drip(
        b"SSH-2.0-OpenSSH_9.2p1 and so on\r\n".to_vec(),
        Duration::from_secs(1),
    )]));
    let closes = Upstream::script(Script::close());
    let http = says(b"HTTP/1.1 400 Bad Request\r\n\r\n", Step::Sleep(Duration::ZERO));
    let agent = Agent::start().unwrap();
    agent.add(&desk.stranger).unwrap();
    let nowhere = desk.dir.path().join("no-agent");

    let key = with_key(&desk.known);
    let at = |port: u16, pin: &str, identity: &str, timeout| {
        (direct("127.0.0.1", port, pin, identity), timeout)
    };
    let own = pin(&sshd);
    let mut rows = Rows::default();
    rows.add(
        "wrong-pin",
        at(sshd.port(), &format!("ssh-ed25519 {NOBODY}"), &key, AMPLE),
        "host-key",
        format!("offers the host key {own}, and not the pinned ssh-ed25519 {NOBODY}"),
    );
    rows.add(
        "refused",
        at(closed.address().port(), NOBODY, &key, AMPLE),
        "network",
        format!("{} refused the connection", closed.address()),
    );
    rows.add(
        "unresolvable",
        (direct("nowhere.invalid", 22, NOBODY, &key), AMPLE),
        "network",
        "nowhere.invalid",
    );
    for (name, server, words) in [
        ("silent", &silent, "waiting for the version line"),
        ("drips", &drips, "waiting for the version line"),
        ("stalls", &stalls, "in the key exchange with"),
    ] {
        let port = server.address().port();
        rows.add(name, at(port, NOBODY, &key, BRIEF), "timeout", words);
    }
    rows.add(
        "closes",
        at(closes.address().port(), NOBODY, &key, AMPLE),
        "network",
        "the connection before its version line",
    );
    rows.add("http", at(http.address().port(), NOBODY, &key, AMPLE), "network", "HTTP/1.1 400");
    rows.add(
        "max-startups",
        at(full.port(), &pin(&full), &key, AMPLE),
        "network",
        "the connection before its version line",
    );
    rows.add(
        "no-common-algorithm",
        at(odd.port(), &pin(&odd), &key, AMPLE),
        "answer",
        "no key exchange algorithm in common; it has sntrup761x25519",
    );
    rows.add(
        "login-refused",
        at(sshd.port(), &own, &with_key(&desk.stranger), AMPLE),
        "auth",
        format!("127.0.0.1:{} refused the login of {}", sshd.port(), user()),
    );
    rows.add(
        "agent-without-the-key",
        at(sshd.port(), &own, &with_agent(&agent.socket()), AMPLE),
        "auth",
        "(1 of its keys tried)",
    );
    rows.add("no-agent", at(sshd.port(), &own, &with_agent(&nowhere), AMPLE), "", "");
    rows.add(
        "missing-secret",
        at(sshd.port(), &own, "{ password = { secret = \"absent\" } }", AMPLE),
        "config",
        "the secret absent is not there",
    );
    let settings = |row: &Row| format!("{BY_HAND}\ntimeout = {}", row.timeout);
    let config = rows.0.iter().fold(desk.config(), |config, row| {
        config.target(row.name, "ssh-handshake", &settings(row), &row.config)
    });
    let mut host = config.start();
    hold(&host, &rows.0).await;
    let agent = host.probe("no-agent").await;
    assert_eq!(agent["outcome"], "inconclusive", "{agent}");
    host.stop();
}

/// K3, P7, P8: what is wrong with a jump host, and what is wrong behind it; the subject stays the
/// target.
#[tokio::test]
async fn of_a_jump_host() {
    if skip() {
        return;
    }
    let desk = Desk::new();
    let target = desk.sshd("");
    let bastion = desk.sshd("AllowTcpForwarding yes");
    let closed_bastion = desk.sshd("AllowTcpForwarding no");
    let changed = desk.sshd("AllowTcpForwarding yes");
    let line = format!("[127.0.0.1]:{} {}", changed.port(), desk.stranger.public().unwrap());
    fs::write(desk.known_hosts(), line).unwrap();
    let down = ClosedPort::reserve();
    let silent = Upstream::script(Script::hang());
    let (key, own) = (with_key(&desk.known), pin(&target));
    let to = |port: u16, pin: &str| direct("127.0.0.1", port, pin, &key);
    let by = |hop: u16| (through(hop, &key, &to(target.port(), &own)), AMPLE);
    let on_the_way = |hop: u16| {
        format!("jump host 127.0.0.1:{hop}, on the way to 127.0.0.1:{}: ", target.port())
    };
    let mut rows = Rows::default();
    let port = down.address().port();
    let words = on_the_way(port) + &format!("127.0.0.1:{port} refused the connection");
    rows.add("jump-down", by(port), "network", words);
    let port = changed.port();
    let words = on_the_way(port) + &format!("[127.0.0.1]:{port} offers the host key");
    rows.add("jump-changed", by(port), "host-key", words);
    let port = closed_bastion.port();
    let words = format!("the jump host 127.0.0.1:{port} does not forward connections to");
    rows.add("jump-closed", by(port), "network", words);
    let login = through(bastion.port(), &with_key(&desk.stranger), &to(target.port(), &own));
    let words = on_the_way(bastion.port());
    rows.add("jump-login", (login, AMPLE), "auth", words);
    let behind = |port: u16, pin: &str| through(bastion.port(), &key, &to(port, pin));
    let port = down.address().port();
    let words = format!(
        "127.0.0.1:{port} cannot be reached from the jump host 127.0.0.1:{}",
        bastion.port()
    );
    rows.add("refused-behind", (behind(port, &own), AMPLE), "network", words);
    let port = silent.address().port();
    let words = format!("127.0.0.1:{port} behind the jump host 127.0.0.1:{}", bastion.port());
    rows.add("silent-behind", (behind(port, &own), BRIEF), "timeout", words);
    let other = format!("ssh-ed25519 {NOBODY}");
    let words = format!("offers the host key {own}, and not the pinned {other}");
    rows.add("wrong-pin-behind", (behind(target.port(), &other), AMPLE), "host-key", words);

    let settings = |row: &Row| format!("{BY_HAND}\ntimeout = {}", row.timeout);
    let config = rows.0.iter().fold(desk.config(), |config, row| {
        config.target(row.name, "ssh-handshake", &settings(row), &row.config)
    });
    let good = behind(target.port(), &own);
    let mut host = config.target("good", "ssh-handshake", BY_HAND, &good).start();
    hold(&host, &rows.0).await;
    let good = host.probe("good").await;
    assert_eq!((&good["outcome"], &good["to"]), (&"pass".into(), &"healthy".into()), "{good}");
    host.stop();
}

/// K2, T2, T3: a key that is rotated between two probes fails at once, and again and again; the
/// pin stays what it was.
#[tokio::test]
async fn of_a_rotated_key() {
    if skip() {
        return;
    }
    let desk = Desk::new();
    let sshd = desk.sshd("");
    let (before, rsa) = (pin(&sshd), sshd.host_key("rsa").pin().unwrap());
    let identity = with_key(&desk.known);
    let config = |pin| direct("127.0.0.1", sshd.port(), pin, &identity);
    let mut host = desk
        .config()
        .target("pinned", "ssh-handshake", BY_HAND, &config(&before))
        .target("other", "ssh-handshake", BY_HAND, &config(&rsa))
        .start();
    for target in ["pinned", "other"] {
        assert_eq!(host.probe(target).await["to"], "healthy");
    }
    let port = sshd.port();
    let sshd = sshd.start_in_place_of("ed25519", &["ed25519", "rsa"]).unwrap();
    assert_eq!(sshd.port(), port);
    let after = pin(&sshd);
    for _ in 0..3 {
        let probe = host.probe("pinned").await;
        assert_eq!((&probe["reason"], &probe["to"]), (&"host-key".into(), &"unhealthy".into()));
        let says = format!("offers the host key {after}, and not the pinned {before}");
        assert!(text(&probe["message"]).contains(&says), "{probe}");
    }
    assert_eq!(host.probe("other").await["outcome"], "pass");
    host.stop();
}
