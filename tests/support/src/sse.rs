//! A client of an event stream, as a browser's `EventSource` reads it.

use std::time::Duration;

use serde_json::Value;
use tokio::time::{Instant, timeout_at};

/// What went wrong with a stream.
#[derive(Debug, thiserror::Error)]
pub enum StreamError {
    /// It could not be opened, or broke off.
    #[error("the event stream {url}: {source}")]
    Call {
        /// The full URL.
        url: String,
        /// What went wrong.
        source: reqwest::Error,
    },
    /// It was refused.
    #[error("the event stream {url} was answered with {status}: {text}")]
    Refused {
        /// The full URL.
        url: String,
        /// The answer's status.
        status: u16,
        /// The whole body.
        text: String,
    },
    /// It ended.
    #[error("the event stream {0} ended")]
    Ended(String),
    /// No event came in time.
    #[error("no event came on {url} within {limit:?}")]
    Silent {
        /// The full URL.
        url: String,
        /// How long it was waited for.
        limit: Duration,
    },
    /// An event's data is no JSON.
    #[error("an event on {0} has data that is no JSON: {1:?}")]
    Json(String, String),
}

/// One event.
#[derive(Debug, Clone, PartialEq)]
pub struct ServerEvent {
    /// Its name; `message` where it has none.
    pub event: String,
    /// Its data.
    pub data: Value,
}

/// An open stream.
#[derive(Debug)]
pub struct EventStream {
    url: String,
    response: reqwest::Response,
    buffer: Vec<u8>,
    /// The id that a client comes back with.
    pub last_id: Option<String>,
}

impl EventStream {
    /// Opens the stream at `url`, from after the event of that id where one is given.
    pub async fn open(url: &str, last_id: Option<&str>) -> Result<Self, StreamError> {
        let call = |source| StreamError::Call { url: url.to_owned(), source };
        let mut request = crate::http::builder().build().map_err(call)?.get(url);
        if let Some(id) = last_id {
            request = request.header("last-event-id", id);
        }
        let response = request.send().await.map_err(call)?;
        if response.status() != 200 {
            let status = response.status().as_u16();
            let text = response.text().await.map_err(call)?;
            return Err(StreamError::Refused { url: url.to_owned(), status, text });
        }
        let last_id = last_id.map(str::to_owned);
        Ok(Self { url: url.to_owned(), response, buffer: Vec::new(), last_id })
    }

    /// The next event, within `limit`.
    pub async fn next(&mut self, limit: Duration) -> Result<ServerEvent, StreamError> {
        let deadline = Instant::now() + limit;
        loop {
            while let Some(block) = self.block() {
                if let Some(event) = self.read(&block)? {
                    return Ok(event);
                }
            }
            let chunk = timeout_at(deadline, self.response.chunk()).await;
            let silent = |_| StreamError::Silent { url: self.url.clone(), limit };
            let call = |source| StreamError::Call { url: self.url.clone(), source };
            match chunk.map_err(silent)?.map_err(call)? {
                Some(bytes) => self.buffer.extend_from_slice(&bytes),
                None => return Err(StreamError::Ended(self.url.clone())),
            }
        }
    }

    /// What stands before the next empty line.
    fn block(&mut self) -> Option<String> {
        let end = self.buffer.windows(2).position(|pair| pair == b"\n\n")?;
        let block: Vec<u8> = self.buffer.drain(..end + 2).collect();
        Some(String::from_utf8_lossy(&block).into_owned())
    }

    /// A block without data is no event, but its id counts.
    fn read(&mut self, block: &str) -> Result<Option<ServerEvent>, StreamError> {
        let mut event = "message".to_owned();
        let mut data = Vec::new();
        for line in block.lines() {
            match line.split_once(':').map(|(name, value)| (name, value.trim_start())) {
                Some(("id", id)) => self.last_id = Some(id.to_owned()),
                Some(("event", name)) => name.clone_into(&mut event),
                Some(("data", text)) => data.push(text),
                _ => {}
            }
        }
        if data.is_empty() {
            return Ok(None);
        }
        let text = data.join("\n");
        let data = serde_json::from_str(&text)
            .map_err(|_| StreamError::Json(self.url.clone(), text.clone()))?;
        Ok(Some(ServerEvent { event, data }))
    }
}
