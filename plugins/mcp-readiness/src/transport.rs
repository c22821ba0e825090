//! How messages get to a server and back.

use probehost_sdk::{Problem, Reason, process};
use serde_json::{Map, Value};

use crate::rpc::{Message, RpcError};

/// Why a request has no result.
#[derive(Debug)]
pub(crate) enum Trouble {
    /// The server answered with an error.
    Rpc(RpcError),
    /// It did not answer, or not as an MCP server does.
    Problem(Problem),
}

impl From<Problem> for Trouble {
    fn from(problem: Problem) -> Self {
        Self::Problem(problem)
    }
}

impl From<process::Error> for Trouble {
    fn from(error: process::Error) -> Self {
        Self::Problem(error.into())
    }
}

/// A way to a server.
pub(crate) trait Transport {
    /// Who is talked to, for people.
    fn who(&self) -> &str;

    /// Sends a request and waits for its answer.
    fn ask(
        &mut self,
        id: u64,
        method: &str,
        params: Map<String, Value>,
    ) -> Result<Message, Trouble>;

    /// Sends a notification.
    fn tell(&mut self, method: &str) -> Result<(), Problem>;

    /// From now on this revision is spoken.
    fn speaks(&mut self, revision: &str);

    /// Says farewell. What is wrong with that is of no interest any more.
    fn end(&mut self);
}

/// A server that does not keep to the protocol.
pub(crate) fn odd(who: &str, method: &str, what: &str) -> Problem {
    Problem::failure(Reason::Answer, format!("{who} {what} to {method}"))
}
