//! A child process that is watched, and that never outlives its guard.

use std::ffi::OsString;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

/// How long to rest between two looks at whether the process has ended.
const PAUSE: Duration = Duration::from_millis(5);

/// How long the last of its output may take to arrive once it has ended.
const DRAIN_LIMIT: Duration = Duration::from_secs(2);

/// What went wrong with a child process. The texts carry its output, as nothing else tells why.
#[derive(Debug, thiserror::Error)]
pub enum ProcessError {
    /// It could not be started.
    #[error("could not start {program}: {source}")]
    Start {
        /// The program's path.
        program: String,
        /// What the system said.
        source: io::Error,
    },
    /// It ended before it printed what was waited for.
    #[error(
        "{program} ended ({status}) before it printed what was waited for; its output was:\n{output}"
    )]
    Ended {
        /// The program's path.
        program: String,
        /// How it ended.
        status: String,
        /// What it printed on both streams.
        output: String,
    },
    /// It did not print what was waited for in time.
    #[error(
        "{program} did not print what was waited for within {limit:?}; its output was:\n{output}"
    )]
    Silent {
        /// The program's path.
        program: String,
        /// How long was waited.
        limit: Duration,
        /// What it printed on both streams.
        output: String,
    },
    /// It is still running.
    #[error("{program} was still running after {limit:?}; its output was:\n{output}")]
    Running {
        /// The program's path.
        program: String,
        /// How long was waited.
        limit: Duration,
        /// What it printed on both streams.
        output: String,
    },
    /// The system refused to signal it or to wait for it.
    #[error("could not signal or await {program}: {source}")]
    System {
        /// The program's path.
        program: String,
        /// What the system said.
        source: io::Error,
    },
}

/// A running child with its output. Dropping it kills it and waits for its end.
///
/// It stays in the process group of its parent, so that Ctrl-C, and a test runner that ends a whole group, reach it
/// even where no destructor runs.
#[derive(Debug)]
pub struct Process {
    program: String,
    child: Child,
    output: Arc<Output>,
    /// Whether the end of its output has been waited for.
    drained: bool,
}

/// Both output streams, line by line, as they come.
#[derive(Debug, Default)]
struct Output {
    lines: Mutex<Lines>,
    news: Condvar,
}

#[derive(Debug, Default)]
struct Lines {
    stdout: Vec<String>,
    /// Both streams in the order of arrival.
    all: Vec<String>,
    ended_streams: usize,
}

impl Process {
    /// Starts a program with nothing to read and its output captured.
    pub fn start(command: &mut Command) -> Result<Self, ProcessError> {
        let program = Path::new(command.get_program()).display().to_string();
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command
            .spawn()
            .map_err(|source| ProcessError::Start { program: program.clone(), source })?;
        let output = Arc::new(Output::default());
        let stdout = child.stdout.take().map(|pipe| capture(pipe, &output, true));
        let stderr = child.stderr.take().map(|pipe| capture(pipe, &output, false));
        let process = Self { program, child, output, drained: false };
        // The threads end with the streams, which a grandchild may hold open: nobody joins them.
        match (stdout.transpose(), stderr.transpose()) {
            (Ok(_), Ok(_)) => Ok(process),
            (Err(source), _) | (_, Err(source)) => Err(process.system(source)),
        }
    }

    /// Starts a program with these arguments.
    pub fn run(
        program: &Path,
        args: impl IntoIterator<Item = OsString>,
    ) -> Result<Self, ProcessError> {
        Self::start(Command::new(program).args(args))
    }

    /// The process id.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// What it printed on standard output so far.
    pub fn stdout(&self) -> String {
        joined(&self.output.lock().stdout)
    }

    /// What it printed on both streams so far, in the order of arrival.
    pub fn output(&self) -> String {
        joined(&self.output.lock().all)
    }

    /// Waits until `find` makes something of a line of either stream, beginning with the first line.
    pub fn wait_for_line<T>(
        &mut self,
        limit: Duration,
        find: impl Fn(&str) -> Option<T>,
    ) -> Result<T, ProcessError> {
        let deadline = Instant::now() + limit;
        let output = Arc::clone(&self.output);
        let mut seen = 0;
        let mut lines = output.lock();
        loop {
            if let Some(found) = lines.all.iter().skip(seen).find_map(|line| find(line)) {
                return Ok(found);
            }
            seen = lines.all.len();
            if lines.ended_streams == 2 {
                drop(lines);
                let left = deadline.saturating_duration_since(Instant::now());
                let status = self.wait(left)?.to_string();
                return Err(ProcessError::Ended {
                    program: self.program.clone(),
                    status,
                    output: self.output(),
                });
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                let output = joined(&lines.all);
                return Err(ProcessError::Silent { program: self.program.clone(), limit, output });
            }
            lines = output.news.wait_timeout(lines, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Asks it to end (SIGTERM). Does nothing when it has ended already.
    pub fn terminate(&mut self) -> Result<(), ProcessError> {
        self.signal(Signal::TERM)
    }

    /// Interrupts it as Ctrl-C does (SIGINT).
    pub fn interrupt(&mut self) -> Result<(), ProcessError> {
        self.signal(Signal::INT)
    }

    /// Kills it (SIGKILL), without a chance to clean up, and waits for its end.
    pub fn kill(&mut self) -> Result<ExitStatus, ProcessError> {
        let killed = self.child.kill().and_then(|()| self.child.wait());
        killed.map_err(|source| self.system(source))
    }

    /// Waits for its end.
    pub fn wait(&mut self, limit: Duration) -> Result<ExitStatus, ProcessError> {
        let deadline = Instant::now() + limit;
        loop {
            if let Some(status) = self.status()? {
                return Ok(status);
            }
            if Instant::now() >= deadline {
                let output = self.output();
                return Err(ProcessError::Running { program: self.program.clone(), limit, output });
            }
            thread::sleep(PAUSE);
        }
    }

    /// How it ended; `None` while it runs. Once it has ended, its output is whole, unless a child
    /// of its own holds the streams open.
    pub fn status(&mut self) -> Result<Option<ExitStatus>, ProcessError> {
        let status = self.child.try_wait().map_err(|source| self.system(source))?;
        if status.is_some() && !self.drained {
            self.output.wait_for_end(DRAIN_LIMIT);
            self.drained = true;
        }
        Ok(status)
    }

    /// Signals the child. Its id is its own until it is waited for, so this never meets another process.
    fn signal(&mut self, signal: Signal) -> Result<(), ProcessError> {
        if self.status()?.is_some() {
            return Ok(());
        }
        let id = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw);
        match id {
            Some(id) => kill_process(id, signal).map_err(|errno| self.system(errno.into())),
            None => Err(self.system(io::Error::other("its process id is out of range"))),
        }
    }

    fn system(&self, source: io::Error) -> ProcessError {
        ProcessError::System { program: self.program.clone(), source }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // Both fail only where it is dead and reaped already.
        let _ended = self.child.kill();
        let _reaped = self.child.wait();
    }
}

impl Output {
    fn lock(&self) -> std::sync::MutexGuard<'_, Lines> {
        self.lines.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until both streams are read to their end.
    fn wait_for_end(&self, limit: Duration) {
        let open = |lines: &mut Lines| lines.ended_streams < 2;
        let ended = self.news.wait_timeout_while(self.lock(), limit, open);
        drop(ended.unwrap_or_else(PoisonError::into_inner));
    }
}

fn joined(lines: &[String]) -> String {
    lines.iter().flat_map(|line| [line.as_str(), "\n"]).collect()
}

/// Reads one stream to its end on a thread.
fn capture(
    pipe: impl Read + Send + 'static,
    output: &Arc<Output>,
    is_stdout: bool,
) -> io::Result<thread::JoinHandle<()>> {
    let output = Arc::clone(output);
    thread::Builder::new().name("child output".to_owned()).spawn(move || {
        let mut reader = BufReader::new(pipe);
        let mut bytes = Vec::new();
        while reader.read_until(b'\n', &mut bytes).is_ok_and(|length| length > 0) {
            let line = String::from_utf8_lossy(&bytes).trim_end_matches(['\r', '\n']).to_owned();
            bytes.clear();
            let mut lines = output.lock();
            if is_stdout {
                lines.stdout.push(line.clone());
            }
            lines.all.push(line);
            output.news.notify_all();
        }
        output.lock().ended_streams += 1;
        output.news.notify_all();
    })
}
