//! Programs that run beside this one: the release binary of the host, and blackbox_exporter.

use std::fmt::Write as _;
use std::io::{BufRead, BufReader};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::Failed;
use crate::fleet::{CHECK, KIND, id};

/// Longest wait for a program to be ready.
const PATIENCE: Duration = Duration::from_secs(30);

/// A program that runs. It ends when this is dropped.
#[derive(Debug)]
pub(crate) struct Running {
    child: Child,
    /// What it reads, when that is its own.
    _folder: Option<TempDir>,
    /// Where it is asked: `http://127.0.0.1:1234`.
    pub(crate) url: String,
}

impl Running {
    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // It may have ended by itself, which is as well.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// What a config holds.
#[derive(Debug, Default)]
pub(crate) struct Home<'a> {
    /// How many targets, each with one check.
    pub(crate) targets: usize,
    /// How often each is probed, in seconds; with 0 they are probed by hand only.
    pub(crate) interval: u32,
    /// Further lines of each check.
    pub(crate) check: &'a str,
    /// Further sections.
    pub(crate) further: &'a str,
}

/// A folder with such a config, whose checks probe below `url`.
pub(crate) fn home(url: &str, home: &Home<'_>) -> Result<TempDir, Failed> {
    let folder = tempfile::tempdir()?;
    let mut config = "[server]\nlisten = \"127.0.0.1:0\"\n[log]\nlevel = \"error\"\n".to_owned();
    config.push_str(home.further);
    for number in 0..home.targets {
        write!(
            config,
            "[[targets]]\nid = \"{}\"\n[[targets.checks]]\nname = \"{CHECK}\"\nkind = \"{KIND}\"\n\
             interval = {}\nconfig = {{ url = \"{url}\", path = \"/health/{number}\" }}\n{}",
            id(number),
            home.interval,
            home.check
        )?;
    }
    std::fs::write(config_of(&folder), config)?;
    Ok(folder)
}

fn config_of(home: &TempDir) -> PathBuf {
    home.path().join("probehost.toml")
}

/// `probehost serve` in its home. The first start there compiles the plugin.
pub(crate) fn probehost(home: &TempDir) -> Result<Running, Failed> {
    let mut child = Command::new(env!("CARGO_BIN_EXE_probehost"))
        .arg("serve")
        .arg("--config")
        .arg(config_of(home))
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()?;
    let stdout = child.stdout.take();
    let mut running = Running { child, _folder: None, url: String::new() };
    let mut line = String::new();
    if let Some(stdout) = stdout {
        BufReader::new(stdout).read_line(&mut line)?;
    }
    let url = line.split_whitespace().find(|word| word.starts_with("http://"));
    running.url = url.ok_or_else(|| format!("probehost serve said {line:?}"))?.to_owned();
    Ok(running)
}

/// blackbox_exporter with a module `head`. None: it is not installed.
pub(crate) fn blackbox() -> Result<Option<Running>, Failed> {
    const PROGRAM: &str = "/usr/bin/prometheus-blackbox-exporter";
    if !Path::new(PROGRAM).exists() {
        return Ok(None);
    }
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("blackbox.yml");
    std::fs::write(
        &path,
        "modules:\n  head:\n    prober: http\n    timeout: 10s\n    http:\n      method: HEAD\n      \
         preferred_ip_protocol: ip4\n      follow_redirects: false\n",
    )?;
    // It can't be told to take any port and say which.
    let address = TcpListener::bind(("127.0.0.1", 0))?.local_addr()?;
    let child = Command::new(PROGRAM)
        .arg(format!("--config.file={}", path.display()))
        .arg(format!("--web.listen-address={address}"))
        .arg("--log.level=error")
        .stdin(Stdio::null())
        .spawn()?;
    let running = Running { child, _folder: Some(folder), url: format!("http://{address}") };
    wait_for(address)?;
    Ok(Some(running))
}

fn wait_for(address: SocketAddr) -> Result<(), Failed> {
    let began = Instant::now();
    while let Err(error) = TcpStream::connect(address) {
        if began.elapsed() > PATIENCE {
            return Err(format!("{address} does not answer: {error}").into());
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    Ok(())
}
