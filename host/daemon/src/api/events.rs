//! `GET /api/v1/events`: what changes, as server-sent events (contract E1, E2).
//!
//! A stream reads the store's events in order of id and sends each once, so a client that comes
//! back with the last id that it saw misses nothing and sees nothing twice. Nothing is queued
//! for a client: one that reads slowly is behind, and reads on from where it is.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, State};
use axum::http::{HeaderMap, HeaderName};
use axum::response::sse::{Event, KeepAlive, Sse};
use futures_util::{Stream, stream};
use probehost_model::{Change, ChangeEvent, EventKind};
use probehost_store::{EventBounds, Store};
use serde::{Deserialize, Serialize};
use serde_json::json;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio_util::sync::CancellationToken;
use utoipa::IntoParams;

use super::Api;
use super::error::{ApiError, ErrorBody};

/// Most streams at once.
const STREAMS: usize = 256;
/// Events that are read at once.
const PAGE: u32 = 100;
/// After so long without an event a comment is sent, so that a lost connection is found.
const HEARTBEAT: Duration = Duration::from_secs(15);
/// How often a database is looked at that other hosts may write to.
const LOOK: Duration = Duration::from_secs(1);
/// The pause after the store could not be read.
const PAUSE: Duration = Duration::from_secs(1);

static LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");

/// The streams that are open.
#[derive(Debug, Clone)]
pub(crate) struct Streams {
    places: Arc<Semaphore>,
    /// Ends them all.
    stop: CancellationToken,
}

impl Streams {
    pub(crate) fn new(stop: CancellationToken) -> Self {
        Self { places: Arc::new(Semaphore::new(STREAMS)), stop }
    }
}

/// What can be asked of the stream.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub(crate) struct EventsAsk {
    /// Only of this target.
    target: Option<String>,
    /// Only of this kind.
    kind: Option<EventKind>,
    /// The last id that was seen; the header `Last-Event-ID` goes before it.
    after: Option<i64>,
}

#[derive(Serialize)]
struct EventView<'a> {
    id: i64,
    at: String,
    target: &'a str,
    #[serde(flatten)]
    change: &'a Change,
}

/// What changes, as server-sent events, resumable.
#[utoipa::path(get, path = "/events", tag = "events",
    params(EventsAsk, ("Last-Event-ID" = Option<i64>, Header, description = "The last id that was seen.")),
    responses((status = 200, content_type = "text/event-stream", body = String),
        (status = "default", body = ErrorBody)))]
pub(crate) async fn events(
    State(api): State<Api>,
    ask: Result<Query<EventsAsk>, QueryRejection>,
    headers: HeaderMap,
) -> Result<Sse<impl Stream<Item = Result<Event, Infallible>>>, ApiError> {
    let Query(ask) = ask.map_err(|rejection| ApiError::Bad(rejection.body_text()))?;
    let place = Arc::clone(&api.streams.places).try_acquire_owned();
    let place = place.map_err(|_| ApiError::TooManyStreams(STREAMS))?;
    // Before the look at what there is: what comes after that is then news.
    let news = api.store.news();
    let bounds = api.store.event_bounds().await?;
    let asked = last_event_id(&headers)?.or(ask.after);
    let mut reader = Reader {
        store: api.store,
        news,
        stop: api.streams.stop,
        target: ask.target,
        kind: ask.kind,
        last: asked.unwrap_or(bounds.last),
        ready: VecDeque::new(),
        _place: place,
    };
    reader.begin(asked, bounds);
    let events = stream::unfold(reader, |mut reader| async move {
        let event = reader.next().await?;
        Some((Ok(event), reader))
    });
    Ok(Sse::new(events).keep_alive(KeepAlive::new().interval(HEARTBEAT)))
}

fn last_event_id(headers: &HeaderMap) -> Result<Option<i64>, ApiError> {
    let Some(value) = headers.get(&LAST_EVENT_ID) else { return Ok(None) };
    let id = value.to_str().ok().and_then(|text| text.trim().parse().ok());
    let bad = || ApiError::Bad(format!("Last-Event-ID {value:?} is no id of an event here"));
    id.ok_or_else(bad).map(Some)
}

/// One client's place among the events.
struct Reader {
    store: Store,
    news: watch::Receiver<()>,
    stop: CancellationToken,
    target: Option<String>,
    kind: Option<EventKind>,
    /// The last event that was read.
    last: i64,
    /// To be sent, oldest first.
    ready: VecDeque<Event>,
    _place: OwnedSemaphorePermit,
}

impl Reader {
    /// What is sent before the first event: where the stream begins, so that a client that
    /// loses it before the first event can resume; and whether events are missing.
    fn begin(&mut self, asked: Option<i64>, bounds: EventBounds) {
        let missed = asked.is_some_and(|last| last < bounds.first - 1 || last > bounds.last);
        if missed {
            self.last = bounds.last;
            let text = "events that you have not seen are gone; read the state anew";
            let data = json!({ "kind": "reset", "message": text }).to_string();
            self.ready.push_back(Event::default().event("reset").data(data));
        }
        self.ready.push_back(Event::default().id(self.last.to_string()).retry(PAUSE));
    }

    async fn next(&mut self) -> Option<Event> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                return Some(event);
            }
            if self.stop.is_cancelled() {
                return None;
            }
            self.news.mark_unchanged();
            let pause = match self.store.events_after(self.last, PAGE).await {
                Ok(events) if !events.is_empty() => {
                    self.take(&events);
                    continue;
                }
                Ok(_) if self.store.is_shared() => Some(LOOK),
                Ok(_) => None,
                // It is behind for now, and goes on from where it is.
                Err(_) => Some(PAUSE),
            };
            let pause = async {
                match pause {
                    Some(pause) => tokio::time::sleep(pause).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                biased;
                () = self.stop.cancelled() => return None,
                news = self.news.changed() => if news.is_err() { return None },
                () = pause => {}
            }
        }
    }

    fn take(&mut self, events: &[ChangeEvent]) {
        let mut skipped = false;
        for event in events {
            self.last = event.id;
            let ChangeEvent { id, at, target, change } = event;
            skipped = self.target.as_ref().is_some_and(|wanted| wanted != target)
                || self.kind.is_some_and(|wanted| wanted != change.kind());
            if skipped {
                continue;
            }
            let view = EventView { id: *id, at: at.to_string(), target, change };
            // Plain data: writing it cannot fail.
            let data = serde_json::to_string(&view).unwrap_or_default();
            let kind = change.kind().as_str();
            self.ready.push_back(Event::default().id(id.to_string()).event(kind).data(data));
        }
        if skipped {
            // The client's place moves on, without an event that it would have to look at.
            self.ready.push_back(Event::default().id(self.last.to_string()));
        }
    }
}
