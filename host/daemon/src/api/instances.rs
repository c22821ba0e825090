//! Managed targets (contract E3): `GET /api/v1/health/instances` and `/{id}`, what can be asked of
//! one, and `GET /api/v1/health/pool` for routers.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::Json;
use axum::body::Bytes;
use axum::extract::rejection::{BytesRejection, PathRejection, QueryRejection};
use axum::extract::{Path, Query, State};
use axum::http::header;
use axum::response::IntoResponse;
use probehost_healer::{Ask, Instance};
use probehost_model::CheckId;
use probehost_model::lifecycle::{LifecycleState, PoolMember};
use probehost_store::TransitionFilter;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::error::ApiError;
use super::error::ErrorBody;
use super::instance_view::{InstanceReport, InstanceView, LayerView, LifecycleTransitionView};
use super::targets::view_of;
use super::{Api, Identity};

type Id = Result<Path<String>, PathRejection>;
type Body = Result<Bytes, BytesRejection>;

/// Changes of the lifecycle state in a report.
const HISTORY: u32 = 100;

/// What can be asked of the list.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub(crate) struct ListAsk {
    /// Only those in this state.
    state: Option<LifecycleState>,
}

/// Managed targets, in ascending order of id.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Instances {
    instances: Vec<InstanceView>,
}

/// Managed targets with their lifecycles, in ascending order of id.
#[utoipa::path(get, path = "/health/instances", tag = "managed targets", params(ListAsk),
    responses((status = 200, body = Instances), (status = "default", body = ErrorBody)))]
pub(crate) async fn list(
    State(api): State<Api>,
    ask: Result<Query<ListAsk>, QueryRejection>,
) -> Result<Json<Instances>, ApiError> {
    let Query(ask) = ask.map_err(|rejection| ApiError::Bad(rejection.body_text()))?;
    let now = api.monitor.clock().now();
    let all = api.healer.instances().into_iter();
    let wanted =
        all.filter(|instance| ask.state.is_none_or(|state| instance.record.state == state));
    let instances = wanted.map(|instance| InstanceView::new(&instance, now)).collect();
    Ok(Json(Instances { instances }))
}

/// All that is known of a managed target.
#[utoipa::path(get, path = "/health/instances/{id}", tag = "managed targets",
    params(("id" = String, Path)),
    responses((status = 200, body = InstanceReport), (status = "default", body = ErrorBody)))]
pub(crate) async fn one(State(api): State<Api>, id: Id) -> Result<Json<InstanceReport>, ApiError> {
    let Path(id) = id?;
    let instance = find(&api, &id).await?;
    let now = api.monitor.clock().now();
    let filter = TransitionFilter {
        target: Some(id.clone()),
        limit: HISTORY,
        ..TransitionFilter::default()
    };
    let history = api.store.lifecycle_transitions(&filter).await?;
    let target = view_of(&api, id.clone()).await?;
    let layers: BTreeMap<String, Vec<LayerView>> = target
        .checks
        .iter()
        .map(|check| {
            let of_check = api.monitor.windows().layers(&CheckId::new(&id, &check.name), now);
            (check.name.clone(), of_check.into_iter().map(Into::into).collect())
        })
        .collect();
    let history = history.into_iter().map(LifecycleTransitionView::from).collect();
    Ok(Json(InstanceReport::new(&instance, now, target.checks, layers, history)))
}

/// Restarts a managed target now.
#[utoipa::path(post, path = "/health/instances/{id}/restart", tag = "managed targets",
    params(("id" = String, Path)),
    responses((status = 200, body = InstanceView), (status = "default", body = ErrorBody)))]
pub(crate) async fn restart(
    State(api): State<Api>,
    who: Identity,
    id: Id,
) -> Result<Json<InstanceView>, ApiError> {
    ask(&api, &who, id, Ask::Restart).await
}

/// Why a target is set aside.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct QuarantineBody {
    #[serde(default)]
    message: String,
}

/// Sets a managed target aside: no more restarts.
#[utoipa::path(post, path = "/health/instances/{id}/quarantine", tag = "managed targets",
    params(("id" = String, Path)),
    request_body = Option<QuarantineBody>,
    responses((status = 200, body = InstanceView), (status = "default", body = ErrorBody)))]
pub(crate) async fn quarantine(
    State(api): State<Api>,
    who: Identity,
    id: Id,
    body: Body,
) -> Result<Json<InstanceView>, ApiError> {
    let QuarantineBody { message } =
        json(&body?, "send { \"message\": \"why\" } or nothing")?.unwrap_or_default();
    ask(&api, &who, id, Ask::Quarantine(message)).await
}

/// Ends the quarantine of a managed target, with a restart.
#[utoipa::path(post, path = "/health/instances/{id}/release", tag = "managed targets",
    params(("id" = String, Path)),
    responses((status = 200, body = InstanceView), (status = "default", body = ErrorBody)))]
pub(crate) async fn release(
    State(api): State<Api>,
    who: Identity,
    id: Id,
) -> Result<Json<InstanceView>, ApiError> {
    ask(&api, &who, id, Ask::Release).await
}

/// What the update manager does (contract L6).
#[derive(Debug, Clone, Copy, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
enum UpdateStep {
    Begin,
    Promoted,
    RolledBack,
}

#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct UpdateBody {
    step: UpdateStep,
}

/// Tells of a step of an update, which suppresses restarts meanwhile.
#[utoipa::path(post, path = "/health/instances/{id}/update", tag = "managed targets",
    params(("id" = String, Path)),
    request_body = UpdateBody,
    responses((status = 200, body = InstanceView), (status = "default", body = ErrorBody)))]
pub(crate) async fn update(
    State(api): State<Api>,
    who: Identity,
    id: Id,
    body: Body,
) -> Result<Json<InstanceView>, ApiError> {
    const HELP: &str = "send { \"step\": \"begin\" }, \"promoted\" or \"rolled-back\"";
    let body: Option<UpdateBody> = json(&body?, HELP)?;
    let step = body.ok_or_else(|| ApiError::Bad(format!("there is no body; {HELP}")))?.step;
    let what = match step {
        UpdateStep::Begin => Ask::UpdateBegin,
        UpdateStep::Promoted => Ask::UpdatePromoted,
        UpdateStep::RolledBack => Ask::UpdateRolledBack,
    };
    ask(&api, &who, id, what).await
}

async fn ask(api: &Api, who: &Identity, id: Id, what: Ask) -> Result<Json<InstanceView>, ApiError> {
    let Path(id) = id?;
    find(api, &id).await?;
    api.healer.ask(&id, what, &who.principal).await?;
    let instance = find(api, &id).await?;
    Ok(Json(InstanceView::new(&instance, api.monitor.clock().now())))
}

async fn find(api: &Api, id: &str) -> Result<Arc<Instance>, ApiError> {
    if let Some(instance) = api.healer.instance(id) {
        return Ok(instance);
    }
    match api.store.target(id).await? {
        Some(_) => Err(ApiError::NotManaged(id.to_owned())),
        None => Err(ApiError::NoTarget(id.to_owned())),
    }
}

/// A body that may be left out, or null.
fn json<T: DeserializeOwned>(body: &[u8], help: &str) -> Result<Option<T>, ApiError> {
    if body.iter().all(u8::is_ascii_whitespace) {
        return Ok(None);
    }
    let bad = |error| ApiError::Bad(format!("the body can't be used: {error}; {help}"));
    serde_json::from_slice(body).map_err(bad)
}

/// Which targets routers may send work (contract L11).
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Pool {
    at: String,
    /// Until when a router goes by this if it gets no newer one.
    expires_at: String,
    ttl_seconds: f64,
    members: Vec<PoolMember>,
}

/// Which managed targets routers may send work.
#[utoipa::path(get, path = "/health/pool", tag = "managed targets",
    responses((status = 200, body = Pool), (status = "default", body = ErrorBody)))]
pub(crate) async fn pool(State(api): State<Api>) -> impl IntoResponse {
    let snapshot = api.healer.pool(api.pool_ttl);
    let pool = Pool {
        at: snapshot.at.to_string(),
        expires_at: snapshot.expires_at.to_string(),
        ttl_seconds: api.pool_ttl.as_secs_f64(),
        members: snapshot.members,
    };
    // A cache on the way must not make it older than it says.
    ([(header::CACHE_CONTROL, "no-store")], Json(pool))
}
