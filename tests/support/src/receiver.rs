//! Receivers of notifications on loopback: they speak Discord's, Slack's and a generic webhook's format, note what
//! they took, and refuse what those services would refuse.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::Value;

use crate::upstream::{Request, Response, Upstream};

/// A running receiver.
#[derive(Debug)]
pub struct Receiver {
    upstream: Upstream,
    path: &'static str,
    state: Arc<Mutex<State>>,
}

/// What came and what is answered.
#[derive(Debug, Default)]
struct State {
    taken: Vec<Taken>,
    refused: Vec<String>,
    attempts: usize,
    next: VecDeque<Response>,
    always: Option<Response>,
}

/// A message that was taken.
#[derive(Debug, Clone)]
pub struct Taken {
    /// The request.
    pub request: Request,
    /// Its body.
    pub body: Value,
}

impl Receiver {
    /// As Discord's webhooks do: one to ten embeds or a content, within its limits; answers 204.
    pub fn discord() -> Self {
        Self::start("/api/webhooks/1/hunter2-discord", judge_discord, || Response::new(204))
    }

    /// As Slack's incoming webhooks do: a text and blocks within its limits; answers `ok`.
    pub fn slack() -> Self {
        Self::start("/services/T/B/hunter2-slack", judge_slack, || Response::new(200).body("ok"))
    }

    /// Takes any JSON.
    pub fn webhook() -> Self {
        Self::start("/hooks/hunter2-webhook", |_| Ok(()), || Response::new(202))
    }

    fn start(
        path: &'static str,
        judge: fn(&Value) -> Result<(), String>,
        taken: fn() -> Response,
    ) -> Self {
        let state = Arc::new(Mutex::new(State::default()));
        let shared = Arc::clone(&state);
        let upstream = Upstream::http(move |request| {
            let mut state = lock(&shared);
            state.attempts += 1;
            if let Some(answer) = state.next.pop_front().or_else(|| state.always.clone()) {
                return answer;
            }
            match judged(path, request, judge) {
                Ok(body) => {
                    state.taken.push(Taken { request: request.clone(), body });
                    taken()
                }
                Err(why) => {
                    state.refused.push(why.clone());
                    Response::new(400).body(why)
                }
            }
        });
        Self { upstream, path, state }
    }

    /// Where it is, with the path that only those who may write there know.
    pub fn url(&self) -> String {
        format!("{}{}", self.upstream.url(), self.path)
    }

    /// Answers this to the next request, takes nothing of it.
    pub fn answer_once(&self, response: Response) {
        self.lock().next.push_back(response);
    }

    /// Answers this to every request from now on; none: takes what comes.
    pub fn answer(&self, response: Option<Response>) {
        self.lock().always = response;
    }

    /// What it took so far, in order.
    pub fn taken(&self) -> Vec<Taken> {
        self.lock().taken.clone()
    }

    /// Why it refused what it did.
    pub fn refused(&self) -> Vec<String> {
        self.lock().refused.clone()
    }

    /// How often it was asked.
    pub fn attempts(&self) -> usize {
        self.lock().attempts
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }
}

impl Taken {
    /// For a generic webhook: its idempotency key, its kind, and its target (empty for many).
    pub fn told(&self) -> (String, String, String) {
        let text = |key: &str| {
            let text = self.body.get(key).and_then(Value::as_str);
            text.unwrap_or_default().to_owned()
        };
        let key = self.request.header("idempotency-key").unwrap_or_default().to_owned();
        (key, text("kind"), text("target"))
    }
}

fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

fn judged(
    path: &str,
    request: &Request,
    judge: fn(&Value) -> Result<(), String>,
) -> Result<Value, String> {
    if request.method != "POST" || request.path != path {
        return Err(format!("{} {} is not answered here", request.method, request.path));
    }
    if request.header("content-type") != Some("application/json") {
        return Err("not JSON by its content type".to_owned());
    }
    let body = serde_json::from_slice(&request.body).map_err(|error| error.to_string())?;
    judge(&body)?;
    Ok(body)
}

/// The characters of a text, which may be missing.
fn length(value: &Value) -> Result<usize, String> {
    match value {
        Value::Null => Ok(0),
        Value::String(text) => Ok(text.chars().count()),
        other => Err(format!("{other} is no text")),
    }
}

fn within(what: &str, value: &Value, most: usize) -> Result<usize, String> {
    match length(value)? {
        length if length <= most => Ok(length),
        length => Err(format!("{what} has {length} characters of at most {most}")),
    }
}

fn judge_discord(body: &Value) -> Result<(), String> {
    let content = within("content", &body["content"], 2000)?;
    let embeds = body["embeds"].as_array().map(Vec::as_slice).unwrap_or_default();
    if embeds.len() > 10 || (embeds.is_empty() && content == 0) {
        return Err("an empty message, or more than ten embeds".to_owned());
    }
    for embed in embeds {
        within("title", &embed["title"], 256)?;
        within("description", &embed["description"], 4096)?;
        if embed["color"].as_u64().is_none_or(|color| color > 0xff_ffff) {
            return Err(format!("{} is no color", embed["color"]));
        }
    }
    Ok(())
}

fn judge_slack(body: &Value) -> Result<(), String> {
    if within("text", &body["text"], 40_000)? == 0 {
        return Err("no_text".to_owned());
    }
    for block in body["blocks"].as_array().map(Vec::as_slice).unwrap_or_default() {
        let length = within(
            "the text of a block",
            block.pointer("/text/text").unwrap_or(&Value::Null),
            3000,
        )?;
        if block["type"] != "section" || length == 0 {
            return Err("invalid_blocks".to_owned());
        }
    }
    Ok(())
}
