//! Standard input and output of a program: one message on each line.

use probehost_sdk::process::{Child, start};
use probehost_sdk::{Problem, Reason};
use serde_json::{Map, Value};

use crate::rpc::{self, Message};
use crate::transport::{Transport, Trouble, odd};

/// Longest line of a server, in bytes.
const LINE_LIMIT: u32 = 4 << 20;

/// Most lines that come before an answer: notifications, mostly.
const MAX_LINES: usize = 1000;

/// A server that was started as a program.
#[derive(Debug)]
pub(crate) struct Stdio {
    who: String,
    child: Child,
}

impl Stdio {
    pub(crate) fn start(command: &str) -> Result<Self, Problem> {
        let child = start(command)?;
        Ok(Self { who: format!("the command {command}"), child })
    }

    fn send(&self, message: &Value) -> Result<(), Problem> {
        match self.child.write(format!("{message}\n").as_bytes()) {
            Err(error) if error.kind == probehost_sdk::process::ErrorKind::Ended => {
                Err(self.ended())
            }
            other => Ok(other?),
        }
    }

    /// The program has ended, or closed its output; what is known of that.
    fn ended(&self) -> Problem {
        let how = match self.child.wait() {
            Ok(exit) => format!("ended {exit} before it answered"),
            Err(error) => return error.into(),
        };
        Problem::failure(Reason::Stopped, format!("{} {how}", self.who))
    }
}

impl Transport for Stdio {
    fn who(&self) -> &str {
        &self.who
    }

    fn ask(
        &mut self,
        id: u64,
        method: &str,
        params: Map<String, Value>,
    ) -> Result<Message, Trouble> {
        self.send(&rpc::request(id, method, params))?;
        for _ in 0..MAX_LINES {
            let Some(line) = self.child.read_line(LINE_LIMIT)? else {
                return Err(self.ended().into());
            };
            let line = String::from_utf8_lossy(&line);
            if line.trim().is_empty() {
                continue;
            }
            match rpc::find(&line, id) {
                Ok(Message::Other) => {}
                Ok(found) => return Ok(found),
                Err(_) => {
                    let what = "wrote a line that is not JSON where it should have answered";
                    return Err(odd(&self.who, method, what).into());
                }
            }
        }
        let what = format!("wrote {MAX_LINES} lines, and none is the answer");
        Err(odd(&self.who, method, &what).into())
    }

    fn tell(&mut self, method: &str) -> Result<(), Problem> {
        self.send(&rpc::notification(method))
    }

    fn speaks(&mut self, _: &str) {}

    /// Closing its input ends a server; one that stays is killed when the run ends.
    fn end(&mut self) {
        self.child.close_input();
    }
}
