//! What every request passes before it is answered: who asks, from where, and whether they may.

use axum::body::{Body, to_bytes};
use axum::extract::{Request, State};
use axum::http::{HeaderMap, Method, Uri, header};
use axum::middleware::Next;
use axum::response::Response;
use probehost_model::AccessRole;
use tokio::time::timeout;

use super::super::error::ApiError;
use super::super::{BODY_LIMIT, BODY_TIME};
use super::secret::equal;
use super::{Gate, Identity};

/// The header that a change by the page is sent with.
const CSRF_HEADER: &str = "x-csrf-token";
/// What stands for anybody's token in a URL: it would end up in logs and histories.
const TOKEN_PARAMETERS: [&str; 4] = ["token", "access_token", "bearer", "api_key"];

/// Lets a request in, with its [`Identity`]. `public` paths are answered to everybody.
///
/// While there are no tokens, it has to be made to a loopback name, and, when it changes
/// something, not from the page of another origin: a page that a person visits can send requests
/// to loopback, and a name of its own can be made to resolve there. With tokens, a change by a
/// session needs what only the own page knows.
pub(crate) async fn enter(
    State(gate): State<Gate>,
    request: Request,
    next: Next,
) -> Result<Response, ApiError> {
    let mut request = whole(request).await?;
    no_token_in_url(request.uri())?;
    if gate.is_open().await {
        loopback_only(request.uri(), request.headers())?;
    }
    own_page(request.method(), request.uri(), request.headers())?;
    if !is_public(request.method(), request.uri().path()) {
        let who = gate.identify(request.headers()).await?;
        if let Some(expected) = who.csrf_token.as_deref().filter(|_| !request.method().is_safe()) {
            let sent = request.headers().get(CSRF_HEADER).and_then(|value| value.to_str().ok());
            if !sent.is_some_and(|sent| equal(sent, expected)) {
                return Err(ApiError::Foreign(format!(
                    "a change by a session needs the header {CSRF_HEADER}, with the csrf_token of GET /api/v1/session"
                )));
            }
        }
        request.extensions_mut().insert(who);
    }
    Ok(next.run(request).await)
}

/// For operators and admins.
pub(crate) async fn operator(
    who: Identity,
    request: Request,
    next: Next,
) -> Result<Response, ApiError> {
    who.require(AccessRole::Operator)?;
    Ok(next.run(request).await)
}

/// For admins.
pub(crate) async fn admin(
    who: Identity,
    request: Request,
    next: Next,
) -> Result<Response, ApiError> {
    who.require(AccessRole::Admin)?;
    Ok(next.run(request).await)
}

/// Whether everybody may ask for it: the page itself, its login, what the API can do, and whether
/// the host works.
fn is_public(method: &Method, path: &str) -> bool {
    match path.strip_prefix("/api/") {
        Some(path) => path == "v1/openapi.json" || (path == "v1/session" && method == Method::POST),
        None => path != "/metrics",
    }
}

/// The request with its whole body: what comes too slowly or is too large goes no further.
async fn whole(request: Request) -> Result<Request, ApiError> {
    let (parts, body) = request.into_parts();
    let read = timeout(BODY_TIME, to_bytes(body, BODY_LIMIT)).await;
    let body = read.map_err(|_| ApiError::TooSlow)?.map_err(|error| {
        let source = std::error::Error::source(&error);
        match source.is_some_and(|source| source.is::<http_body_util::LengthLimitError>()) {
            true => ApiError::TooLarge,
            false => ApiError::Bad(format!("the body broke off: {error}")),
        }
    })?;
    Ok(Request::from_parts(parts, Body::from(body)))
}

fn no_token_in_url(uri: &Uri) -> Result<(), ApiError> {
    let query = uri.query().unwrap_or_default();
    let pairs = url::form_urlencoded::parse(query.as_bytes());
    let found = pairs.map(|(name, _)| name.to_ascii_lowercase());
    match found.into_iter().find(|name| TOKEN_PARAMETERS.contains(&name.as_str())) {
        Some(name) => Err(ApiError::TokenInUrl(name)),
        None => Ok(()),
    }
}

fn loopback_only(uri: &Uri, headers: &HeaderMap) -> Result<(), ApiError> {
    let host = host(uri, headers);
    if host.is_some_and(is_loopback) {
        return Ok(());
    }
    Err(ApiError::Foreign(format!(
        "this API serves loopback only, and the request was made to {:?}; use http://127.0.0.1",
        host.unwrap_or_default()
    )))
}

fn own_page(method: &Method, uri: &Uri, headers: &HeaderMap) -> Result<(), ApiError> {
    let origin = text(headers, header::ORIGIN);
    let host = host(uri, headers);
    if !method.is_safe() && origin.is_some_and(|origin| !same_origin(origin, host)) {
        return Err(ApiError::Foreign(format!(
            "the page at {:?} may not change anything here",
            origin.unwrap_or_default()
        )));
    }
    Ok(())
}

fn host<'a>(uri: &'a Uri, headers: &'a HeaderMap) -> Option<&'a str> {
    uri.authority().map(|authority| authority.as_str()).or_else(|| text(headers, header::HOST))
}

fn text(headers: &HeaderMap, name: header::HeaderName) -> Option<&str> {
    headers.get(name).map(|value| value.to_str().unwrap_or("?"))
}

fn is_loopback(authority: &str) -> bool {
    let host = match authority.rsplit_once(':') {
        Some((host, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => host,
        _ => authority,
    };
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    host.eq_ignore_ascii_case("localhost")
        || bare.parse().is_ok_and(|address: std::net::IpAddr| address.is_loopback())
}

fn same_origin(origin: &str, host: Option<&str>) -> bool {
    origin.split_once("://").map(|(_, authority)| authority) == host
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict(method: Method, pairs: &[(&'static str, &str)]) -> bool {
        let headers: HeaderMap = pairs
            .iter()
            .map(|(name, value)| (header::HeaderName::from_static(name), value.parse().unwrap()))
            .collect();
        let uri = Uri::from_static("/api/v1/targets");
        loopback_only(&uri, &headers).is_ok() && own_page(&method, &uri, &headers).is_ok()
    }

    /// E4: without tokens, loopback only: by name too, so that no other name that resolves to
    /// loopback works.
    #[test]
    fn only_loopback_names() {
        for host in ["127.0.0.1:9640", "localhost", "LOCALHOST:1", "[::1]:9640", "127.8.8.8"] {
            assert!(verdict(Method::GET, &[("host", host)]), "{host}");
        }
        for host in ["evil.example:9640", "10.0.0.1", "127.0.0.1.evil.example", "", "localhost:x"] {
            assert!(!verdict(Method::GET, &[("host", host)]), "{host}");
        }
        assert!(!verdict(Method::GET, &[]));
    }

    #[test]
    fn other_pages_change_nothing() {
        let host = ("host", "127.0.0.1:9640");
        assert!(verdict(Method::POST, &[host]));
        assert!(verdict(Method::POST, &[host, ("origin", "http://127.0.0.1:9640")]));
        for origin in ["http://evil.example", "null", "http://127.0.0.1:1"] {
            assert!(!verdict(Method::POST, &[host, ("origin", origin)]), "{origin}");
            assert!(verdict(Method::GET, &[host, ("origin", origin)]), "{origin}");
        }
    }

    /// E4: only what tells nothing is answered to everybody.
    #[test]
    fn few_paths_are_public() {
        let open = |method: Method, path| is_public(&method, path);
        for path in ["/", "/assets/app.js", "/healthz", "/api/v1/openapi.json"] {
            assert!(open(Method::GET, path), "{path}");
        }
        assert!(open(Method::POST, "/api/v1/session"));
        for path in ["/metrics", "/api/v1/session", "/api/v1/targets", "/api/v1/events", "/api/"] {
            assert!(!open(Method::GET, path), "{path}");
        }
        assert!(!open(Method::DELETE, "/api/v1/session"));
    }

    /// E4: a token in a URL is refused, whether it is one or not.
    #[test]
    fn a_token_in_a_url_is_refused() {
        let refused = |uri: &str| no_token_in_url(&uri.parse().unwrap()).is_err();
        assert!(refused("/api/v1/targets?token=x"));
        assert!(refused("/api/v1/events?after=3&Access_Token=x"));
        assert!(refused("/?%74oken"));
        assert!(!refused("/api/v1/targets?text=token"));
        assert!(!refused("/api/v1/targets"));
    }
}
