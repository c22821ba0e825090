//! The HTTP API: what is known, what changes, changes of targets, probes by hand, and managed
//! targets.
//!
//! Thin: parse, call, render. Loopback only (see [`guard`]).

mod changes;
mod error;
mod events;
mod guard;
mod health;
mod history;
mod instance_metrics;
mod instance_view;
mod instances;
mod metrics;
mod notifications;
mod plugins;
mod policy_view;
mod probe;
mod targets;
mod view;

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::{DefaultBodyLimit, Request};
use axum::routing::{get, post};
use axum::{Router, middleware};
use probehost_monitor::Monitor;
use probehost_monitor::ports::CheckSeen;
use probehost_sandbox::Catalog;
use probehost_store::Store;
use prometheus_client::registry::Registry;
use tokio::net::TcpListener;

use crate::app::{HostHealer, HostNotifier, Known, ReloadState, SandboxProber, Saver};
use error::ApiError;

pub(crate) use events::Streams;
pub(crate) use notifications::{NotificationView, Notifications};

pub(crate) use view::{CheckView, TargetView};

/// Who acts over the API while it serves loopback without tokens.
const PRINCIPAL: &str = "local";
/// Largest body of a request, in bytes.
const BODY_LIMIT: usize = 64 * 1024;

/// What the handlers call.
#[derive(Clone)]
pub(crate) struct Api {
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

/// Every path of the API.
fn router(api: Api) -> Router {
    let v1 = Router::new()
        .route("/targets", get(targets::list).post(changes::create))
        .route("/targets/{id}", get(targets::one).put(changes::replace).delete(changes::delete))
        .route("/targets/{id}/enable", post(changes::enable))
        .route("/targets/{id}/disable", post(changes::disable))
        .route("/targets/{id}/checks/{name}/probe", post(probe::probe))
        .route("/transitions", get(history::transitions))
        .route("/audit", get(history::audit))
        .route("/plugins", get(plugins::list))
        .route("/notifications", get(notifications::list))
        .route("/notifications/{id}/replay", post(notifications::replay))
        .route("/sinks", get(notifications::sinks))
        .route("/sinks/{name}/test", post(notifications::test))
        .route("/maintenance", get(notifications::maintenance))
        .route("/events", get(events::events))
        .route("/health/instances", get(instances::list))
        .route("/health/instances/{id}", get(instances::one))
        .route("/health/instances/{id}/restart", post(instances::restart))
        .route("/health/instances/{id}/quarantine", post(instances::quarantine))
        .route("/health/instances/{id}/release", post(instances::release))
        .route("/health/instances/{id}/update", post(instances::update))
        .route("/health/pool", get(instances::pool));
    Router::new()
        .nest("/api/v1", v1)
        .route("/healthz", get(health::healthz))
        .route("/metrics", get(metrics::metrics))
        .fallback(
            |request: Request| async move { ApiError::NoRoute(request.uri().path().to_owned()) },
        )
        .method_not_allowed_fallback(|request: Request| async move {
            ApiError::Method(request.method().to_string())
        })
        .layer(middleware::from_fn(guard::loopback_only))
        .layer(DefaultBodyLimit::max(BODY_LIMIT))
        .with_state(api)
}

/// Serves until `stop` is done, then finishes what is being answered.
///
/// # Errors
/// Those of the listener.
pub(crate) async fn serve(
    listener: TcpListener,
    api: Api,
    stop: impl Future<Output = ()> + Send + 'static,
) -> std::io::Result<()> {
    axum::serve(listener, router(api)).with_graceful_shutdown(stop).await
}
