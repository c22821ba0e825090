//! Keeps other sites' pages away from an API that serves loopback without tokens.

use axum::extract::Request;
use axum::http::{HeaderMap, Method, Uri, header};
use axum::middleware::Next;
use axum::response::Response;

use super::error::ApiError;

/// Lets a request through only when it was made to a loopback name, and, when it changes
/// something, not from the page of another origin. A page that a person visits can send
/// requests to loopback, and a name of its own can be made to resolve there.
pub(crate) async fn loopback_only(request: Request, next: Next) -> Result<Response, ApiError> {
    check(request.method(), request.uri(), request.headers())?;
    Ok(next.run(request).await)
}

fn check(method: &Method, uri: &Uri, headers: &HeaderMap) -> Result<(), ApiError> {
    let text = |name| headers.get(name).map(|value| value.to_str().unwrap_or("?"));
    let host = uri.authority().map(|authority| authority.as_str()).or_else(|| text(header::HOST));
    if !host.is_some_and(is_loopback) {
        return Err(ApiError::Foreign(format!(
            "this API serves loopback only, and the request was made to {:?}; use http://127.0.0.1",
            host.unwrap_or_default()
        )));
    }
    let origin = text(header::ORIGIN);
    if !method.is_safe() && origin.is_some_and(|origin| !same_origin(origin, host)) {
        return Err(ApiError::Foreign(format!(
            "the page at {:?} may not change anything here",
            origin.unwrap_or_default()
        )));
    }
    Ok(())
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
        let headers = pairs
            .iter()
            .map(|(name, value)| (header::HeaderName::from_static(name), value.parse().unwrap()))
            .collect();
        check(&method, &Uri::from_static("/api/v1/targets"), &headers).is_ok()
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
}
