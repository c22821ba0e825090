//! Answers that did not change are not sent again.

use axum::body::{Body, HttpBody as _, to_bytes};
use axum::extract::Request;
use axum::http::{HeaderValue, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use ring::digest::{Context, SHA256};

/// What changes by the mere passing of time, and so does not count.
const PASSING: [&[u8]; 2] = [b"\"age_seconds\":", b"\"next_attempt_in_seconds\":"];
/// Larger answers are not held in memory for this.
const LARGEST: u64 = 16 << 20;

/// Gives JSON answers an `ETag`, and answers 304 to who has the same one already. The tag is
/// weak: ages are left out of it.
pub(super) async fn etag(request: Request, next: Next) -> Response {
    if request.method() != Method::GET {
        return next.run(request).await;
    }
    let known = request.headers().get(header::IF_NONE_MATCH).cloned();
    let answer = next.run(request).await;
    if !is_tagged(&answer) {
        return answer;
    }
    let (mut parts, body) = answer.into_parts();
    let Ok(bytes) = to_bytes(body, usize::MAX).await else {
        return StatusCode::INTERNAL_SERVER_ERROR.into_response();
    };
    let tag = tag(&bytes);
    if let Ok(value) = HeaderValue::from_str(&tag) {
        parts.headers.insert(header::ETAG, value);
    }
    parts.headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("private, no-cache"));
    if known.is_some_and(|known| matches(&known, &tag)) {
        parts.status = StatusCode::NOT_MODIFIED;
        parts.headers.remove(header::CONTENT_LENGTH);
        parts.headers.remove(header::CONTENT_TYPE);
        return Response::from_parts(parts, Body::empty());
    }
    Response::from_parts(parts, Body::from(bytes))
}

/// JSON that is there as a whole, and may be kept.
fn is_tagged(answer: &Response) -> bool {
    let headers = answer.headers();
    answer.status() == StatusCode::OK
        && headers.get(header::CONTENT_TYPE).is_some_and(|kind| kind == "application/json")
        && !headers.contains_key(header::CACHE_CONTROL)
        && answer.body().size_hint().exact().is_some_and(|size| size <= LARGEST)
}

fn tag(body: &[u8]) -> String {
    let mut context = Context::new(&SHA256);
    let mut rest = body;
    while let Some((before, after)) = next_passing(rest) {
        context.update(before);
        // A number, or null: it ends with the member.
        let end = after.iter().position(|byte| matches!(byte, b',' | b'}')).unwrap_or(after.len());
        rest = after.get(end..).unwrap_or_default();
    }
    context.update(rest);
    let digest = context.finish();
    let short = digest.as_ref().iter().take(12).map(|byte| format!("{byte:02x}"));
    format!("W/\"{}\"", short.collect::<String>())
}

/// What stands before the next passing member, and what follows its name.
fn next_passing(body: &[u8]) -> Option<(&[u8], &[u8])> {
    // A quote within a text is escaped, so this is the name of a member and nothing else.
    let mut from = 0;
    while let Some(at) = body.get(from..)?.iter().position(|byte| *byte == b'"') {
        let here = from + at;
        let (before, name) = body.split_at_checked(here)?;
        if let Some(passing) = PASSING.iter().find(|passing| name.starts_with(passing)) {
            return Some((before, name.get(passing.len()..)?));
        }
        from = here + 1;
    }
    None
}

/// Whether a header's list has the tag.
fn matches(known: &HeaderValue, tag: &str) -> bool {
    let strong = tag.trim_start_matches("W/");
    let listed = known.to_str().unwrap_or_default().split(',').map(str::trim);
    listed.into_iter().any(|each| each == "*" || each.trim_start_matches("W/") == strong)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_passing_of_time_changes_no_tag() {
        let one = br#"{"id":"a","age_seconds":1.5,"m":"x"}"#;
        let later = br#"{"id":"a","age_seconds":99,"m":"x"}"#;
        assert_eq!(tag(one), tag(later));
        assert_ne!(tag(one), tag(br#"{"id":"a","age_seconds":1.5,"m":"y"}"#));
        assert_eq!(tag(br#"{"age_seconds":null}"#), tag(br#"{"age_seconds":3}"#));
        let text = |age| format!(r#"{{"m":"say \"age_seconds\":{age}"}}"#);
        assert_ne!(tag(text(1).as_bytes()), tag(text(2).as_bytes()), "it is a text");
    }

    #[test]
    fn a_known_tag_is_found_in_a_list() {
        let header = |text: &str| HeaderValue::from_str(text).unwrap();
        assert!(matches(&header("W/\"a\""), "W/\"a\""));
        assert!(matches(&header("\"b\", \"a\""), "W/\"a\""));
        assert!(matches(&header("*"), "W/\"a\""));
        assert!(!matches(&header("\"b\""), "W/\"a\""));
    }
}
