//! One request and the redirects that it is to follow. Each hop is granted, resolved and
//! checked anew (contract H4, G2, G3).

use bytes::Bytes;
use http::header::{self, HeaderMap};
use http::{Method, StatusCode};

use super::Http;
use super::error::Failure;
use super::exchange::{Answer, Body, exchange};
use super::request::{Hop, Prepared};
use super::types::{ErrorKind, Header, Response};
use crate::run::{ActiveCall, Timings};

/// The answer, and its body, which is yet to be read.
pub(super) async fn follow(
    http: &Http,
    call: &ActiveCall<'_>,
    mut request: Prepared,
) -> Result<(Response, Body), Failure> {
    let mut followed = 0;
    loop {
        let follows = request.redirects > 0;
        let answer =
            exchange(http, call, &request, |status| !(follows && redirects(status))).await?;
        if !follows || !redirects(answer.status) {
            return Ok(response(answer, request.hop));
        }
        if followed == request.redirects {
            return Err(Failure::new(
                ErrorKind::Redirect,
                format_args!(
                    "{} redirects once more after {followed} redirects, and no more are allowed",
                    request.hop.peer()
                ),
            ));
        }
        followed += 1;
        request = next(request, &answer)?;
    }
}

fn redirects(status: StatusCode) -> bool {
    matches!(status.as_u16(), 301 | 302 | 303 | 307 | 308)
}

/// The request of the next hop.
fn next(request: Prepared, answer: &Answer) -> Result<Prepared, Failure> {
    let nowhere = |why: &str| {
        let (status, peer) = (answer.status.as_u16(), request.hop.peer());
        Failure::new(
            ErrorKind::Redirect,
            format_args!("{peer} redirects ({status}) to nowhere: {why}"),
        )
    };
    let location = answer.headers.get(header::LOCATION);
    let location = location.ok_or_else(|| nowhere("it names no location"))?;
    let location = String::from_utf8_lossy(location.as_bytes());
    let url = request
        .hop
        .url
        .join(&location)
        .map_err(|error| nowhere(&format!("its location is not a URL ({error})")))?;
    let hop = Hop::new(url).map_err(|why| nowhere(&format!("its location {why}")))?;
    let Prepared { mut method, mut headers, mut body, .. } = request;
    // As browsers do: a POST becomes a GET, and after 303 all but HEAD do.
    let status = answer.status.as_u16();
    let becomes_get = match status {
        301 | 302 => method == Method::POST,
        303 => method != Method::HEAD && method != Method::GET,
        _ => false,
    };
    if becomes_get {
        method = Method::GET;
        body = Bytes::new();
        headers.remove(header::CONTENT_TYPE);
        headers.remove(header::CONTENT_ENCODING);
    }
    if hop.endpoint != request.hop.endpoint {
        drop_credentials(&mut headers);
    }
    Ok(Prepared { method, hop, headers, body, ..request })
}

/// What was meant for one origin is not for another.
fn drop_credentials(headers: &mut HeaderMap) {
    headers.remove(header::AUTHORIZATION);
    headers.remove(header::COOKIE);
    // What holds a secret, whatever its name is.
    let secret = headers.iter().filter(|(_, value)| value.is_sensitive());
    for name in secret.map(|(name, _)| name.clone()).collect::<Vec<_>>() {
        headers.remove(name);
    }
}

fn response(answer: Answer, hop: Hop) -> (Response, Body) {
    let headers = answer
        .headers
        .iter()
        .map(|(name, value)| Header {
            name: name.as_str().to_owned(),
            value: String::from_utf8_lossy(value.as_bytes()).into_owned(),
        })
        .collect();
    let response = Response {
        status: answer.status.as_u16(),
        headers,
        body: Vec::new(),
        url: hop.url.into(),
        timings: Timings::default(),
        certificate: answer.body.certificate(),
    };
    (response, answer.body)
}
