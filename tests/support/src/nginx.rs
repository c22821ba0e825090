//! A real nginx (Debian's `nginx-light`), for what a hand-made upstream would only imitate.

use std::ffi::OsString;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use std::{fs, io, thread};

use tempfile::TempDir;

use crate::installed;
use crate::process::{Process, ProcessError};

/// The command that installs nginx, for the line about a skipped test.
pub const INSTALL: &str = "apt-get install -y --no-install-recommends nginx-light";

/// How long nginx may take until it listens.
const START_LIMIT: Duration = Duration::from_secs(10);

/// A port that was free a moment ago may be taken by now; this often another one is tried.
const TRIES: usize = 5;

/// One location for each answer. 401, 403 and 404 come from nginx's own access rules and file lookup.
const SITE: &str = r#"
    root {dir}/www;
    location = /ok { return 200 "ok\n"; }
    location = /no-head { if ($request_method = HEAD) { return 405; } return 200 "ok\n"; }
    location = /304 { return 304; }
    location = /401 { auth_basic "closed"; auth_basic_user_file {dir}/htpasswd; }
    location = /403 { deny all; }
    location = /429 { return 429; }
    location = /500 { return 500; }
    location = /503 { return 503; }
    location = /redirect { return 302 /ok; }
    location = /redirect-elsewhere { return 302 http://elsewhere.test/; }
    location = /redirect-loop { return 302 /redirect-loop; }
    location = /444 { return 444; }
"#;

/// Why nginx did not start.
#[derive(Debug, thiserror::Error)]
pub enum NginxError {
    /// It is not on this machine.
    #[error("nginx is not installed; install it with {INSTALL}")]
    Missing,
    /// Its folder could not be written, or no port was free.
    #[error("could not prepare a folder and a port for nginx: {0}")]
    Prepare(#[from] io::Error),
    /// The process went wrong.
    #[error(transparent)]
    Process(#[from] ProcessError),
    /// It did not come up.
    #[error("nginx did not listen; it said:\n{0}")]
    Start(String),
}

/// A running nginx, as one process without a master. Dropping it kills it and removes its folder.
#[derive(Debug)]
pub struct Nginx {
    port: u16,
    dir: TempDir,
    _process: Process,
}

impl Nginx {
    /// With locations named after what they answer: `/ok`, `/no-head` (405 on HEAD alone), `/304`, `/401`, `/403`,
    /// `/429`, `/500`, `/503`, `/redirect` (to `/ok`), `/redirect-elsewhere`, `/redirect-loop` and `/444` (closes
    /// without an answer). Anything else is a 404.
    pub fn start() -> Result<Self, NginxError> {
        Self::with_site(SITE)
    }

    /// With these directives inside its one `server` block; `{dir}` stands for its folder.
    pub fn with_site(site: &str) -> Result<Self, NginxError> {
        let program = installed::find("nginx").ok_or(NginxError::Missing)?;
        let dir = tempfile::Builder::new().prefix("nginx-test-").tempdir()?;
        fs::create_dir(dir.path().join("www"))?;
        fs::write(dir.path().join("htpasswd"), "nobody:*\n")?;
        let mut said = String::new();
        for _ in 0..TRIES {
            let port = TcpListener::bind(("127.0.0.1", 0))?.local_addr()?.port();
            fs::write(dir.path().join("nginx.conf"), conf(site, dir.path(), port))?;
            let mut process = Process::run(&program, arguments(dir.path()))?;
            if listens(&mut process, &dir.path().join("pid"))? {
                return Ok(Self { port, dir, _process: process });
            }
            said = process.output();
        }
        Err(NginxError::Start(said))
    }

    /// Its base URL, without a slash at the end.
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// The port it listens on.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// One line for each request it has answered: method, path, status, length of the request's body.
    pub fn access_log(&self) -> io::Result<Vec<String>> {
        let text = fs::read_to_string(self.dir.path().join("access.log"))?;
        Ok(text.lines().map(str::to_owned).collect())
    }
}

fn arguments(dir: &Path) -> [OsString; 6] {
    let conf: PathBuf = dir.join("nginx.conf");
    ["-p".into(), dir.into(), "-c".into(), conf.into(), "-e".into(), "stderr".into()]
}

fn conf(site: &str, dir: &Path, port: u16) -> String {
    let site = site.replace("{dir}", &dir.display().to_string());
    let dir = dir.display();
    format!(
        r#"daemon off;
master_process off;
pid {dir}/pid;
error_log stderr warn;
events {{}}
http {{
  log_format short '$request_method $request_uri $status ${{content_length}}';
  access_log {dir}/access.log short;
  client_body_temp_path {dir}/body;
  proxy_temp_path {dir}/proxy;
  fastcgi_temp_path {dir}/fastcgi;
  uwsgi_temp_path {dir}/uwsgi;
  scgi_temp_path {dir}/scgi;
  server {{
    listen 127.0.0.1:{port};
{site}
  }}
}}
"#
    )
}

/// Waits until nginx listens: it writes its pid file after it has bound its sockets. `false`: it ended.
fn listens(process: &mut Process, pid_file: &Path) -> Result<bool, ProcessError> {
    let deadline = Instant::now() + START_LIMIT;
    while Instant::now() < deadline {
        if process.status()?.is_some() {
            return Ok(false);
        }
        if fs::read_to_string(pid_file).is_ok_and(|pid| pid.trim() == process.id().to_string()) {
            return Ok(true);
        }
        thread::sleep(Duration::from_millis(5));
    }
    Ok(false)
}
