//! A host under test: its configuration, its process, and what its API says.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use probehost_test_support::http::{Answer, JsonClient};
use probehost_test_support::probehost::{Launch, Probehost};
use probehost_test_support::sse::EventStream;
use probehost_test_support::wait::eventually;
use serde_json::Value;
use tempfile::TempDir;

/// The binary under test.
pub(crate) const BINARY: &str = env!("CARGO_BIN_EXE_probehost");
/// Longer than anything takes that happens at all, on a busy machine too.
pub(crate) const LIMIT: Duration = Duration::from_secs(60);
/// For checks that are probed by hand alone.
pub(crate) const BY_HAND: &str = "interval = 0";

/// A configuration that is being written.
#[derive(Debug, Clone)]
pub(crate) struct Config {
    listen: String,
    directory: Option<PathBuf>,
    sections: String,
    targets: String,
}

impl Config {
    /// On a free port, with no targets.
    pub(crate) fn new() -> Self {
        Self {
            listen: "127.0.0.1:0".to_owned(),
            directory: None,
            sections: String::new(),
            targets: String::new(),
        }
    }

    /// At this address.
    pub(crate) fn listen(mut self, address: &str) -> Self {
        address.clone_into(&mut self.listen);
        self
    }

    /// With the plugins of this folder.
    pub(crate) fn plugins(mut self, directory: &Path) -> Self {
        self.directory = Some(directory.to_owned());
        self
    }

    /// One more section, with its header.
    pub(crate) fn section(mut self, text: &str) -> Self {
        let _ = writeln!(self.sections, "\n{text}");
        self
    }

    /// One more target, with one check of this kind; `settings` are lines of the check.
    pub(crate) fn target(self, id: &str, kind: &str, settings: &str, config: &str) -> Self {
        self.target_with(id, "", kind, settings, config)
    }

    /// As [`Config::target`], with further lines for the target itself.
    pub(crate) fn target_with(
        mut self,
        id: &str,
        lines: &str,
        kind: &str,
        settings: &str,
        config: &str,
    ) -> Self {
        let _ = write!(
            self.targets,
            "\n[[targets]]\nid = \"{id}\"\n{lines}\n\
             [[targets.checks]]\nkind = \"{kind}\"\n{settings}\nconfig = {{ {config} }}\n"
        );
        self
    }

    /// One more target: this URL, with `http-head`.
    pub(crate) fn head(self, id: &str, settings: &str, url: &str) -> Self {
        self.target(id, "http-head", settings, &format!("url = \"{url}\""))
    }

    /// The file. Compiled plugins are kept for all tests together.
    pub(crate) fn text(&self) -> String {
        let cache = concat!(env!("CARGO_TARGET_TMPDIR"), "/plugin-cache");
        let directory = self.directory.as_ref().map(|path| format!("directory = {path:?}\n"));
        format!(
            "[server]\nlisten = \"{}\"\n[plugins]\ncache = \"{cache}\"\n{}{}{}",
            self.listen,
            directory.unwrap_or_default(),
            self.sections,
            self.targets
        )
    }

    /// A start of the host with this configuration.
    pub(crate) fn launch(&self) -> Launch {
        Launch::new(BINARY, &self.text())
    }

    /// A running host.
    pub(crate) fn start(&self) -> Host {
        Host::start(self.launch())
    }

    /// Writes the file into a folder of its own.
    pub(crate) fn file(&self) -> (TempDir, PathBuf) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("probehost.toml");
        fs::write(&path, self.text()).unwrap();
        (dir, path)
    }
}

/// A running host and its API.
#[derive(Debug)]
pub(crate) struct Host {
    pub(crate) host: Probehost,
    pub(crate) api: JsonClient,
}

impl Host {
    /// Starts the binary and waits until it listens.
    pub(crate) fn start(launch: Launch) -> Self {
        let host = launch.start().unwrap();
        let api = JsonClient::new(host.base_url()).unwrap();
        Self { host, api }
    }

    /// Starts it again on the same database, with another configuration if one is given.
    pub(crate) fn restart(&mut self, config: Option<&Config>) {
        if let Some(config) = config {
            fs::write(self.host.config_path(), config.text()).unwrap();
        }
        self.host.start_again().unwrap();
        self.api = JsonClient::new(self.host.base_url()).unwrap();
    }

    /// Ends it as an operator does; it must say that all is well.
    pub(crate) fn stop(&mut self) {
        let status = self.host.stop(LIMIT).unwrap();
        assert!(status.success(), "{status}: {}", self.host.process().output());
    }

    /// Its database.
    pub(crate) fn database(&self) -> PathBuf {
        self.host.dir().join("probehost.db")
    }

    /// What it has printed so far.
    pub(crate) fn output(&mut self) -> String {
        self.host.process().output()
    }

    pub(crate) async fn get(&self, path: &str) -> Answer {
        self.api.get(path).await.unwrap()
    }

    /// A GET that must be answered with 200.
    pub(crate) async fn json(&self, path: &str) -> Value {
        let answer = self.get(path).await;
        assert_eq!(answer.status, 200, "{answer:?}");
        answer.json().unwrap()
    }

    /// The answer to a probe by hand of a target's one check.
    pub(crate) async fn ask(&self, target: &str) -> Answer {
        let name = self.check(target).await["name"].as_str().unwrap().to_owned();
        let path = format!("/api/v1/targets/{target}/checks/{name}/probe");
        self.api.post(&path, &serde_json::json!({})).await.unwrap()
    }

    /// A probe by hand that must have a result.
    pub(crate) async fn probe(&self, target: &str) -> Value {
        let answer = self.ask(target).await;
        assert_eq!(answer.status, 200, "{answer:?}");
        answer.json().unwrap()
    }

    /// A target's one check, as the API shows it.
    pub(crate) async fn check(&self, target: &str) -> Value {
        self.json(&format!("/api/v1/targets/{target}")).await["checks"][0].clone()
    }

    /// Waits until a target's check is as wanted.
    #[track_caller]
    pub(crate) fn until(
        &self,
        what: &str,
        target: &str,
        holds: impl Fn(&Value) -> bool,
    ) -> impl Future<Output = Value> {
        eventually(what, LIMIT, || self.check(target), holds)
    }

    /// The event stream, with a query such as `?target=web`; from after the event of that id.
    pub(crate) async fn events(&self, query: &str, last_id: Option<&str>) -> EventStream {
        let url = format!("{}/api/v1/events{query}", self.host.base_url());
        EventStream::open(&url, last_id).await.unwrap()
    }

    /// `from>to` of each transition of a target, oldest first.
    pub(crate) async fn transitions(&self, target: &str) -> Vec<String> {
        let found = self.json(&format!("/api/v1/transitions?limit=1000&target={target}")).await;
        let rows = found["transitions"].as_array().unwrap();
        let shown = |row: &Value| format!("{}>{}", text(&row["from"]), text(&row["to"]));
        rows.iter().rev().map(shown).collect()
    }

    /// Audit rows, oldest first. `query` is as `target=web&action=probe`.
    pub(crate) async fn audit(&self, query: &str) -> Vec<Value> {
        let found = self.json(&format!("/api/v1/audit?limit=1000&{query}")).await;
        found["audit"].as_array().unwrap().iter().rev().cloned().collect()
    }

    /// The value of a metric, such as `probehost_probe_skipped_total`; 0 while there is none.
    pub(crate) async fn metric(&self, name: &str) -> f64 {
        let text = self.get("/metrics").await.text;
        let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        line.map_or(0.0, |value| value.trim().parse().unwrap())
    }
}

/// A folder with plugins.
#[derive(Debug)]
pub(crate) struct PluginDir(TempDir);

impl PluginDir {
    /// With these of the fixtures.
    pub(crate) fn new(fixtures: &[&str]) -> Self {
        let dir = Self(tempfile::tempdir().unwrap());
        for name in fixtures {
            dir.put(&format!("{name}.wasm"), probehost_test_plugins::component(name));
        }
        dir
    }

    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }

    pub(crate) fn put(&self, file: &str, bytes: &[u8]) {
        fs::write(self.0.path().join(file), bytes).unwrap();
    }
}

/// The text of a JSON text; empty for anything else.
pub(crate) fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

/// Whether the long forms of tests are asked for: `PROBEHOST_SOAK=1` in the environment.
pub(crate) fn soak() -> bool {
    std::env::var("PROBEHOST_SOAK").is_ok_and(|value| value == "1")
}

/// The code of an error that the API answered with.
#[track_caller]
pub(crate) fn code(answer: &Answer, status: u16) -> String {
    assert_eq!(answer.status, status, "{answer:?}");
    text(&answer.json().unwrap()["error"]["code"]).to_owned()
}

/// A measurement of a probe by hand.
pub(crate) fn measured(probe: &Value, name: &str) -> Option<f64> {
    let all = probe["measurements"].as_array().unwrap();
    all.iter().find(|one| one["name"] == name)?["value"].as_f64()
}

/// What a command of the binary came to.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

/// Runs a command of the binary to its end.
pub(crate) fn run(args: &[&str]) -> Ran {
    let output = Command::new(BINARY).args(args).stdin(Stdio::null()).output().unwrap();
    Ran {
        code: output.status.code().unwrap(),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}
