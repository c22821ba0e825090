//! A real PostgreSQL server for tests, with a folder of its own.

use std::ffi::OsString;
use std::io::{self, BufRead, BufReader, Write};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};
use std::{env, fs, thread};

use rustix::process::{Pid, Signal, geteuid, kill_process};

use crate::certs::Identity;
use crate::installed;

/// The command that installs PostgreSQL, for the line about a skipped test.
pub const INSTALL: &str = "apt-get install -y --no-install-recommends postgresql";

/// Where Debian and others keep the programs of a server, by version.
const VERSIONS: &str = "/usr/lib/postgresql";

/// How long the server may take until it answers.
const START_LIMIT: Duration = Duration::from_secs(30);

/// Runs beside the test and ends the server when its input ends, however the test's process ended: a test may panic,
/// and the process may be killed. Each line of input is a port to start the server on; the answer is its process id.
const KEEPER: &str = r#"
bin=$1
dir=$(mktemp -d /tmp/postgres-test-XXXXXX) || exit 1
pid=
end() { [ -z "$pid" ] || { kill -CONT "$pid"; kill -QUIT "$pid"; wait "$pid"; } 2>/dev/null; rm -rf "$dir"; }
trap end EXIT
trap '' INT HUP TERM
"$bin/initdb" -D "$dir/data" -U probe -A trust --no-sync -E UTF8 --locale=C >"$dir/log" 2>&1 || { tail -3 "$dir/log" >&2; exit 1; }
printf 'host all guarded all scram-sha-256\n' | cat - "$dir/data/pg_hba.conf" >"$dir/hba"
mv "$dir/hba" "$dir/data/pg_hba.conf"
tls=off
if [ -n "$TLS_KEY" ]; then
  tls=on
  (umask 077; echo "$TLS_CERT" >"$dir/data/server.crt"; echo "$TLS_KEY" >"$dir/data/server.key")
fi
echo "$dir"
while read -r port; do
  [ -z "$pid" ] || wait "$pid" 2>/dev/null
  "$bin/postgres" -D "$dir/data" -p "$port" -k "$dir" -c listen_addresses=127.0.0.1 -c max_connections=200 \
    -c ssl=$tls -c fsync=off -c log_min_messages=warning </dev/null >>"$dir/log" 2>&1 &
  pid=$!
  echo "$pid"
done
"#;

/// Why the server did not start.
#[derive(Debug, thiserror::Error)]
pub enum PostgresError {
    /// It is not on this machine.
    #[error("PostgreSQL is not installed; install it with {INSTALL}")]
    Missing,
    /// The keeper could not be run or spoken to.
    #[error("could not run PostgreSQL: {0}")]
    Run(#[from] io::Error),
    /// It did not come up.
    #[error("PostgreSQL did not answer within {START_LIMIT:?}")]
    Silent,
}

/// A running server, which trusts every user on loopback but `guarded`, who needs a password. Dropping it, or the end of the process that started
/// it, stops it and removes its folder. A commit is not flushed to the disk: that outlives a killed server, and only
/// the machine's own end would lose it.
#[derive(Debug)]
pub struct Postgres {
    programs: PathBuf,
    port: u16,
    /// None before its first start.
    pid: Option<Pid>,
    keeper: Child,
    /// None once the keeper was told to end.
    orders: Option<ChildStdin>,
    answers: BufReader<ChildStdout>,
}

/// The folder with the server's programs: the newest version of the distribution's, else what the `PATH` has.
pub fn programs() -> Option<PathBuf> {
    let entries = fs::read_dir(VERSIONS).into_iter().flatten();
    let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let mut versions: Vec<u32> = names.filter_map(|name| name.parse().ok()).collect();
    versions.sort_unstable_by(|a, b| b.cmp(a));
    let packaged = versions
        .into_iter()
        .map(|version| Path::new(VERSIONS).join(version.to_string()).join("bin"));
    let on_path = installed::find("postgres").and_then(|file| file.parent().map(Path::to_owned));
    let complete = |bin: &PathBuf| {
        ["postgres", "initdb", "pg_isready"].iter().all(|program| bin.join(program).is_file())
    };
    packaged.chain(on_path).find(complete)
}

/// Says whether the calling test has to be skipped because PostgreSQL is not installed; see
/// [`installed::skip_unless_installed`].
pub fn skip_unless_installed() -> bool {
    installed::skip_unless_found(programs().as_deref(), "PostgreSQL", INSTALL)
}

impl Postgres {
    /// A fresh server on a free port, without TLS.
    pub fn start() -> Result<Self, PostgresError> {
        Self::start_with("", "")
    }

    /// The same with TLS, for those who ask for it.
    pub fn start_with_tls(identity: &Identity) -> Result<Self, PostgresError> {
        Self::start_with(&identity.cert_pem(), &identity.key_pem())
    }

    fn start_with(cert: &str, key: &str) -> Result<Self, PostgresError> {
        let programs = programs().ok_or(PostgresError::Missing)?;
        let mut command = keeper(&programs);
        command.env("TLS_CERT", cert).env("TLS_KEY", key);
        let mut keeper = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let (Some(orders), Some(answers)) = (keeper.stdin.take(), keeper.stdout.take()) else {
            return Err(io::Error::other("no pipes to the keeper").into());
        };
        let port = free_port()?;
        let answers = BufReader::new(answers);
        let mut server = Self { programs, port, pid: None, keeper, orders: Some(orders), answers };
        server.answer()?;
        server.up(true)?;
        Ok(server)
    }

    /// The URL of one of its databases, for its one user.
    pub fn url(&self, database: &str) -> String {
        format!("postgres://probe@127.0.0.1:{}/{database}", self.port)
    }

    /// Ends the server with SIGKILL, as a crash would.
    pub fn kill(&self) -> io::Result<()> {
        self.signal(Signal::KILL)
    }

    /// Lets the server's main process and each connection's process stand still: the connections stay, and nobody
    /// answers.
    pub fn freeze(&self) -> io::Result<()> {
        self.everybody(Signal::STOP)
    }

    /// Lets it go on.
    pub fn thaw(&self) -> io::Result<()> {
        self.everybody(Signal::CONT)
    }

    /// Starts it again after it was killed, on the same port and with the same data, and waits until it answers.
    pub fn restart(&mut self) -> Result<(), PostgresError> {
        self.up(false)
    }

    /// With `anew`, another port is taken when somebody else got the first.
    fn up(&mut self, anew: bool) -> Result<(), PostgresError> {
        let deadline = Instant::now() + START_LIMIT;
        self.order()?;
        while Instant::now() < deadline {
            if self.answers() {
                return Ok(());
            }
            // As long as a process of the server that was killed is still ending, a new one gives up at once.
            if fs::read_to_string(format!("/proc/{}/stat", self.pid()?))
                .is_ok_and(|stat| stat.contains(") Z "))
            {
                if anew {
                    self.port = free_port()?;
                }
                self.order()?;
            }
            thread::sleep(Duration::from_millis(20));
        }
        Err(PostgresError::Silent)
    }

    fn order(&mut self) -> Result<(), PostgresError> {
        let orders = self.orders.as_mut().ok_or(PostgresError::Silent)?;
        writeln!(orders, "{}", self.port)?;
        orders.flush()?;
        self.pid = self.answer()?.parse().ok().and_then(Pid::from_raw);
        Ok(())
    }

    fn answer(&mut self) -> io::Result<String> {
        let mut line = String::new();
        if self.answers.read_line(&mut line)? == 0 {
            return Err(io::Error::other(
                "the keeper of the server has ended; it said why on stderr",
            ));
        }
        Ok(line.trim().to_owned())
    }

    fn answers(&self) -> bool {
        Command::new(self.programs.join("pg_isready"))
            .args(["-q", "-h", "127.0.0.1", "-t", "1", "-p", &self.port.to_string()])
            .status()
            .is_ok_and(|status| status.success())
    }

    fn pid(&self) -> io::Result<Pid> {
        self.pid.ok_or_else(|| io::Error::other("the keeper gave no process id"))
    }

    fn signal(&self, signal: Signal) -> io::Result<()> {
        Ok(kill_process(self.pid()?, signal)?)
    }

    fn everybody(&self, signal: Signal) -> io::Result<()> {
        self.signal(signal)?;
        let main = self.pid()?;
        let children = fs::read_to_string(format!("/proc/{main}/task/{main}/children"))?;
        for pid in children.split_whitespace().filter_map(|pid| Pid::from_raw(pid.parse().ok()?)) {
            // One that has ended meanwhile needs no signal.
            let _ = kill_process(pid, signal);
        }
        Ok(())
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        // The end of its input is the keeper's order to stop the server.
        drop(self.orders.take());
        let _ = self.keeper.wait();
    }
}

fn free_port() -> io::Result<u16> {
    Ok(TcpListener::bind(("127.0.0.1", 0))?.local_addr()?.port())
}

/// The server refuses to run as root: then it runs as the user that its package has made.
fn keeper(programs: &Path) -> Command {
    let shell: [OsString; 5] =
        ["sh".into(), "-c".into(), KEEPER.into(), "keeper".into(), programs.into()];
    let mut command = if geteuid().is_root() {
        let mut command = Command::new("setpriv");
        command.args(["--reuid=postgres", "--regid=postgres", "--init-groups"]).args(shell);
        command
    } else {
        let mut command = Command::new("sh");
        command.args(shell.iter().skip(1));
        command
    };
    // Nothing of the test's own environment decides how the server is.
    command
        .env_clear()
        .env("PATH", env::var_os("PATH").unwrap_or_default())
        .env("LANG", "C.UTF-8")
        .current_dir("/");
    command
}
