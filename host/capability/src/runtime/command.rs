//! A restart by a command of the operator.

use std::os::unix::process::ExitStatusExt as _;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use probehost_model::sanitize;
use tokio::io::{AsyncRead, AsyncReadExt as _};
use tokio::time::{Instant, timeout, timeout_at};

use super::RestartError;
use super::error::{End, Said};
use super::output::{LastLine, mask};
use crate::process::error::Failure;
use crate::process::group::Others;
use crate::process::programs::{Program, Programs};

/// Bytes that are read at once.
const CHUNK: usize = 8 << 10;

/// How long the output of a command that has failed is waited for. What it left running may hold it
/// open for ever.
const LINGER: Duration = Duration::from_millis(250);

pub(super) async fn run(
    programs: &Programs,
    name: &str,
    limit: Duration,
) -> Result<(), RestartError> {
    let deadline = Instant::now() + limit;
    let mut program = programs.start(name, Stdio::null())?;
    let mut lines = Lines::default();
    let end = timeout_at(deadline, lines.until_end(&mut program)).await;
    let status = match end {
        Ok(status) => status.map_err(|error| Failure::host(name, "be waited for", &error))?,
        Err(_) => {
            let (name, said) = (name.to_owned(), lines.said(&program));
            return Err(RestartError::Timeout { name, limit, said });
        }
    };
    if status.success() {
        return Ok(());
    }
    let _cut = timeout(LINGER, lines.rest(&mut program)).await;
    let said = lines.said(&program);
    Err(RestartError::Failed { name: name.to_owned(), end: end_of(status), said })
}

fn end_of(status: ExitStatus) -> End {
    match (status.code(), status.signal()) {
        (Some(code), _) => End::Code(code),
        (None, signal) => End::Signal(signal.unwrap_or(0)),
    }
}

/// The last lines of both outputs.
#[derive(Debug, Default)]
struct Lines {
    output: LastLine,
    complaints: LastLine,
}

impl Lines {
    /// Reads what it writes, so that it is never held up by that, until it ends.
    async fn until_end(&mut self, program: &mut Program) -> std::io::Result<ExitStatus> {
        let Program { group, output, complaints, .. } = program;
        let mut end = std::pin::pin!(group.end(Others::Live));
        loop {
            tokio::select! {
                biased;
                status = &mut end => return status,
                () = read(complaints, &mut self.complaints) => {}
                () = read(output, &mut self.output) => {}
            }
        }
    }

    /// Reads what is left of it.
    async fn rest(&mut self, program: &mut Program) {
        while program.output.is_some() || program.complaints.is_some() {
            tokio::select! {
                () = read(&mut program.complaints, &mut self.complaints) => {}
                () = read(&mut program.output, &mut self.output) => {}
            }
        }
    }

    fn said(&self, program: &Program) -> Said {
        let line = self.complaints.get().or_else(|| self.output.get());
        Said(line.map(|line| sanitize(&mask(line, &program.secrets))).unwrap_or_default())
    }
}

/// Waits for more of it, or for its end. Never returns when there is none.
async fn read(stream: &mut Option<impl AsyncRead + Unpin>, line: &mut LastLine) {
    let Some(open) = stream else { return std::future::pending().await };
    let mut chunk = [0; CHUNK];
    match open.read(&mut chunk).await {
        Ok(count) if count > 0 => line.push(chunk.get(..count).unwrap_or_default()),
        _ => *stream = None,
    }
}
