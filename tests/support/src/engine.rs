//! The calls to a container engine that tests and the demo make, over its Unix socket.

use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::Value;

/// How long the engine may be silent, unless it is told otherwise.
const SILENCE: Duration = Duration::from_secs(60);

/// Why the engine did not do what it was asked for.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// Its socket could not be used: there is none, or it lets this user not in, or nobody answers.
    #[error("{}: {source}", socket.display())]
    Socket {
        /// The socket.
        socket: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// It answered that it can't, or what is no answer (with the status 0).
    #[error("the engine answered {status} to {what}: {message}")]
    Refused {
        /// What was asked.
        what: String,
        /// The HTTP status.
        status: u16,
        /// Its own words.
        message: String,
    },
}

/// A container engine, Docker or podman, by its socket.
#[derive(Debug, Clone)]
pub struct Engine {
    socket: PathBuf,
    silence: Duration,
}

impl Engine {
    /// The engine that listens on this socket.
    pub fn at(socket: PathBuf) -> Self {
        Self { socket, silence: SILENCE }
    }

    /// The same, given up when it is silent for this long.
    #[must_use]
    pub fn silent_for(mut self, silence: Duration) -> Self {
        self.silence = silence;
        self
    }

    /// Its socket.
    pub fn socket(&self) -> &Path {
        &self.socket
    }

    /// Asks for JSON, such as `/containers/web/json`.
    pub fn get(&self, path: &str) -> Result<Value, EngineError> {
        let text = self.ask("GET", path, "", b"")?;
        serde_json::from_str(&text).map_err(|error| self.failed(error.into()))
    }

    /// Asks for a change, such as `/containers/web/pause`.
    pub fn post(&self, path: &str, body: Option<&Value>) -> Result<String, EngineError> {
        let body = body.map(Value::to_string).unwrap_or_default();
        self.ask("POST", path, "application/json", body.as_bytes())
    }

    /// Removes something, such as `/containers/web?force=true`.
    pub fn delete(&self, path: &str) -> Result<(), EngineError> {
        self.ask("DELETE", path, "", b"").map(drop)
    }

    /// Makes an image of a file system.
    pub fn import(&self, repo: &str, tag: &str, tar: &[u8]) -> Result<(), EngineError> {
        let path = format!("/images/create?fromSrc=-&repo={repo}&tag={tag}");
        let said = self.ask("POST", &path, "application/x-tar", tar)?;
        // It has begun its answer before it knows, so a failure comes with the status 200.
        let failure = said.lines().find_map(|line| {
            let line: Value = serde_json::from_str(line).ok()?;
            Some(line.get("error")?.as_str()?.to_owned())
        });
        match failure {
            None => Ok(()),
            Some(message) => {
                Err(EngineError::Refused { what: format!("POST {path}"), status: 200, message })
            }
        }
    }

    fn ask(
        &self,
        method: &str,
        path: &str,
        content_type: &str,
        body: &[u8],
    ) -> Result<String, EngineError> {
        let answer = self.exchange(method, path, content_type, body);
        let answer = answer.map_err(|source| self.failed(source))?;
        let answer = String::from_utf8_lossy(&answer);
        let (head, body) = answer.split_once("\r\n\r\n").unwrap_or((&answer, ""));
        let status = head.split_whitespace().nth(1).and_then(|text| text.parse().ok());
        match status.unwrap_or(0) {
            200..=299 => Ok(body.to_owned()),
            status => {
                let what = format!("{method} {path}");
                Err(EngineError::Refused { what, status, message: message(body) })
            }
        }
    }

    fn exchange(
        &self,
        method: &str,
        path: &str,
        content_type: &str,
        body: &[u8],
    ) -> io::Result<Vec<u8>> {
        let mut stream = UnixStream::connect(&self.socket)?;
        stream.set_read_timeout(Some(self.silence))?;
        stream.set_write_timeout(Some(self.silence))?;
        // In this old version an answer ends with its connection, and comes in one piece.
        let length = body.len();
        let head = format!(
            "{method} {path} HTTP/1.0\r\nHost: docker\r\nContent-Type: {content_type}\r\n\
             Content-Length: {length}\r\n\r\n"
        );
        stream.write_all(head.as_bytes())?;
        stream.write_all(body)?;
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer)?;
        Ok(answer)
    }

    fn failed(&self, source: io::Error) -> EngineError {
        EngineError::Socket { socket: self.socket.clone(), source }
    }
}

/// What a refusal says: its `message` where it is JSON, else all of it.
fn message(body: &str) -> String {
    let parsed: Option<Value> = serde_json::from_str(body).ok();
    let text = parsed.as_ref().and_then(|value| value.get("message")?.as_str());
    text.unwrap_or(body).trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_is_told_in_the_engines_words() {
        assert_eq!(message("{\"message\":\"No such container: web\"}\n"), "No such container: web");
        assert_eq!(message("page not found\n"), "page not found");
    }
}
