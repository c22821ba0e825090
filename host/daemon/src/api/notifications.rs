//! Who was told what (contract E5): `GET /api/v1/notifications` and `POST …/{id}/replay`,
//! `GET /api/v1/sinks` and `POST …/{name}/test`, `GET /api/v1/maintenance`.

use std::collections::BTreeMap;

use axum::Json;
use axum::extract::rejection::{PathRejection, QueryRejection};
use axum::extract::{Path, Query, State};
use probehost_model::Reason;
use probehost_model::notify::{
    DeliveryState, Maintenance, MaintenanceTime, Notification, NotificationKind, SinkKind,
};
use probehost_notify::{describe, open_until};
use probehost_store::{Delivery, DeliveryFilter, MAX_PAGE, SinkCounts};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::Api;
use super::error::{ApiError, ErrorBody};

const PAGE: u32 = 100;

/// What can be asked of the notifications.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub(crate) struct NotificationsAsk {
    /// Only in this state.
    state: Option<DeliveryState>,
    /// Only to this sink.
    sink: Option<String>,
    /// Only of this target.
    target: Option<String>,
    /// The `next_before` of the page before.
    before: Option<i64>,
    /// How many, 100 without it.
    #[param(minimum = 1, maximum = 1000)]
    limit: Option<u32>,
}

/// A page of notifications, newest first.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub(crate) struct Notifications {
    pub(crate) notifications: Vec<NotificationView>,
    /// What to give as `before` for the next page; none: this is the last.
    next_before: Option<i64>,
}

/// A notification and what has become of it.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub(crate) struct NotificationView {
    pub(crate) id: i64,
    pub(crate) sink: String,
    pub(crate) kind: NotificationKind,
    /// None: it tells of many.
    pub(crate) target: Option<String>,
    /// None: it tells of the target as a whole.
    pub(crate) check: Option<String>,
    /// The states before and after; what it says of them, for people.
    from: String,
    pub(crate) to: String,
    reason: Option<Reason>,
    message: String,
    /// The event that asked for it.
    event: Option<i64>,
    pub(crate) state: DeliveryState,
    pub(crate) attempts: u32,
    pub(crate) created_at: String,
    first_attempt_at: Option<String>,
    /// While it is pending.
    next_attempt_at: Option<String>,
    /// When it was delivered or given up.
    finished_at: Option<String>,
    /// Empty: nothing went wrong.
    pub(crate) last_error: String,
}

impl From<Delivery> for NotificationView {
    fn from(delivery: Delivery) -> Self {
        let told: Option<Notification> = serde_json::from_str(&delivery.message).ok();
        let (from, to, reason, message) =
            told.map(|told| (told.from, told.to, told.reason, told.message)).unwrap_or_default();
        let some = |text: String| (!text.is_empty()).then_some(text);
        let pending = delivery.state == DeliveryState::Pending;
        Self {
            id: delivery.id,
            sink: delivery.sink,
            kind: delivery.kind,
            target: some(delivery.target),
            check: some(delivery.check),
            from,
            to,
            reason,
            message,
            event: delivery.event,
            state: delivery.state,
            attempts: delivery.attempts,
            created_at: delivery.created_at.to_string(),
            first_attempt_at: delivery.first_attempt_at.map(|at| at.to_string()),
            next_attempt_at: pending.then(|| delivery.next_attempt_at.to_string()),
            finished_at: delivery.finished_at.map(|at| at.to_string()),
            last_error: delivery.last_error,
        }
    }
}

/// Who was told what, newest first.
#[utoipa::path(get, path = "/notifications", tag = "notifications", params(NotificationsAsk),
    responses((status = 200, body = Notifications), (status = "default", body = ErrorBody)))]
pub(crate) async fn list(
    State(api): State<Api>,
    ask: Result<Query<NotificationsAsk>, QueryRejection>,
) -> Result<Json<Notifications>, ApiError> {
    let Query(ask) = ask.map_err(|rejection| ApiError::Bad(rejection.body_text()))?;
    let limit = ask.limit.unwrap_or(PAGE);
    if !(1..=MAX_PAGE).contains(&limit) {
        return Err(ApiError::Bad(format!("limit: {limit} is not from 1 to {MAX_PAGE}")));
    }
    let filter = DeliveryFilter {
        state: ask.state,
        sink: ask.sink,
        target: ask.target,
        before: ask.before,
        limit,
    };
    let found = api.store.deliveries(&filter).await?;
    let full = u32::try_from(found.len()).is_ok_and(|rows| rows == limit);
    let next_before = found.last().map(|last| last.id).filter(|_| full);
    let notifications = found.into_iter().map(NotificationView::from).collect();
    Ok(Json(Notifications { notifications, next_before }))
}

/// Has a dead notification tried again.
#[utoipa::path(post, path = "/notifications/{id}/replay", tag = "notifications", params(("id" = i64, Path)),
    responses((status = 200, body = NotificationView), (status = "default", body = ErrorBody)))]
pub(crate) async fn replay(
    State(api): State<Api>,
    id: Result<Path<i64>, PathRejection>,
) -> Result<Json<NotificationView>, ApiError> {
    let Path(id) = id?;
    let now = api.monitor.clock().now();
    let replayed = api.store.replay_delivery(id, now).await?;
    let delivery = api.store.delivery(id).await?.ok_or(ApiError::NoNotification(id))?;
    if !replayed {
        return Err(ApiError::NotDead { id, state: delivery.state });
    }
    api.notifier.look_again();
    Ok(Json(delivery.into()))
}

/// Every sink that is set.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Sinks {
    sinks: Vec<SinkView>,
}

#[derive(Debug, Serialize, ToSchema)]
struct SinkView {
    name: String,
    kind: SinkKind,
    /// Scheme and host; none: a secret says it.
    host: Option<String>,
    /// Yet to be delivered.
    pending: u64,
    /// Since when the oldest of those waits.
    oldest_pending_at: Option<String>,
    /// Given up.
    dead: u64,
    last_delivered_at: Option<String>,
    /// Failures in a row, since this host runs.
    failures: u32,
    last_error: Option<SinkError>,
    /// Until when nothing is sent to it.
    paused_until: Option<String>,
}

#[derive(Debug, Serialize, ToSchema)]
struct SinkError {
    at: String,
    message: String,
}

/// The sinks, and how each does.
#[utoipa::path(get, path = "/sinks", tag = "notifications",
    responses((status = 200, body = Sinks), (status = "default", body = ErrorBody)))]
pub(crate) async fn sinks(State(api): State<Api>) -> Result<Json<Sinks>, ApiError> {
    let counts = api.store.sink_counts().await?;
    let counts: BTreeMap<String, SinkCounts> =
        counts.into_iter().map(|counts| (counts.sink.clone(), counts)).collect();
    let mut states = api.notifier.states();
    let settings = api.notifier.settings();
    let sinks = settings.sinks.iter().map(|(name, sink)| {
        let counts = counts.get(name).cloned().unwrap_or_default();
        let state = states.remove(name).unwrap_or_default();
        let error = |(at, message): (probehost_model::Timestamp, String)| SinkError {
            at: at.to_string(),
            message,
        };
        SinkView {
            name: name.clone(),
            kind: sink.kind,
            host: describe(sink),
            pending: counts.pending,
            oldest_pending_at: counts.oldest_pending_at.map(|at| at.to_string()),
            dead: counts.dead,
            last_delivered_at: counts.last_delivered_at.map(|at| at.to_string()),
            failures: state.failures,
            last_error: state.last_error.map(error),
            paused_until: state.paused_until.map(|at| at.to_string()),
        }
    });
    Ok(Json(Sinks { sinks: sinks.collect() }))
}

/// What a sink made of a try.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Tried {
    delivered: bool,
}

/// Sends a test message to a sink, and waits for its answer.
#[utoipa::path(post, path = "/sinks/{name}/test", tag = "notifications", params(("name" = String, Path)),
    responses((status = 200, body = Tried), (status = "default", body = ErrorBody)))]
pub(crate) async fn test(
    State(api): State<Api>,
    name: Result<Path<String>, PathRejection>,
) -> Result<Json<Tried>, ApiError> {
    let Path(name) = name?;
    let settings = api.notifier.settings();
    let Some(sink) = settings.sinks.get(&name) else {
        let known = settings.sinks.keys().cloned().collect::<Vec<_>>().join(", ");
        return Err(ApiError::NoSink { name, known });
    };
    match api.notifier.test(sink).await {
        Ok(()) => Ok(Json(Tried { delivered: true })),
        Err(error) => Err(ApiError::SinkFailed { name, error: error.to_string() }),
    }
}

/// Every maintenance window.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Windows {
    windows: Vec<WindowView>,
}

#[derive(Debug, Serialize, ToSchema)]
struct WindowView {
    name: String,
    /// Empty: all.
    targets: Vec<String>,
    labels: BTreeMap<String, String>,
    #[serde(flatten)]
    when: WhenView,
    /// While it is open.
    open_until: Option<String>,
}

#[derive(Debug, Serialize, ToSchema)]
#[serde(untagged)]
enum WhenView {
    Once { from: String, until: String },
    Weekly { days: Vec<&'static str>, at: String, for_seconds: u64, zone: String },
}

const DAYS: [&str; 7] = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"];

/// The maintenance windows, and which are open.
#[utoipa::path(get, path = "/maintenance", tag = "notifications",
    responses((status = 200, body = Windows), (status = "default", body = ErrorBody)))]
pub(crate) async fn maintenance(State(api): State<Api>) -> Json<Windows> {
    let now = api.monitor.clock().now();
    let settings = api.notifier.settings();
    let windows = settings.maintenance.iter().map(|window| {
        let open_until = open_until(window, now).map(|until| until.to_string());
        let Maintenance { name, of, when } = window.clone();
        let when = match when {
            MaintenanceTime::Once { from, until } => {
                WhenView::Once { from: from.to_string(), until: until.to_string() }
            }
            MaintenanceTime::Weekly { days, minute, lasts, zone } => WhenView::Weekly {
                days: days.iter().filter_map(|day| DAYS.get(usize::from(*day)).copied()).collect(),
                at: format!("{:02}:{:02}", minute / 60, minute % 60),
                for_seconds: lasts.as_secs(),
                zone,
            },
        };
        WindowView { name, targets: of.targets, labels: of.labels, when, open_until }
    });
    Json(Windows { windows: windows.collect() })
}
