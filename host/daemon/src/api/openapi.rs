//! `GET /api/v1/openapi.json`: the API's description, made of the code that answers.

use std::sync::Arc;

use axum::Router;
use axum::http::header;
use axum::response::IntoResponse;
use utoipa::OpenApi;
use utoipa::openapi::security::{ApiKey, ApiKeyValue, Http, HttpAuthScheme, SecurityScheme};
use utoipa::openapi::{SecurityRequirement, Server};
use utoipa_axum::router::OpenApiRouter;

use super::Api;

#[derive(OpenApi)]
#[openapi(info(
    title = "probehost",
    description = "Health of targets, as probed by sandboxed plugins. What is here stays within /api/v1: fields and paths are added, none is taken away or gets another meaning."
))]
struct Description;

/// The paths, and the description of them as JSON; `cookie` is that of a session.
pub(super) fn with_description(
    routes: OpenApiRouter<Api>,
    cookie: &str,
) -> (Router<Api>, Arc<str>) {
    let (router, paths) = routes.split_for_parts();
    let mut whole = Description::openapi();
    whole.info.version = env!("CARGO_PKG_VERSION").to_owned();
    whole.merge(paths);
    whole.servers = Some(vec![Server::new("/api/v1")]);
    let components = whole.components.get_or_insert_default();
    let bearer = SecurityScheme::Http(Http::new(HttpAuthScheme::Bearer));
    components.add_security_scheme("token", bearer);
    let cookie = SecurityScheme::ApiKey(ApiKey::Cookie(ApiKeyValue::new(cookie)));
    components.add_security_scheme("session", cookie);
    let none: [&str; 0] = [];
    let needed = ["token", "session"].map(|scheme| SecurityRequirement::new(scheme, none));
    whole.security = Some(needed.into());
    // Plain data: writing it cannot fail.
    (router, whole.to_json().unwrap_or_default().into())
}

pub(super) async fn answer(description: Arc<str>) -> impl IntoResponse {
    ([(header::CONTENT_TYPE, "application/json")], description.to_string())
}
