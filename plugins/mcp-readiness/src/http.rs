//! Streamable HTTP: each message is a POST, answered with JSON or with a stream of events.

use probehost_sdk::http::{Body, Error, Request, Response};
use probehost_sdk::{Headers, Problem, Reason, Url, log};
use serde_json::{Map, Value};

use crate::rpc::{self, Message};
use crate::sse::Events;
use crate::transport::{Transport, Trouble, odd};

/// Most bytes of one answer, all events of a stream together.
const BODY_LIMIT: u32 = 4 << 20;

/// Bytes that are read at once.
const PIECE: u32 = 64 << 10;

/// Redirects that are followed, each of which must be granted: servers send `/mcp/` to `/mcp`.
const REDIRECTS: u8 = 2;

/// Longest session id that is sent back, in bytes.
const MAX_SESSION: usize = 1024;

/// A server at a URL.
#[derive(Debug)]
pub(crate) struct Http<'c> {
    url: String,
    who: String,
    headers: &'c Headers,
    session: Option<String>,
    revision: Option<String>,
    /// What the first answer measured, to be reported once.
    pub(crate) first: Option<Response>,
}

impl<'c> Http<'c> {
    pub(crate) fn new(url: &Url, headers: &'c Headers) -> Self {
        Self {
            url: url.as_str().to_owned(),
            who: url.origin().authority(),
            headers,
            session: None,
            revision: None,
            first: None,
        }
    }

    fn with_headers(&self, request: Request) -> Request {
        let mut request = request.headers(self.headers.iter());
        if let Some(session) = &self.session {
            request = request.header("Mcp-Session-Id", session);
        }
        if let Some(revision) = &self.revision {
            request = request.header("MCP-Protocol-Version", revision);
        }
        request
    }

    fn post(
        &mut self,
        method: &str,
        name: Option<&str>,
        message: &Value,
    ) -> Result<(Response, Body), Problem> {
        let request = Request::post(&self.url, message.to_string())
            .header("Content-Type", "application/json")
            .header("Accept", "application/json, text/event-stream")
            .redirects(REDIRECTS)
            .body_limit(BODY_LIMIT);
        let mut request = self.with_headers(request);
        if self.revision.as_deref() == Some(crate::session::STATELESS) {
            request = request.header("Mcp-Method", method);
            if let Some(name) = name {
                request = request.header("Mcp-Name", name);
            }
        }
        let (answer, body) = request.open()?;
        if answer.url != self.url {
            self.url.clone_from(&answer.url);
        }
        if self.first.is_none() {
            self.first = Some(answer.clone());
        }
        Ok((answer, body))
    }

    /// What a status says by itself; none: look at the body.
    fn refusal(&self, method: &str, answer: &Response) -> Option<Problem> {
        let who = &self.who;
        let line = answer.status_line();
        let (reason, hint) = match answer.status {
            401 | 403 => (Reason::Auth, ""),
            404 if self.session.is_some() => (Reason::Answer, "; it has forgotten the session"),
            404 | 405 => (Reason::Answer, "; is the path right?"),
            200..=299 => return None,
            _ => (Reason::Answer, ""),
        };
        Some(Problem::failure(reason, format!("{who} answered {line} to {method}{hint}")))
    }
}

impl Transport for Http<'_> {
    fn who(&self) -> &str {
        &self.who
    }

    fn ask(
        &mut self,
        id: u64,
        method: &str,
        params: Map<String, Value>,
    ) -> Result<Message, Trouble> {
        let name = params.get("name").and_then(Value::as_str).map(str::to_owned);
        let message = rpc::request(id, method, params);
        let (answer, body) = self.post(method, name.as_deref(), &message)?;
        if method == "initialize"
            && let Some(session) = answer.header("mcp-session-id")
            && session.len() <= MAX_SESSION
        {
            self.session = Some(session.to_owned());
        }
        let refusal = self.refusal(method, &answer);
        if let Some(Problem::Failure(failure)) = &refusal
            && failure.reason == Reason::Auth
        {
            return Err(Problem::Failure(failure.clone()).into());
        }
        let kind = answer.header("content-type").unwrap_or_default().to_ascii_lowercase();
        let found = if kind.starts_with("text/event-stream") {
            among_events(&body, id)
        } else {
            whole(&body).map(|text| rpc::find(&text, id).map_err(|_| NoJson))
        };
        match (found, refusal) {
            // An error comes with a bad status too, and says more than that.
            (Ok(Ok(found @ Message::Error(_))), _) => Ok(found),
            (_, Some(refusal)) => Err(refusal.into()),
            (Ok(Ok(Message::Other)), None) => Err(odd(&self.who, method, "sent no answer").into()),
            (Ok(Ok(found)), None) => Ok(found),
            (Ok(Err(NoJson)), None) => {
                Err(odd(&self.who, method, "answered with what is not JSON").into())
            }
            (Err(error), None) => Err(Problem::from(error).into()),
        }
    }

    fn tell(&mut self, method: &str) -> Result<(), Problem> {
        let (answer, _unread) = self.post(method, None, &rpc::notification(method))?;
        self.refusal(method, &answer).map_or(Ok(()), Err)
    }

    fn speaks(&mut self, revision: &str) {
        self.revision = Some(revision.to_owned());
    }

    fn end(&mut self) {
        if self.session.is_none() {
            return;
        }
        let request = self.with_headers(Request::new("DELETE", &self.url).body_limit(0));
        match request.send() {
            // 405: the server does not let clients end sessions.
            Ok(answer) if answer.status < 400 || answer.status == 405 => {}
            Ok(answer) => {
                let line = answer.status_line();
                log::warn(&format!("{} answered {line} to the end of the session", self.who));
            }
            Err(error) => log::warn(&format!("the session was not ended: {error}")),
        }
    }
}

/// What was to be a message is none.
#[derive(Debug)]
struct NoJson;

/// The answer to `id` among events, which are read until it is there: a server may keep the stream
/// open, and send other messages before, or instead.
fn among_events(body: &Body, id: u64) -> Result<Result<Message, NoJson>, Error> {
    let mut events = Events::default();
    while let Some(piece) = body.read(PIECE)? {
        let found = first_answer(events.push(&piece), id);
        if !matches!(found, Ok(Message::Other)) {
            return Ok(found);
        }
    }
    Ok(first_answer(events.finish(), id))
}

fn first_answer(events: impl IntoIterator<Item = String>, id: u64) -> Result<Message, NoJson> {
    for event in events {
        match rpc::find(&event, id) {
            Ok(Message::Other) => {}
            found => return found.map_err(|_| NoJson),
        }
    }
    Ok(Message::Other)
}

fn whole(body: &Body) -> Result<String, Error> {
    let mut bytes = Vec::new();
    while let Some(piece) = body.read(PIECE)? {
        bytes.extend(piece);
    }
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}
