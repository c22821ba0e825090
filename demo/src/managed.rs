//! The managed MCP server: a container where an engine is there, else a process that a command restarts.

use std::env;
use std::ffi::OsStr;
use std::io::{self, ErrorKind};
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use probehost_test_support::engine::{Engine, EngineError};

use crate::container;

/// How long an engine may take to say that it is there.
const GREETING: Duration = Duration::from_secs(5);

/// How long it may be silent while it makes an image or removes a container.
const SILENCE: Duration = Duration::from_secs(30);

/// The target's id.
pub(crate) const ID: &str = "mcp";

/// Why the server did not start.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ManagedError {
    /// The port is taken.
    #[error(
        "could not listen on 127.0.0.1:{port}: {source}\nThe managed MCP server needs that port. End what uses it \
         (perhaps another demo-fleet), or choose others with --base-port."
    )]
    Port {
        /// The port.
        port: u16,
        /// What the system said.
        source: io::Error,
    },
    /// The program is not where it should be.
    #[error("could not run {}: {source}\nIt is built with demo-fleet: cargo build -p probehost-demo", program.display())]
    Run {
        /// The program.
        program: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The program could not do it.
    #[error("{0}")]
    Failed(String),
}

/// What runs the server, and so what restarts it.
#[derive(Debug, Clone)]
pub(crate) enum Runtime {
    /// A container of this engine.
    Container(Engine),
    /// The command under `[commands]`; with the reason why it is no container.
    Command(String),
}

/// Where the server is, and what it is made of.
#[derive(Debug, Clone)]
pub(crate) struct Place {
    /// The program `demo-mcp`.
    pub(crate) program: PathBuf,
    /// The folder with its process id, as an absolute path.
    pub(crate) dir: PathBuf,
    /// Its port on 127.0.0.1.
    pub(crate) port: u16,
}

/// The running server. Dropping it ends it, whoever has restarted it in the meantime.
#[derive(Debug)]
pub(crate) struct Managed {
    place: Place,
    runtime: Runtime,
}

impl Place {
    /// The program is beside the running one.
    pub(crate) fn new(dir: &Path, port: u16) -> io::Result<Self> {
        let program = env::current_exe()?.with_file_name("demo-mcp");
        Ok(Self { program, dir: dir.to_owned(), port })
    }

    /// The words of the command that restarts it.
    pub(crate) fn restart(&self) -> [String; 6] {
        let (program, dir) = (self.program.to_string_lossy(), self.dir.to_string_lossy());
        let port = self.port.to_string();
        [&program, "restart", "--port", &port, "--dir", &dir].map(str::to_owned)
    }

    /// Where the server answers.
    pub(crate) fn url(&self) -> String {
        format!("http://127.0.0.1:{}/mcp", self.port)
    }

    /// Runs `demo-mcp` to its end.
    fn run(&self, args: &[&str]) -> Result<(), ManagedError> {
        let program = &self.program;
        let output = Command::new(program).args(args).arg("--dir").arg(&self.dir).output();
        let output =
            output.map_err(|source| ManagedError::Run { program: program.clone(), source })?;
        if output.status.success() {
            return Ok(());
        }
        Err(ManagedError::Failed(String::from_utf8_lossy(&output.stderr).trim().to_owned()))
    }
}

impl Managed {
    /// Starts it, in place of one that an earlier demo has left.
    pub(crate) fn start(place: Place) -> Result<Self, ManagedError> {
        place.run(&["stop"])?;
        let engine = engine();
        if let Ok(engine) = &engine {
            // What can't be removed holds its port, or stands in the way of the next one: both are told.
            let _told_later = container::remove(engine);
        }
        let port = place.port;
        TcpListener::bind(SocketAddr::from((Ipv4Addr::LOCALHOST, port)))
            .map_err(|source| ManagedError::Port { port, source })?;
        let why = match engine {
            Err(why) => why,
            Ok(engine) => match container::start(&engine, &place.program, port) {
                Ok(()) => return Ok(Self { place, runtime: Runtime::Container(engine) }),
                Err(error) => {
                    let _of_no_use = container::remove(&engine);
                    error.to_string()
                }
            },
        };
        place.run(&["restart", "--port", &port.to_string()])?;
        Ok(Self { place, runtime: Runtime::Command(why) })
    }

    /// What runs it.
    pub(crate) fn runtime(&self) -> &Runtime {
        &self.runtime
    }

    /// Where it is.
    pub(crate) fn place(&self) -> &Place {
        &self.place
    }
}

impl Drop for Managed {
    #[allow(clippy::print_stderr, reason = "what could not be ended is for whoever runs the demo")]
    fn drop(&mut self) {
        let ended = match &self.runtime {
            Runtime::Container(engine) => container::remove(engine).map_err(|e| e.to_string()),
            Runtime::Command(_) => self.place.run(&["stop"]).map_err(|e| e.to_string()),
        };
        if let Err(error) = ended {
            eprintln!("demo-fleet: the managed MCP server was not ended: {error}");
        }
    }
}

impl Runtime {
    /// How to kill the server, as a line for a shell. `dir` is the demo's folder as its user calls it.
    pub(crate) fn kill(&self, dir: &Path) -> String {
        match self {
            Self::Command(_) => format!("kill $(cat {})", dir.join("mcp.pid").display()),
            Self::Container(engine) => {
                let socket = engine.socket().display().to_string();
                let (client, remote) =
                    if socket.contains("podman") { ("podman", "--url") } else { ("docker", "-H") };
                match env::var("DOCKER_HOST") {
                    Ok(_) => format!("{client} {remote} unix://{socket} kill {}", container::NAME),
                    Err(_) => format!("{client} kill {}", container::NAME),
                }
            }
        }
    }
}

/// The container engine of this machine, or why there is none.
fn engine() -> Result<Engine, String> {
    let mut refusals = Vec::new();
    for socket in sockets(env::var_os("DOCKER_HOST"), env::var_os("XDG_RUNTIME_DIR"))? {
        let engine = Engine::at(socket).silent_for(GREETING);
        match engine.get("/version") {
            Ok(_) => return Ok(engine.silent_for(SILENCE)),
            Err(EngineError::Socket { socket, source }) if source.kind() == ErrorKind::NotFound => {
                refusals.push(format!("{} is not there", socket.display()));
            }
            Err(error) => refusals.push(error.to_string()),
        }
    }
    Err(format!("no container engine answers ({})", refusals.join("; ")))
}

/// Where an engine may listen: at the place that is asked for, else at the usual ones.
fn sockets(
    docker_host: Option<impl AsRef<OsStr>>,
    runtime_dir: Option<impl AsRef<OsStr>>,
) -> Result<Vec<PathBuf>, String> {
    if let Some(host) = docker_host.as_ref().map(|host| host.as_ref().to_string_lossy())
        && !host.is_empty()
    {
        return match host.strip_prefix("unix://") {
            Some(path) => Ok(vec![PathBuf::from(path)]),
            // Elsewhere the host's network is that of another machine.
            None => Err(format!("DOCKER_HOST is {host:?}, which is no unix:// address")),
        };
    }
    let own = runtime_dir.map(|dir| Path::new(dir.as_ref()).join("podman/podman.sock"));
    let usual = ["/var/run/docker.sock", "/run/podman/podman.sock"].map(PathBuf::from);
    Ok(usual.into_iter().chain(own).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_engine_that_is_asked_for_goes_before_the_usual_ones() {
        let one = vec![PathBuf::from("/x/docker.sock")];
        assert_eq!(sockets(Some("unix:///x/docker.sock"), Some("/run/user/1000")), Ok(one));
        assert!(sockets(Some("tcp://10.0.0.1:2375"), None::<&str>).is_err());
        let usual = sockets(None::<&str>, Some("/run/user/1000")).unwrap();
        assert_eq!(usual.first(), Some(&PathBuf::from("/var/run/docker.sock")));
        assert_eq!(usual.last(), Some(&PathBuf::from("/run/user/1000/podman/podman.sock")));
    }

    #[test]
    fn the_line_that_kills_it_fits_what_runs_it() {
        let process = Runtime::Command(String::new());
        assert_eq!(process.kill(Path::new(".demo")), "kill $(cat .demo/mcp.pid)");
        let docker = Runtime::Container(Engine::at("/var/run/docker.sock".into()));
        let line = docker.kill(Path::new(".demo"));
        assert!(
            line.starts_with("docker ") && line.ends_with(" kill probehost-demo-mcp"),
            "{line}"
        );
    }
}
