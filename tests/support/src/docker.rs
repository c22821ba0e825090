//! A real dockerd in a folder of its own, with one small image and no network. It needs root.

use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;
use std::{env, fs};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::certs::{Ca, CertError};
use crate::engine::{Engine, EngineError};
use crate::installed;
use crate::process::{Process, ProcessError};

/// The command that installs what is needed, for the line about a skipped test.
pub const INSTALL: &str = "apt-get install -y --no-install-recommends docker.io busybox-static";

/// The image that every container is made of: busybox and nothing else.
pub const IMAGE: &str = "probehost-test:1";

/// How long dockerd may take until it listens.
const START_LIMIT: Duration = Duration::from_secs(60);

/// How long it may take to end.
const STOP_LIMIT: Duration = Duration::from_secs(30);

/// Why the engine did not start, or did not do what it was told.
#[derive(Debug, thiserror::Error)]
pub enum DockerError {
    /// It is not on this machine.
    #[error("{0} is not installed; install it with {INSTALL}")]
    Missing(&'static str),
    /// Its folder, its socket or its image could not be used.
    #[error("could not use the engine's folder or socket: {0}")]
    Io(#[from] io::Error),
    /// Its certificates could not be made.
    #[error(transparent)]
    Certificate(#[from] CertError),
    /// The process went wrong.
    #[error(transparent)]
    Process(#[from] ProcessError),
    /// It did not do what it was asked for.
    #[error(transparent)]
    Engine(#[from] EngineError),
}

/// Says whether the calling test has to be skipped: something is not installed, or it does not run
/// as root.
pub fn skip() -> bool {
    let missing = ["dockerd", "busybox"]
        .iter()
        .any(|program| installed::skip_unless_installed(program, INSTALL));
    let root = rustix::process::geteuid().is_root().then_some(Path::new("/"));
    missing || installed::skip_unless_found(root, "a container engine for root", "sudo")
}

/// A running dockerd. Dropping it removes its containers, ends it, and removes its folder.
#[derive(Debug)]
pub struct Docker {
    dir: TempDir,
    /// None while it is killed.
    process: Option<Process>,
    /// With TLS: its port on 127.0.0.1, once it runs.
    tls: Option<u16>,
}

impl Docker {
    /// Starts one and gives it [`IMAGE`].
    pub fn start() -> Result<Self, DockerError> {
        let mut docker = Self::new()?;
        docker.run()?;
        docker.import()?;
        Ok(docker)
    }

    /// As [`start`](Self::start), and it listens on a port too, for clients of this authority.
    pub fn start_with_tls(ca: &Ca) -> Result<Self, DockerError> {
        let mut docker = Self::new()?;
        let identity = ca.good()?;
        for (name, text) in [
            ("ca.pem", ca.pem()),
            ("cert.pem", identity.cert_pem()),
            ("key.pem", identity.key_pem()),
        ] {
            fs::write(docker.dir.path().join(name), text)?;
        }
        docker.tls = Some(0);
        docker.run()?;
        docker.import()?;
        Ok(docker)
    }

    fn new() -> Result<Self, DockerError> {
        let dir = tempfile::Builder::new().prefix("docker-test-").tempdir()?;
        // Others may come to the socket, and be refused by it.
        fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o755))?;
        fs::write(dir.path().join("daemon.json"), "{}")?;
        Ok(Self { dir, process: None, tls: None })
    }

    /// Its port on 127.0.0.1, when it speaks TLS.
    pub fn tls_port(&self) -> Option<u16> {
        self.tls
    }

    /// The engine's socket.
    pub fn socket(&self) -> PathBuf {
        self.dir.path().join("docker.sock")
    }

    /// Its folder.
    pub fn folder(&self) -> &Path {
        self.dir.path()
    }

    /// Starts it where it was killed.
    pub fn run(&mut self) -> Result<(), DockerError> {
        let program = installed::find("dockerd").ok_or(DockerError::Missing("dockerd"))?;
        let place = self.dir.path();
        let _none_there = fs::remove_file(place.join("pid"));
        let mut command = Command::new(program);
        command
            .arg(format!("--config-file={}", place.join("daemon.json").display()))
            .arg(format!("--data-root={}", place.join("data").display()))
            .arg(format!("--exec-root={}", place.join("exec").display()))
            .arg(format!("--pidfile={}", place.join("pid").display()))
            .arg(format!("--host=unix://{}", self.socket().display()))
            .args(["--iptables=false", "--ip6tables=false", "--bridge=none"])
            .args(["--ip-forward=false", "--ip-masq=false", "--storage-driver=overlay2"]);
        if self.tls.is_some() {
            command.args(["--tlsverify", "--host=tcp://127.0.0.1:0"]);
            for (option, name) in
                [("--tlscacert", "ca.pem"), ("--tlscert", "cert.pem"), ("--tlskey", "key.pem")]
            {
                command.arg(format!("{option}={}", place.join(name).display()));
            }
        }
        let mut process = Process::start(&mut command)?;
        let socket = format!("API listen on {}", self.socket().display());
        process.wait_for_line(START_LIMIT, |line| line.contains(&socket).then_some(()))?;
        if let Some(port) = &mut self.tls {
            *port = process.wait_for_line(START_LIMIT, |line| {
                let (_, address) = line.split_once("API listen on 127.0.0.1:")?;
                address.trim_end_matches('"').parse().ok()
            })?;
        }
        self.process = Some(process);
        Ok(())
    }

    /// Kills it (SIGKILL). Its socket stays, and so do its containers.
    pub fn kill(&mut self) -> Result<(), DockerError> {
        if let Some(mut process) = self.process.take() {
            process.kill()?;
        }
        // Its helper is told to die with it. Where nobody waits for that one it would seem to live,
        // and the next start would wait for it in vain.
        let file = self.dir.path().join("exec/containerd/containerd.pid");
        let id = fs::read_to_string(&file).unwrap_or_default();
        if let Some(pid) = id.trim().parse().ok().and_then(Pid::from_raw) {
            let _dead_or_dying = kill_process(pid, Signal::KILL);
        }
        let _none_there = fs::remove_file(file);
        Ok(())
    }

    /// Stops it in its tracks (SIGSTOP): it takes connections, and answers nothing.
    pub fn freeze(&self) -> io::Result<()> {
        self.signal(Signal::STOP)
    }

    /// Lets it go on.
    pub fn thaw(&self) -> io::Result<()> {
        self.signal(Signal::CONT)
    }

    fn signal(&self, signal: Signal) -> io::Result<()> {
        let id = self.process.as_ref().and_then(|process| i32::try_from(process.id()).ok());
        let pid = id.and_then(Pid::from_raw).ok_or(io::ErrorKind::NotFound)?;
        Ok(kill_process(pid, signal)?)
    }

    /// Makes a container and starts it. `more` goes into what it is made of.
    pub fn container(&self, name: &str, command: &[&str], more: Value) -> Result<(), DockerError> {
        self.create(name, command, more)?;
        self.post(&format!("/containers/{name}/start"), None).map(drop)
    }

    /// Makes a container.
    pub fn create(&self, name: &str, command: &[&str], more: Value) -> Result<(), DockerError> {
        let mut body = json!({
            "Image": IMAGE, "Cmd": command, "HostConfig": { "NetworkMode": "none" },
        });
        merge(&mut body, more);
        self.post(&format!("/containers/create?name={name}"), Some(&body)).map(drop)
    }

    /// Asks for a change, such as `/containers/web/pause`.
    pub fn post(&self, path: &str, body: Option<&Value>) -> Result<String, DockerError> {
        Ok(self.engine().post(path, body)?)
    }

    /// What the engine says of a container.
    pub fn inspect(&self, name: &str) -> Result<Value, DockerError> {
        Ok(self.engine().get(&format!("/containers/{name}/json"))?)
    }

    /// The engine itself, for other calls.
    pub fn engine(&self) -> Engine {
        Engine::at(self.socket())
    }

    fn import(&self) -> Result<(), DockerError> {
        let busybox = installed::find("busybox").ok_or(DockerError::Missing("busybox"))?;
        let root = self.dir.path().join("image");
        fs::create_dir_all(root.join("bin"))?;
        fs::create_dir_all(root.join("tmp"))?;
        fs::copy(busybox, root.join("bin/busybox"))?;
        for name in ["sh", "sleep", "true", "false", "cat", "tail", "head", "dd", "test"] {
            std::os::unix::fs::symlink("busybox", root.join("bin").join(name))?;
        }
        let tar = Command::new("tar").arg("-C").arg(&root).args(["-cf", "-", "."]).output()?;
        if !tar.status.success() {
            let said = String::from_utf8_lossy(&tar.stderr).into_owned();
            return Err(io::Error::other(format!("tar failed: {said}")).into());
        }
        let (repo, tag) = IMAGE.split_once(':').unwrap_or((IMAGE, "latest"));
        Ok(self.engine().import(repo, tag, &tar.stdout)?)
    }

    fn tear_down(&mut self) -> Result<(), DockerError> {
        if self.process.is_none() {
            // It alone knows how to end its containers.
            self.run()?;
        }
        self.thaw()?;
        let engine = self.engine();
        let all = engine.get("/containers/json?all=true")?;
        for container in all.as_array().into_iter().flatten() {
            let id = container.get("Id").and_then(Value::as_str).unwrap_or_default();
            engine.delete(&format!("/containers/{id}?force=true"))?;
        }
        if let Some(mut process) = self.process.take() {
            process.terminate()?;
            process.wait(STOP_LIMIT)?;
        }
        Ok(())
    }
}

impl Drop for Docker {
    #[allow(
        clippy::print_stderr,
        reason = "what could not be removed is for whoever runs the tests"
    )]
    fn drop(&mut self) {
        if let Err(error) = self.tear_down() {
            eprintln!("the test's container engine did not end as it should: {error}");
        }
        unmount_beneath(self.dir.path());
    }
}

/// What an engine that was killed had mounted stays, and would keep its folder.
fn unmount_beneath(folder: &Path) {
    let mounts = fs::read_to_string("/proc/self/mounts").unwrap_or_default();
    let mut points: Vec<&str> = mounts
        .lines()
        .filter_map(|line| line.split_whitespace().nth(1))
        .filter(|point| Path::new(point).starts_with(folder))
        .collect();
    // The innermost first.
    points.sort_by_key(|point| std::cmp::Reverse(point.len()));
    for point in points {
        let _tried = Command::new("umount").arg("--lazy").arg(point).output();
    }
}

/// Puts the entries of one object into another, level by level.
fn merge(into: &mut Value, from: Value) {
    match (into, from) {
        (Value::Object(into), Value::Object(from)) => {
            for (key, value) in from {
                merge(into.entry(key).or_insert(Value::Null), value);
            }
        }
        (_, Value::Null) => {}
        (into, from) => *into = from,
    }
}

/// A copy of the running test binary that any user may run, in this folder.
pub fn copy_of_this_binary(folder: &Path) -> io::Result<PathBuf> {
    let copy = folder.join("test-binary");
    fs::copy(env::current_exe()?, &copy)?;
    fs::set_permissions(&copy, fs::Permissions::from_mode(0o755))?;
    Ok(copy)
}
