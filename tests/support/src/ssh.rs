//! Real SSH servers (OpenSSH's sshd, dropbear) and a real agent, on free loopback ports.

use std::ffi::OsString;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;
use std::{env, fs, io};

use tempfile::TempDir;

use crate::installed;
use crate::process::{Process, ProcessError};

mod account;

pub use account::{Account, skip_unless_root};

/// The command that installs all of them, for the line about a skipped test.
pub const INSTALL: &str =
    "apt-get install -y --no-install-recommends openssh-server openssh-client dropbear-bin";

/// How long a server may take until it listens.
const START_LIMIT: Duration = Duration::from_secs(20);

/// A port that was free a moment ago may be taken by now; this often another one is tried.
const TRIES: usize = 5;

/// Why a server or an agent did not start, or a key was not made.
#[derive(Debug, thiserror::Error)]
pub enum SshError {
    /// It is not on this machine.
    #[error("{0} is not installed; install it with {INSTALL}")]
    Missing(&'static str),
    /// Its folder could not be written, or no port was free.
    #[error("could not prepare a folder and a port: {0}")]
    Prepare(#[from] io::Error),
    /// The process went wrong.
    #[error(transparent)]
    Process(#[from] ProcessError),
    /// It did not come up.
    #[error("{0} did not listen: {1}")]
    Start(&'static str, String),
    /// A helper program failed.
    #[error("{program} failed: {said}")]
    Helper {
        /// Its name.
        program: &'static str,
        /// What it printed.
        said: String,
    },
}

/// Says whether the calling test has to be skipped because some of it is not installed.
pub fn skip() -> bool {
    ["sshd", "ssh-keygen", "ssh-agent", "ssh-add", "dropbear"]
        .iter()
        .any(|program| installed::skip_unless_installed(program, INSTALL))
}

/// Who the tests log in as: whoever runs them.
pub fn user() -> String {
    env::var("USER").or_else(|_| env::var("LOGNAME")).unwrap_or_else(|_| "root".to_owned())
}

/// A key pair in a folder: `path` and `path.pub`.
#[derive(Debug, Clone)]
pub struct Key {
    /// The private half.
    pub path: PathBuf,
}

impl Key {
    /// Makes one of a type (`ed25519`, `ecdsa`, `rsa`), with a passphrase or without.
    pub fn generate(path: &Path, kind: &str, passphrase: &str) -> Result<Self, SshError> {
        let bits = if kind == "rsa" { "2048" } else { "256" };
        let mut command = Command::new(find("ssh-keygen")?);
        // Few rounds: the tests want to know that it is encrypted, not how well.
        command.args(["-q", "-t", kind, "-b", bits, "-a", "2", "-C", "test", "-N", passphrase]);
        run("ssh-keygen", command.arg("-f").arg(path))?;
        Ok(Self { path: path.to_owned() })
    }

    /// Its public line.
    pub fn public(&self) -> io::Result<String> {
        fs::read_to_string(self.path.with_extension("pub"))
    }

    /// `SHA256:…`
    pub fn fingerprint(&self) -> Result<String, SshError> {
        let mut command = Command::new(find("ssh-keygen")?);
        let said = run("ssh-keygen", command.arg("-l").arg("-f").arg(&self.path))?;
        Ok(said.split_whitespace().nth(1).unwrap_or_default().to_owned())
    }

    /// `ssh-ed25519 SHA256:…`, as it is pinned.
    pub fn pin(&self) -> Result<String, SshError> {
        let public = self.public()?;
        let kind = public.split_whitespace().next().unwrap_or_default();
        Ok(format!("{kind} {}", self.fingerprint()?))
    }
}

/// A running sshd. Dropping it kills it and removes its folder.
#[derive(Debug)]
pub struct Sshd {
    port: u16,
    dir: TempDir,
    process: Process,
}

impl Sshd {
    /// With host keys of these types, and `conf` before the rest of its configuration.
    pub fn start(kinds: &[&str], conf: &str) -> Result<Self, SshError> {
        let dir = folder()?;
        for kind in kinds {
            Key::generate(&dir.path().join(kind), kind, "")?;
        }
        Self::in_folder(dir, kinds, conf, None, None)
    }

    /// With a host key of type ed25519, and an account that it alone knows of, so that somebody
    /// can log in with a password. Only root may do this.
    pub fn start_with(account: Account) -> Result<Self, SshError> {
        let dir = folder()?;
        Key::generate(&dir.path().join("ed25519"), "ed25519", "")?;
        account.write(dir.path())?;
        Self::in_folder(dir, &["ed25519"], "PasswordAuthentication yes", Some(account), None)
    }

    /// Starts it again with a new key of this type; its other keys and its port stay, unless
    /// somebody has taken that meanwhile.
    pub fn start_in_place_of(self, kind: &str, kinds: &[&str]) -> Result<Self, SshError> {
        let Self { dir, process, port } = self;
        drop(process);
        fs::remove_file(dir.path().join(kind))?;
        Key::generate(&dir.path().join(kind), kind, "")?;
        Self::in_folder(dir, kinds, "", None, Some(port))
    }

    fn in_folder(
        dir: TempDir,
        kinds: &[&str],
        conf: &str,
        account: Option<Account>,
        mut port_before: Option<u16>,
    ) -> Result<Self, SshError> {
        let program = find("sshd")?;
        // As root it wants a folder to confine itself to.
        let _there_or_not_root = fs::create_dir_all("/run/sshd");
        let authorized = dir.path().join("authorized_keys");
        if !authorized.exists() {
            fs::write(&authorized, "")?;
        }
        let mut said = String::new();
        for _ in 0..TRIES {
            let port = match port_before.take() {
                Some(port) => port,
                None => free_port()?,
            };
            let place = dir.path().display();
            let keys: String =
                kinds.iter().map(|kind| format!("HostKey {place}/{kind}\n")).collect();
            let text = format!(
                "{conf}\n{keys}ListenAddress 127.0.0.1\nPort {port}\nPidFile none\nUsePAM no\n\
                 StrictModes no\nPermitRootLogin yes\nAuthorizedKeysFile {place}/authorized_keys\n\
                 LogLevel VERBOSE\n"
            );
            fs::write(dir.path().join("sshd_config"), text)?;
            let config = dir.path().join("sshd_config");
            let (first, mut arguments) = account.map_or_else(
                || (program.clone(), Vec::new()),
                |account| account.seen_by(&program, dir.path()),
            );
            arguments.extend(["-D".into(), "-e".into(), "-f".into(), OsString::from(config)]);
            let mut process = Process::run(&first, arguments)?;
            let listens = |line: &str| line.contains("Server listening on").then_some(());
            match process.wait_for_line(START_LIMIT, listens) {
                Ok(()) => return Ok(Self { port, dir, process }),
                Err(error) => said = error.to_string(),
            }
        }
        Err(SshError::Start("sshd", said))
    }

    /// The port it listens on.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Its process.
    pub fn process(&mut self) -> &mut Process {
        &mut self.process
    }

    /// The id of its process, for a signal.
    pub fn id(&self) -> u32 {
        self.process.id()
    }

    /// What it logged so far.
    pub fn log(&self) -> String {
        self.process.output()
    }

    /// Its host key of this type.
    pub fn host_key(&self, kind: &str) -> Key {
        Key { path: self.dir.path().join(kind) }
    }

    /// Lets this key in.
    pub fn authorize(&self, key: &Key) -> io::Result<()> {
        let path = self.dir.path().join("authorized_keys");
        let before = fs::read_to_string(&path)?;
        fs::write(path, before + &key.public()?)
    }
}

/// A running dropbear. Dropping it kills it and removes its folder.
#[derive(Debug)]
pub struct Dropbear {
    port: u16,
    /// Its host key.
    pub host_key: Key,
    _dir: TempDir,
    _process: Process,
}

impl Dropbear {
    /// With a host key of this type.
    pub fn start(kind: &str) -> Result<Self, SshError> {
        let program = find("dropbear")?;
        let dir = folder()?;
        let key = dir.path().join("key");
        let mut make = Command::new(find("dropbearkey")?);
        let public = run("dropbearkey", make.args(["-t", kind]).arg("-f").arg(&key))?;
        let line = public.lines().find(|line| line.contains(" AAAA")).unwrap_or_default();
        fs::write(key.with_extension("pub"), format!("{line}\n"))?;
        let mut said = String::new();
        for _ in 0..TRIES {
            let port = free_port()?;
            let listen = format!("127.0.0.1:{port}");
            let arguments: [OsString; 8] = [
                "-F".into(),
                "-E".into(),
                "-r".into(),
                key.clone().into(),
                "-p".into(),
                listen.into(),
                "-P".into(),
                dir.path().join("pid").into(),
            ];
            let mut process = Process::run(&program, arguments)?;
            let listens = |line: &str| line.contains("Not backgrounding").then_some(());
            match process.wait_for_line(START_LIMIT, listens) {
                Ok(()) => {
                    let host_key = Key { path: key.with_extension("pub") };
                    return Ok(Self { port, host_key, _dir: dir, _process: process });
                }
                Err(error) => said = error.to_string(),
            }
        }
        Err(SshError::Start("dropbear", said))
    }

    /// The port it listens on.
    pub fn port(&self) -> u16 {
        self.port
    }
}

/// A running agent. Dropping it kills it and removes its folder.
#[derive(Debug)]
pub struct Agent {
    dir: TempDir,
    process: Process,
}

impl Agent {
    /// Without a key.
    pub fn start() -> Result<Self, SshError> {
        let dir = folder()?;
        let socket = dir.path().join("agent");
        let arguments: [OsString; 3] = ["-D".into(), "-a".into(), socket.into()];
        let mut process = Process::run(&find("ssh-agent")?, arguments)?;
        process.wait_for_line(START_LIMIT, |line| line.contains("SSH_AUTH_SOCK").then_some(()))?;
        Ok(Self { dir, process })
    }

    /// Its socket.
    pub fn socket(&self) -> PathBuf {
        self.dir.path().join("agent")
    }

    /// Its process.
    pub fn process(&mut self) -> &mut Process {
        &mut self.process
    }

    /// Gives it a key.
    pub fn add(&self, key: &Key) -> Result<(), SshError> {
        let mut command = Command::new(find("ssh-add")?);
        run("ssh-add", command.env("SSH_AUTH_SOCK", self.socket()).arg(&key.path)).map(drop)
    }
}

/// A folder for keys.
pub fn folder() -> io::Result<TempDir> {
    tempfile::Builder::new().prefix("ssh-test-").tempdir()
}

fn free_port() -> io::Result<u16> {
    Ok(TcpListener::bind(("127.0.0.1", 0))?.local_addr()?.port())
}

fn find(program: &'static str) -> Result<PathBuf, SshError> {
    installed::find(program).ok_or(SshError::Missing(program))
}

fn run(program: &'static str, command: &mut Command) -> Result<String, SshError> {
    let output = command.output()?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    if output.status.success() {
        return Ok(text(&output.stdout));
    }
    Err(SshError::Helper { program, said: text(&output.stdout) + &text(&output.stderr) })
}
