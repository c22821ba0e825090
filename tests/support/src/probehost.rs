//! The real `probehost` binary with a configuration in a folder of its own.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};
use std::time::Duration;
use std::{fs, io};

use tempfile::TempDir;

use crate::process::{Process, ProcessError};

/// How long the host may take until it listens. Generous: a debug build compiles its plugins first.
const START_LIMIT: Duration = Duration::from_secs(60);

/// Why the host did not start.
#[derive(Debug, thiserror::Error)]
pub enum ProbehostError {
    /// Its folder or its configuration could not be written.
    #[error("could not write the host's configuration: {0}")]
    Config(#[from] io::Error),
    /// The process went wrong.
    #[error(transparent)]
    Process(#[from] ProcessError),
}

/// How to start a host: the binary, its configuration, its arguments.
///
/// `{dir}` stands for the host's folder and `{config}` for the path of its configuration, in the configuration, the
/// arguments and the values of environment variables alike.
#[derive(Debug, Clone)]
pub struct Launch {
    binary: PathBuf,
    config: String,
    args: Vec<String>,
    env: Vec<(String, String)>,
    listening: String,
}

/// A running host. Dropping it kills it and removes its folder.
#[derive(Debug)]
pub struct Probehost {
    launch: Launch,
    dir: TempDir,
    process: Process,
    base_url: String,
}

impl Launch {
    /// This binary (a test of the daemon passes `env!("CARGO_BIN_EXE_probehost")`) with this configuration, as
    /// `serve --config {config}`, ready when a line holds `listening on http://…`.
    pub fn new(binary: impl Into<PathBuf>, config: &str) -> Self {
        Self {
            binary: binary.into(),
            config: config.to_owned(),
            args: ["serve", "--config", "{config}"].map(str::to_owned).into(),
            env: Vec::new(),
            listening: "listening on ".to_owned(),
        }
    }

    /// Other arguments than the usual ones.
    #[must_use]
    pub fn args<'a>(mut self, args: impl IntoIterator<Item = &'a str>) -> Self {
        self.args = args.into_iter().map(str::to_owned).collect();
        self
    }

    /// One more environment variable.
    #[must_use]
    pub fn env(mut self, name: &str, value: &str) -> Self {
        self.env.push((name.to_owned(), value.to_owned()));
        self
    }

    /// The text that stands before the base URL in the line that says that the host listens.
    #[must_use]
    pub fn listening(mut self, text: &str) -> Self {
        text.clone_into(&mut self.listening);
        self
    }

    /// Starts the host and waits, up to a minute, until it listens.
    pub fn start(self) -> Result<Probehost, ProbehostError> {
        let dir = tempfile::Builder::new().prefix("probehost-test-").tempdir()?;
        fs::write(config_path(dir.path()), expand(&self.config, dir.path()))?;
        let (process, base_url) = self.spawn(dir.path())?;
        Ok(Probehost { launch: self, dir, process, base_url })
    }

    fn spawn(&self, dir: &Path) -> Result<(Process, String), ProcessError> {
        let mut command = Command::new(&self.binary);
        command.args(self.args.iter().map(|arg| OsString::from(expand(arg, dir)))).current_dir(dir);
        command.envs(self.env.iter().map(|(name, value)| (name, expand(value, dir))));
        let mut process = Process::start(&mut command)?;
        let base_url =
            process.wait_for_line(START_LIMIT, |line| url_after(line, &self.listening))?;
        Ok((process, base_url))
    }
}

impl Probehost {
    /// The base URL of its API, such as `http://127.0.0.1:40123`.
    pub fn base_url(&self) -> &str {
        &self.base_url
    }

    /// Its folder, which holds its configuration and whatever the configuration puts there.
    pub fn dir(&self) -> &Path {
        self.dir.path()
    }

    /// The path of its configuration, for a test that changes it.
    pub fn config_path(&self) -> PathBuf {
        config_path(self.dir.path())
    }

    /// The process, for its output and for signals.
    pub fn process(&mut self) -> &mut Process {
        &mut self.process
    }

    /// Asks it to end (SIGTERM) and waits for that.
    pub fn stop(&mut self, limit: Duration) -> Result<ExitStatus, ProcessError> {
        self.process.terminate()?;
        self.process.wait(limit)
    }

    /// Kills it as a crash does (SIGKILL). Its folder stays.
    pub fn kill(&mut self) -> Result<ExitStatus, ProcessError> {
        self.process.kill()
    }

    /// Starts it again in the same folder, with the configuration that lies there now; kills it first where it still
    /// runs. Its port may be another one.
    pub fn start_again(&mut self) -> Result<(), ProcessError> {
        self.process.kill()?;
        (self.process, self.base_url) = self.launch.spawn(self.dir.path())?;
        Ok(())
    }
}

fn config_path(dir: &Path) -> PathBuf {
    dir.join("probehost.toml")
}

fn expand(text: &str, dir: &Path) -> String {
    let config = config_path(dir);
    text.replace("{config}", &config.display().to_string())
        .replace("{dir}", &dir.display().to_string())
}

/// The URL that follows this text in a line, without a slash at its end.
fn url_after(line: &str, text: &str) -> Option<String> {
    let (_, rest) = line.split_once(text)?;
    let url = rest.split(|c: char| c.is_whitespace() || matches!(c, '"' | ',' | '\x1b')).next()?;
    url.starts_with("http").then(|| url.trim_end_matches('/').to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_the_url_in_the_line() {
        let plain = "probehost 0.1.0 listening on http://127.0.0.1:4000/ with 3 targets";
        assert_eq!(url_after(plain, "listening on ").as_deref(), Some("http://127.0.0.1:4000"));
        let json = r#"{"message":"listening on http://127.0.0.1:4000","level":"INFO"}"#;
        assert_eq!(url_after(json, "listening on ").as_deref(), Some("http://127.0.0.1:4000"));
        assert_eq!(url_after("listening on fd 3", "listening on "), None);
        assert_eq!(url_after("starting", "listening on "), None);
    }

    /// A shell stands in for the host: it shows its arguments, folder and configuration.
    #[test]
    fn starts_stops_and_starts_again_in_the_same_folder() {
        let script =
            r#"echo x >> starts; cat "$0"; echo "listening on http://127.0.0.1:$$"; exec sleep 60"#;
        let launch =
            Launch::new("/bin/sh", "path = \"{dir}/db\"\n").args(["-c", script, "{config}"]);
        let mut host = launch.start().expect("a start");
        let written = format!("path = \"{}/db\"\n", host.dir().display());
        assert!(host.process().stdout().starts_with(&written), "{}", host.process().output());
        let first = host.base_url().to_owned();
        assert_eq!(first, format!("http://127.0.0.1:{}", host.process().id()));

        host.start_again().expect("a second start");
        assert_ne!(host.base_url(), first);
        assert_eq!(fs::read_to_string(host.dir().join("starts")).expect("the file"), "x\nx\n");

        let status = host.stop(Duration::from_secs(10)).expect("an end");
        assert!(!status.success(), "ended by the signal: {status}");
        let dir = host.dir().to_owned();
        drop(host);
        assert!(!dir.exists());
    }

    #[test]
    fn says_why_the_host_did_not_start() {
        let launch = Launch::new("/bin/sh", "").args(["-c", "echo no such key >&2; exit 2"]);
        let error = launch.start().expect_err("an error").to_string();
        assert!(error.contains("exit status: 2") && error.contains("no such key"), "{error}");
    }
}
