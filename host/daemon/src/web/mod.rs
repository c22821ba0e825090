//! The page: what `web/` holds, embedded in the binary and served at `/` and under `/assets/`.
//!
//! It needs no network but the host's own API, and its headers see to that: a browser loads
//! nothing else for it, runs no script that is written into a text, and shows it in no frame.

mod files;

use axum::Router;
use axum::extract::{Path, Request};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;

use files::File;

/// What a browser may load for the page, and from where.
const POLICY: &str = "default-src 'self'; img-src 'self' data:; object-src 'none'; \
     base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

const HEADERS: [(HeaderName, &str); 5] = [
    (header::CONTENT_SECURITY_POLICY, POLICY),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::REFERRER_POLICY, "no-referrer"),
    (header::X_FRAME_OPTIONS, "DENY"),
    // A browser keeps it and asks each time whether it still is so: another binary is seen at once.
    (header::CACHE_CONTROL, "no-cache"),
];

/// The paths of the page; whatever is not there goes to `missing`.
pub(crate) fn router<S, F>(missing: F) -> Router<S>
where
    S: Clone + Send + Sync + 'static,
    F: Fn(String) -> Response + Clone + Send + Sync + 'static,
{
    let asset = |Path(name): Path<String>, request: Request| async move {
        match files::find(&name) {
            Some(file) => answer(file, request.headers()),
            None => missing(request.uri().path().to_owned()),
        }
    };
    let page = |headers: HeaderMap| async move {
        files::find("index.html")
            .map_or_else(|| StatusCode::NOT_FOUND.into_response(), |file| answer(file, &headers))
    };
    Router::new().route("/", get(page)).route("/assets/{*name}", get(asset))
}

fn answer(file: &File, asked: &HeaderMap) -> Response {
    let known = asked.get(header::IF_NONE_MATCH).and_then(|tags| tags.to_str().ok());
    let mut answer = if known.is_some_and(|tags| is_among(tags, &file.tag)) {
        StatusCode::NOT_MODIFIED.into_response()
    } else {
        ([(header::CONTENT_TYPE, file.kind)], file.text).into_response()
    };
    let headers = answer.headers_mut();
    for (name, value) in HEADERS {
        headers.insert(name, HeaderValue::from_static(value));
    }
    if let Ok(tag) = HeaderValue::from_str(&file.tag) {
        headers.insert(header::ETAG, tag);
    }
    answer
}

/// Whether a tag is in a list of them, as `If-None-Match` has it. A proxy that compresses makes
/// tags weak; that is good enough here.
fn is_among(tags: &str, tag: &str) -> bool {
    let mut tags = tags.split(',').map(str::trim);
    tags.any(|one| one == "*" || one.strip_prefix("W/").unwrap_or(one) == tag)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(tag: Option<&str>) -> Response {
        let mut headers = HeaderMap::new();
        if let Some(tag) = tag {
            headers.insert(header::IF_NONE_MATCH, tag.parse().unwrap());
        }
        answer(files::find("index.html").unwrap(), &headers)
    }

    /// A browser that has it is not sent it again, and every answer carries the policy.
    #[test]
    fn what_is_known_is_not_sent_again() {
        let first = asked(None);
        assert_eq!(first.status(), StatusCode::OK);
        let tag = first.headers()[header::ETAG].to_str().unwrap().to_owned();
        for known in [tag.clone(), format!("\"other\", W/{tag}"), "*".to_owned()] {
            let again = asked(Some(&known));
            assert_eq!(again.status(), StatusCode::NOT_MODIFIED, "{known}");
            assert!(again.headers().contains_key(header::CONTENT_SECURITY_POLICY));
        }
        assert_eq!(asked(Some("\"other\"")).status(), StatusCode::OK);
    }

    #[test]
    fn the_policy_lets_in_nothing_inline_and_nothing_foreign() {
        assert!(POLICY.starts_with("default-src 'self';"));
        for open in ["unsafe", "*", "http:", "https:"] {
            assert!(!POLICY.contains(open), "{open}");
        }
    }
}
