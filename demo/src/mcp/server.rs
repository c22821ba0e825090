//! The MCP server itself: sessions, three tools, and JSON answers.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use probehost_test_support::upstream::{Request, Response};
use serde_json::{Value, json};

/// Where it answers.
pub(crate) const PATH: &str = "/mcp";

/// The revisions of the protocol that it speaks, the newest first.
const REVISIONS: [&str; 3] = ["2025-11-25", "2025-06-18", "2025-03-26"];

/// With more open sessions than this the oldest one ends.
const MOST_SESSIONS: usize = 1000;

/// The header that names a session.
const SESSION: &str = "mcp-session-id";

/// One server with its open sessions.
#[derive(Debug)]
pub(crate) struct Server {
    started: Instant,
    sessions: Mutex<Sessions>,
}

#[derive(Debug, Default)]
struct Sessions {
    last: u64,
    open: BTreeSet<u64>,
}

/// A JSON-RPC error: its code and its message.
type Fault = (i32, String);

impl Default for Server {
    fn default() -> Self {
        Self { started: Instant::now(), sessions: Mutex::default() }
    }
}

impl Server {
    /// What it answers to one HTTP request.
    pub(crate) fn answer(&self, request: &Request) -> Response {
        if request.path != PATH {
            return Response::new(404);
        }
        // A web page that somebody looks at has no business here.
        if request.header("origin").is_some_and(|origin| !is_local(origin)) {
            return Response::new(403);
        }
        match request.method.as_str() {
            "POST" => self.post(request),
            "DELETE" => {
                let ended = session(request).is_some_and(|id| self.sessions().open.remove(&id));
                Response::new(if ended { 200 } else { 404 })
            }
            _ => Response::new(405).header("allow", "POST, DELETE"),
        }
    }

    fn post(&self, request: &Request) -> Response {
        let Ok(message) = serde_json::from_slice::<Value>(&request.body) else {
            return reply(400, &Value::Null, Err((-32700, "the body is no JSON".to_owned())));
        };
        let (id, method) = (message.get("id"), message.get("method").and_then(Value::as_str));
        let Some(method) = method else {
            let fault = (-32600, "the body is no request".to_owned());
            return reply(400, id.unwrap_or(&Value::Null), Err(fault));
        };
        let params = message.get("params").unwrap_or(&Value::Null);
        if method == "initialize" {
            let session = self.sessions().begin().to_string();
            return reply(200, id.unwrap_or(&Value::Null), Ok(initialized(params)))
                .header(SESSION, &session);
        }
        if !session(request).is_some_and(|id| self.sessions().open.contains(&id)) {
            let status = if request.header(SESSION).is_some() { 404 } else { 400 };
            let fault = (-32600, "no such session; begin with initialize".to_owned());
            return reply(status, id.unwrap_or(&Value::Null), Err(fault));
        }
        match id {
            // A notification: there is nothing to say.
            None => Response::new(202),
            Some(id) => reply(200, id, self.result(method, params)),
        }
    }

    fn result(&self, method: &str, params: &Value) -> Result<Value, Fault> {
        match method {
            "ping" => Ok(json!({})),
            "tools/list" => Ok(json!({ "tools": tools() })),
            "tools/call" => self.call(params),
            _ => Err((-32601, format!("there is no method {method:?}"))),
        }
    }

    fn call(&self, params: &Value) -> Result<Value, Fault> {
        let argument = |name: &str| params.get("arguments").and_then(|all| all.get(name));
        let number = |name: &str| argument(name).and_then(Value::as_f64);
        let text = match params.get("name").and_then(Value::as_str).unwrap_or_default() {
            "echo" => argument("text").and_then(Value::as_str).map(str::to_owned),
            "add" => number("a").zip(number("b")).map(|(a, b)| (a + b).to_string()),
            "uptime" => Some(format!("{} s", self.started.elapsed().as_secs())),
            name => return Err((-32602, format!("there is no tool {name:?}"))),
        };
        let is_error = text.is_none();
        let text = text.unwrap_or_else(|| "its arguments are missing, or of a wrong type".into());
        Ok(json!({ "content": [{ "type": "text", "text": text }], "isError": is_error }))
    }

    fn sessions(&self) -> std::sync::MutexGuard<'_, Sessions> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Sessions {
    fn begin(&mut self) -> u64 {
        self.last += 1;
        self.open.insert(self.last);
        if self.open.len() > MOST_SESSIONS {
            self.open.pop_first();
        }
        self.last
    }
}

/// The session that a request names.
fn session(request: &Request) -> Option<u64> {
    request.header(SESSION)?.parse().ok()
}

fn is_local(origin: &str) -> bool {
    let host = origin.strip_prefix("http://").unwrap_or(origin);
    ["127.0.0.1", "localhost"].contains(&host.split_once(':').map_or(host, |(host, _)| host))
}

fn initialized(params: &Value) -> Value {
    let [newest, ..] = REVISIONS;
    let asked = params.get("protocolVersion").and_then(Value::as_str).unwrap_or(newest);
    json!({
        "protocolVersion": if REVISIONS.contains(&asked) { asked } else { newest },
        "capabilities": { "tools": {} },
        "serverInfo": { "name": "demo-mcp", "version": env!("CARGO_PKG_VERSION") },
    })
}

fn tools() -> Value {
    let tool = |name: &str, description: &str, kind: &str, arguments: &[&str]| {
        let properties: serde_json::Map<_, _> = arguments
            .iter()
            .map(|argument| ((*argument).to_owned(), json!({ "type": kind })))
            .collect();
        json!({
            "name": name,
            "description": description,
            "inputSchema": { "type": "object", "properties": properties, "required": arguments },
        })
    };
    json!([
        tool("echo", "Says what it is told.", "string", &["text"]),
        tool("add", "Adds two numbers.", "number", &["a", "b"]),
        tool("uptime", "For how many seconds the server runs.", "string", &[]),
    ])
}

fn reply(status: u16, id: &Value, result: Result<Value, Fault>) -> Response {
    let body = match result {
        Ok(result) => json!({ "jsonrpc": "2.0", "id": id, "result": result }),
        Err((code, message)) => {
            json!({ "jsonrpc": "2.0", "id": id, "error": { "code": code, "message": message } })
        }
    };
    Response::new(status).header("content-type", "application/json").body(body.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(method: &str, headers: &[(&str, &str)], body: &str) -> Request {
        Request {
            method: method.to_owned(),
            path: PATH.to_owned(),
            version: "HTTP/1.1".to_owned(),
            headers: headers.iter().map(|(n, v)| ((*n).to_owned(), (*v).to_owned())).collect(),
            body: body.as_bytes().to_vec(),
            connection: 0,
        }
    }

    const INITIALIZE: &str = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}"#;

    #[test]
    fn a_tool_that_is_not_there_and_wrong_arguments_are_told_apart() {
        let server = Server::default();
        let call = |name: &str, arguments: Value| {
            server.result("tools/call", &json!({ "name": name, "arguments": arguments }))
        };
        let text = |result: Result<Value, Fault>| result.unwrap()["content"][0]["text"].clone();
        assert_eq!(text(call("echo", json!({ "text": "hello" }))), "hello");
        assert_eq!(text(call("add", json!({ "a": 1, "b": 2.5 }))), "3.5");
        assert_eq!(call("add", json!({ "a": 1 })).unwrap()["isError"], true);
        assert_eq!(call("sing", json!({})).unwrap_err().0, -32602);
        assert_eq!(server.result("resources/list", &Value::Null).unwrap_err().0, -32601);
    }

    #[test]
    fn a_session_begins_and_ends() {
        let server = Server::default();
        let list = r#"{"jsonrpc":"2.0","id":2,"method":"tools/list"}"#;
        let status = |method: &str, headers: &[(&str, &str)], body: &str| {
            server.answer(&request(method, headers, body)).status()
        };
        assert_eq!(status("POST", &[], list), 400);
        assert_eq!(status("POST", &[], INITIALIZE), 200);
        assert_eq!(status("POST", &[(SESSION, "1")], list), 200);
        let notification = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
        assert_eq!(status("POST", &[(SESSION, "1")], notification), 202);
        assert_eq!(status("DELETE", &[(SESSION, "1")], ""), 200);
        assert_eq!(status("POST", &[(SESSION, "1")], list), 404);
        assert_eq!(status("GET", &[], ""), 405);
        assert_eq!(status("POST", &[], "no JSON"), 400);
        assert_eq!(status("POST", &[("origin", "https://example.com")], INITIALIZE), 403);
        assert_eq!(status("POST", &[("origin", "http://localhost:8080")], INITIALIZE), 200);
    }

    #[test]
    fn a_revision_that_it_does_not_speak_is_answered_with_one_that_it_does() {
        let version = |asked: &str| {
            initialized(&json!({ "protocolVersion": asked }))["protocolVersion"].clone()
        };
        assert_eq!(version("2025-06-18"), "2025-06-18");
        assert_eq!(version("1999-01-01"), "2025-11-25");
    }
}
