//! `/api/v1/session`: the page logs in with a token, and then has a cookie.

use axum::Json;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use probehost_model::AccessRole;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::super::Api;
use super::super::error::{ApiError, ErrorBody};
use super::Identity;
use super::gate::SESSION;

/// A token to log in with.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Login {
    /// As `probehost token new` showed it.
    token: String,
}

/// Who asks.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct SessionView {
    /// The name in the audit.
    principal: String,
    role: AccessRole,
    /// What every change by the page has to be sent with, as the header `X-CSRF-Token`; none when
    /// it is not a session that asks.
    csrf_token: Option<String>,
    /// Whether there are tokens.
    login_required: bool,
}

impl SessionView {
    fn new(who: &Identity, login_required: bool) -> Self {
        Self {
            principal: who.principal.to_string(),
            role: who.role,
            csrf_token: who.csrf_token.as_deref().map(str::to_owned),
            login_required,
        }
    }
}

/// Who asks, and what they may do.
#[utoipa::path(get, path = "/session", tag = "access", responses(
    (status = 200, body = SessionView), (status = "default", body = ErrorBody)))]
pub(crate) async fn show(State(api): State<Api>, who: Identity) -> Json<SessionView> {
    let login_required = !api.gate.is_open().await;
    Json(SessionView::new(&who, login_required))
}

/// Begins a session, for pages: sets a cookie that stands for the token.
#[utoipa::path(post, path = "/session", tag = "access", request_body = Login, security(()), responses(
    (status = 200, body = SessionView), (status = "default", body = ErrorBody)))]
pub(crate) async fn begin(
    State(api): State<Api>,
    headers: HeaderMap,
    body: Bytes,
) -> Result<Response, ApiError> {
    if api.gate.is_open().await {
        let who = Identity::local();
        return Ok(Json(SessionView::new(&who, false)).into_response());
    }
    // The body is a secret: nothing of it is repeated.
    let login: Login = serde_json::from_slice(&body)
        .map_err(|_| ApiError::Bad("send { \"token\": \"…\" } as JSON".to_owned()))?;
    let who = api.gate.by_token(login.token.trim()).await?;
    let (cookie, who) = api.gate.begin(&who).await?;
    let cookie = set_cookie(&api, &headers, &cookie, SESSION.as_secs());
    Ok(([(header::SET_COOKIE, cookie)], Json(SessionView::new(&who, true))).into_response())
}

/// Ends the session of the cookie.
#[utoipa::path(delete, path = "/session", tag = "access", responses(
    (status = 204), (status = "default", body = ErrorBody)))]
pub(crate) async fn end(
    State(api): State<Api>,
    headers: HeaderMap,
) -> Result<impl IntoResponse, ApiError> {
    api.gate.end(&headers).await?;
    let cookie = set_cookie(&api, &headers, "", 0);
    Ok((StatusCode::NO_CONTENT, [(header::SET_COOKIE, cookie)]))
}

fn set_cookie(api: &Api, headers: &HeaderMap, value: &str, seconds: u64) -> String {
    let secure = if api.is_tls(headers) { "; Secure" } else { "" };
    let name = api.gate.cookie();
    format!("{name}={value}; Max-Age={seconds}; Path=/; HttpOnly; SameSite=Strict{secure}")
}
