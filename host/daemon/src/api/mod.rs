//! The HTTP API: what is known, what changes, changes of targets, probes by hand, and managed
//! targets.
//!
//! Thin: parse, call, render. Who may do what is decided in [`access`].

#![allow(unused_qualifications, reason = "of what the macros of the description write")]

pub(crate) mod access;
mod bodies;
mod changes;
mod check_metrics;
mod error;
mod etag;
mod events;
mod grants;
mod health;
mod history;
mod instance_metrics;
mod instance_view;
mod instances;
mod list_query;
mod metrics;
mod notifications;
mod openapi;
mod plugins;
mod policy_view;
mod probe;
mod recent;
mod rollups;
mod targets;
mod view;

use std::sync::Arc;
use std::time::Duration;

use axum::extract::{DefaultBodyLimit, Request};
use axum::http::HeaderMap;
use axum::response::IntoResponse;
use axum::routing::get;
use axum::{Router, middleware};
use probehost_monitor::Monitor;
use probehost_monitor::ports::CheckSeen;
use probehost_sandbox::Catalog;
use probehost_store::Store;
use prometheus_client::registry::Registry;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::app::{HostHealer, HostNotifier, Known, ReloadState, SandboxProber, Saver};
use crate::web;
use access::{Gate, Identity};
use error::ApiError;

pub(crate) use events::Streams;
pub(crate) use notifications::{NotificationView, Notifications};

pub(crate) use targets::Targets;
pub(crate) use view::{CheckView, TargetView};

/// Largest body of a request, in bytes.
const BODY_LIMIT: usize = 64 * 1024;
/// How long it may take to arrive.
const BODY_TIME: Duration = Duration::from_secs(10);

/// What the handlers call.
#[derive(Clone)]
pub(crate) struct Api {
    pub(crate) gate: Gate,
    /// Whether it is served with a certificate.
    pub(crate) tls: bool,
    pub(crate) store: Store,
    pub(crate) monitor: Monitor<Arc<SandboxProber>, Store>,
    pub(crate) catalog: Arc<Catalog>,
    pub(crate) saver: Arc<Saver>,
    pub(crate) healer: HostHealer,
    pub(crate) notifier: HostNotifier,
    /// How long a router may go by a snapshot of the pool.
    pub(crate) pool_ttl: Duration,
    pub(crate) streams: Streams,
    pub(crate) known: Known,
    pub(crate) reload: ReloadState,
    pub(crate) registry: Arc<Registry>,
}

impl Api {
    /// Whether the request came over TLS: here, or at a proxy before this host.
    fn is_tls(&self, headers: &HeaderMap) -> bool {
        self.tls || headers.get("x-forwarded-proto").is_some_and(|proto| proto == "https")
    }

    /// The check as it is in the store now, or as it was last seen when the store can't be
    /// reached: the probe then still tells what it finds, and that nothing was recorded.
    async fn check_seen(&self, target: &str, check: &str) -> Result<Arc<CheckSeen>, ApiError> {
        let stored = match self.store.target(target).await {
            Ok(Some(stored)) => stored,
            Ok(None) => return Err(ApiError::NoTarget(target.to_owned())),
            Err(error) => {
                return self.known.get(target, check).ok_or(ApiError::Store(error));
            }
        };
        let no_check = || ApiError::NoCheck {
            target: target.to_owned(),
            check: check.to_owned(),
            known: stored
                .target
                .checks
                .iter()
                .map(|check| check.name.as_str())
                .collect::<Vec<_>>()
                .join(", "),
        };
        let found = stored.target.check(check).ok_or_else(no_check)?;
        let last_attempt_at = stored.records.get(check).and_then(|record| record.last_attempt_at);
        Ok(Arc::new(crate::app::check_seen(&stored.target, found, last_attempt_at)))
    }
}

/// Every path of the API, by the role that it needs.
fn routes() -> OpenApiRouter<Api> {
    let viewer = OpenApiRouter::new()
        .routes(routes!(access::session::show, access::session::end))
        .routes(routes!(targets::list))
        .routes(routes!(targets::one))
        .routes(routes!(grants::of_target))
        .routes(routes!(history::transitions))
        .routes(routes!(rollups::history))
        .routes(routes!(history::audit))
        .routes(routes!(plugins::list))
        .routes(routes!(notifications::list))
        .routes(routes!(notifications::sinks))
        .routes(routes!(notifications::maintenance))
        .routes(routes!(events::events))
        .routes(routes!(instances::list))
        .routes(routes!(instances::one))
        .routes(routes!(instances::pool));
    let operator = OpenApiRouter::new()
        .routes(routes!(changes::enable))
        .routes(routes!(changes::disable))
        .routes(routes!(probe::probe))
        .routes(routes!(instances::restart))
        .routes(routes!(instances::quarantine))
        .routes(routes!(instances::release))
        .routes(routes!(instances::update))
        .routes(routes!(notifications::replay))
        .routes(routes!(notifications::test))
        .route_layer(middleware::from_fn(access::operator));
    let admin = OpenApiRouter::new()
        .routes(routes!(changes::create))
        .routes(routes!(changes::replace, changes::delete))
        .route_layer(middleware::from_fn(access::admin));
    let public = OpenApiRouter::new().routes(routes!(access::session::begin));
    public.merge(viewer).merge(operator).merge(admin)
}

/// The API with what stands around it.
pub(crate) fn router(api: Api) -> Router {
    let gate = api.gate.clone();
    let (v1, description) = openapi::with_description(routes(), gate.cookie());
    Router::new()
        .nest("/api/v1", v1)
        .merge(web::router(|path| ApiError::NoRoute(path).into_response()))
        .route("/api/v1/openapi.json", get(move || openapi::answer(description.clone())))
        .route("/healthz", get(health::healthz))
        .route("/metrics", get(metrics::metrics))
        .fallback(
            |request: Request| async move { ApiError::NoRoute(request.uri().path().to_owned()) },
        )
        .method_not_allowed_fallback(|request: Request| async move {
            ApiError::Method(request.method().to_string())
        })
        .layer(middleware::from_fn(etag::etag))
        .layer(middleware::from_fn_with_state(gate, access::enter))
        // `enter` has read the body already, with its own limit.
        .layer(DefaultBodyLimit::disable())
        .with_state(api)
}
