//! A program that runs: its input, its output, its end.

use std::io;
use std::os::unix::process::ExitStatusExt as _;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::process::{ChildStderr, ChildStdin, ChildStdout};
use tokio::time::error::Elapsed;
use tokio::time::timeout_at;

use super::MAX_OUTPUT_BYTES;
use super::error::Failure;
use super::group::{Group, Others};
use super::programs::Program;
use super::types::{Error, ErrorKind, Exit};
use crate::log::{Level, MAX_LINE_BYTES};
use crate::run::{ActiveCall, CallResult, Phase, Run};

/// Bytes that are read at once.
const CHUNK: usize = 8 << 10;

/// A program that was started. It is killed, with all that it has started itself and that has not
/// left its process group, when this is dropped.
#[derive(Debug)]
pub struct Child {
    run: Run,
    name: String,
    input: Option<ChildStdin>,
    output: Output,
    complaints: Complaints,
    group: Group,
}

/// Standard output, as far as it was read and not handed on.
#[derive(Debug)]
struct Output {
    stream: Option<ChildStdout>,
    waiting: Vec<u8>,
    /// All bytes that came.
    read: usize,
}

/// Standard error, which goes to the run's log line by line.
#[derive(Debug)]
struct Complaints {
    stream: Option<ChildStderr>,
    line: Vec<u8>,
}

impl Child {
    pub(super) fn new(run: Run, name: &str, program: Program) -> Self {
        let Program { group, input, output, complaints, secrets: _ } = program;
        Self {
            run,
            name: name.to_owned(),
            input,
            output: Output { stream: output, waiting: Vec::new(), read: 0 },
            complaints: Complaints { stream: complaints, line: Vec::new() },
            group,
        }
    }

    /// Writes all of it to the program's standard input, at most until the run's deadline.
    ///
    /// # Errors
    ///
    /// The program takes no more, or not in time; or it writes too much itself meanwhile.
    pub async fn write(&mut self, data: &[u8]) -> Result<(), Error> {
        let what = format!("write {} bytes to {}", data.len(), self.name);
        let run = self.run.clone();
        let call = begin(&run, &self.name, what, Phase::Input);
        finish(call, timeout_at(run.deadline(), self.write_all(data)).await)
    }

    /// The next line of its standard output, without the line feed; none when there is no more. At
    /// most until the run's deadline.
    ///
    /// # Errors
    ///
    /// The line is longer than `limit` bytes, the program has written too much in all, or there was
    /// no line in time.
    pub async fn read_line(&mut self, limit: u32) -> Result<Option<Vec<u8>>, Error> {
        let what = format!("read a line of {}", self.name);
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        let run = self.run.clone();
        let call = begin(&run, &self.name, what, Phase::Output);
        finish(call, timeout_at(run.deadline(), self.next_line(limit)).await)
    }

    /// The next bytes of its standard output, at least one and at most `limit`; none when there are
    /// no more. At most until the run's deadline.
    ///
    /// # Errors
    ///
    /// The program has written too much in all, or there was nothing in time.
    pub async fn read(&mut self, limit: u32) -> Result<Option<Vec<u8>>, Error> {
        let what = format!("read of {}", self.name);
        let limit = usize::try_from(limit).unwrap_or(usize::MAX).max(1);
        let run = self.run.clone();
        let call = begin(&run, &self.name, what, Phase::Output);
        finish(call, timeout_at(run.deadline(), self.next_bytes(limit)).await)
    }

    /// Closes the program's standard input.
    pub fn close_input(&mut self) {
        self.input = None;
    }

    /// Waits for the program's end, and ends what it has left behind. What it writes meanwhile is
    /// dropped. At most until the run's deadline.
    ///
    /// # Errors
    ///
    /// It did not end in time.
    pub async fn wait(&mut self) -> Result<Exit, Error> {
        let what = format!("wait for the end of {}", self.name);
        let run = self.run.clone();
        let call = begin(&run, &self.name, what, Phase::Exit);
        finish(call, timeout_at(run.deadline(), self.end()).await)
    }

    async fn write_all(&mut self, mut data: &[u8]) -> Result<(), Failure> {
        let Self { input, output, complaints, run, name, .. } = self;
        let gone = |name: &str| {
            let text = format_args!("the command {name} takes no more input: it has ended");
            Failure::new(ErrorKind::Ended, text)
        };
        let Some(stream) = input else { return Err(gone(name)) };
        while !data.is_empty() {
            // A program that waits until its own output is read would otherwise never read.
            tokio::select! {
                biased;
                written = stream.write(data) => match written {
                    Ok(0) => return Err(gone(name)),
                    Ok(count) => data = data.get(count..).unwrap_or_default(),
                    Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {
                        return Err(gone(name));
                    }
                    Err(error) => return Err(Failure::host(name, "be written to", &error)),
                },
                more = output.fill(name) => more?,
                () = complaints.pass_on(run, name) => {}
            }
        }
        Ok(())
    }

    async fn next_line(&mut self, limit: usize) -> Result<Option<Vec<u8>>, Failure> {
        let mut searched = 0;
        loop {
            let fresh = self.output.waiting.get(searched..).unwrap_or_default();
            if let Some(at) = fresh.iter().position(|byte| *byte == b'\n') {
                let end = searched + at;
                if end > limit {
                    return Err(self.too_long(limit));
                }
                let mut line: Vec<u8> = self.output.waiting.drain(..=end).collect();
                line.pop();
                return Ok(Some(line));
            }
            searched = self.output.waiting.len();
            if searched > limit {
                return Err(self.too_long(limit));
            }
            if self.output.stream.is_none() {
                let rest = std::mem::take(&mut self.output.waiting);
                return Ok((!rest.is_empty()).then_some(rest));
            }
            self.more().await?;
        }
    }

    async fn next_bytes(&mut self, limit: usize) -> Result<Option<Vec<u8>>, Failure> {
        while self.output.waiting.is_empty() {
            if self.output.stream.is_none() {
                return Ok(None);
            }
            self.more().await?;
        }
        let count = self.output.waiting.len().min(limit);
        Ok(Some(self.output.waiting.drain(..count).collect()))
    }

    /// Waits for more of its output; meanwhile what it complains of goes to the log.
    async fn more(&mut self) -> Result<(), Failure> {
        let Self { output, complaints, run, name, .. } = self;
        tokio::select! {
            biased;
            more = output.fill(name) => more,
            () = complaints.pass_on(run, name) => Ok(()),
        }
    }

    async fn end(&mut self) -> Result<Exit, Failure> {
        let Self { output, complaints, run, name, group, .. } = self;
        let mut end = std::pin::pin!(group.end(Others::Die));
        let status = loop {
            tokio::select! {
                biased;
                status = &mut end => break status,
                () = complaints.pass_on(run, name) => {}
                () = output.discard() => {}
            }
        };
        let status = status.map_err(|error| Failure::host(name, "be waited for", &error))?;
        Ok(Exit { code: status.code(), signal: status.signal() })
    }

    fn too_long(&self, limit: usize) -> Failure {
        let text = format_args!("the command {} wrote a line of over {limit} bytes", self.name);
        Failure::new(ErrorKind::TooLarge, text)
    }
}

/// Begins something that is noted in the run's trace.
fn begin<'r>(run: &'r Run, name: &str, what: String, phase: Phase) -> ActiveCall<'r> {
    let call = run.begin("process", what);
    call.begin_hop(format!("the command {name}"));
    call.enter(phase);
    call
}

/// Ends it with what came of it.
fn finish<T>(call: ActiveCall<'_>, done: Result<Result<T, Failure>, Elapsed>) -> Result<T, Error> {
    let done =
        done.unwrap_or_else(|_| Err(Failure::new(ErrorKind::Timeout, call.timeout_message())));
    match done {
        Ok(value) => {
            call.finish(CallResult::Ok);
            Ok(value)
        }
        Err(failure) => {
            call.finish(failure.result());
            Err(failure.into())
        }
    }
}

impl Output {
    /// Waits for more bytes, or for the end. Never returns when there is none.
    async fn fill(&mut self, name: &str) -> Result<(), Failure> {
        let Some(stream) = &mut self.stream else { return std::future::pending().await };
        let mut chunk = [0; CHUNK];
        match stream.read(&mut chunk).await {
            Ok(0) => self.stream = None,
            Ok(count) => {
                self.read += count;
                if self.read > MAX_OUTPUT_BYTES {
                    // Nothing more is read: it may wait, until it is killed, for its pipe to drain.
                    self.stream = None;
                    let mib = MAX_OUTPUT_BYTES >> 20;
                    let text = format_args!("the command {name} wrote more than {mib} MiB");
                    return Err(Failure::new(ErrorKind::TooLarge, text));
                }
                self.waiting.extend(chunk.iter().take(count));
            }
            Err(error) => return Err(Failure::host(name, "be read", &error)),
        }
        Ok(())
    }

    /// Reads and forgets. Never returns when there is nothing more.
    async fn discard(&mut self) {
        let Some(stream) = &mut self.stream else { return std::future::pending().await };
        let mut chunk = [0; CHUNK];
        if !stream.read(&mut chunk).await.is_ok_and(|count| count > 0) {
            self.stream = None;
        }
    }
}

impl Complaints {
    /// Waits for some, and writes the lines to the log. Never returns when there are no more.
    async fn pass_on(&mut self, run: &Run, name: &str) {
        let Some(stream) = &mut self.stream else { return std::future::pending().await };
        let mut chunk = [0; CHUNK];
        let count = stream.read(&mut chunk).await.unwrap_or(0);
        if count == 0 {
            self.stream = None;
        }
        for byte in chunk.iter().take(count) {
            match byte {
                b'\n' => self.write(run, name),
                // What is over is cut.
                byte if self.line.len() <= MAX_LINE_BYTES => self.line.push(*byte),
                _ => {}
            }
        }
        if self.stream.is_none() {
            self.write(run, name);
        }
    }

    fn write(&mut self, run: &Run, name: &str) {
        let line = std::mem::take(&mut self.line);
        let text = String::from_utf8_lossy(&line);
        let text = text.trim_end();
        if !text.is_empty() {
            run.log(Level::Debug, &format!("{name}: {text}"));
        }
    }
}
