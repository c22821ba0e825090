//! `wasi:http/outgoing-handler`: requests go the way of the `http` capability.

use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::request::Parts;
use http::{HeaderMap, HeaderName, HeaderValue, Response, StatusCode, header};
use http_body::{Body, Frame};
use http_body_util::{BodyExt as _, Limited};
use probehost_capability::http as cap;
use wasmtime_wasi_http::{Error, RequestOptions, WasiBody, WasiHttpHooks};

use super::net::{Net, Place};

/// Headers that the host sets by itself.
const HOST_SETS: [HeaderName; 5] =
    [header::HOST, header::CONTENT_LENGTH, header::EXPECT, header::TE, header::TRAILER];

/// How requests of the run are sent; none: they are not, as in `describe` and `plan`.
#[derive(Debug, Default)]
pub(crate) struct Hooks(pub(crate) Option<Net>);

/// What is to be done beside an answer: nothing, a body brings its connection forward by itself.
type Aside = Box<dyn Future<Output = Result<(), Error>> + Send>;

impl WasiHttpHooks for Hooks {
    fn send_request(
        &mut self,
        request: http::Request<WasiBody>,
        // Time is limited by the run's deadline.
        _: Option<RequestOptions>,
        _: Aside,
    ) -> Box<dyn Future<Output = Result<(Response<WasiBody>, Aside), Error>> + Send> {
        let net = self.0.clone();
        Box::new(async move {
            let net = net.ok_or(Error::HttpRequestDenied)?;
            let (head, body) = request.into_parts();
            let answer = send(net, head, body).await?;
            Ok((answer, Box::new(async { Ok(()) }) as Aside))
        })
    }
}

async fn send(net: Net, head: Parts, body: WasiBody) -> Result<Response<WasiBody>, Error> {
    let place = net.place().ok_or(Error::ConnectionLimitReached)?;
    let room = net.left().min(cap::MAX_BODY_BYTES as usize);
    // The guest can write it after it has asked for the request to be sent. When it does not, it
    // waits for itself, and not for its target.
    let whole = tokio::time::timeout_at(net.run().deadline(), Limited::new(body, room).collect());
    let body = match whole.await {
        Err(_) => return Err(Error::ConnectionWriteTimeout),
        Ok(Err(_)) => {
            return Err(Error::HttpRequestBodySize(Some(room.try_into().unwrap_or(u64::MAX))));
        }
        Ok(Ok(body)) => body.to_bytes(),
    };
    net.spend(body.len());
    let request = cap::Request {
        method: head.method.as_str().to_owned(),
        url: head.uri.to_string(),
        headers: headers(&head.headers)?,
        body: (!body.is_empty()).then(|| body.into()),
        redirects: 0,
        body_limit: u32::try_from(net.left()).unwrap_or(u32::MAX).max(1),
    };
    match net.capabilities().http().open(net.run(), request).await {
        Ok((head, body)) => {
            net.ended();
            answer(head, Answer { net, state: Reading::Idle(body), _place: place })
        }
        Err(error) => Err(failure(&net, error)),
    }
}

fn headers(given: &HeaderMap) -> Result<Vec<cap::RequestHeader>, Error> {
    let kept = given.iter().filter(|(name, _)| !HOST_SETS.contains(name));
    kept.map(|(name, value)| {
        let text = std::str::from_utf8(value.as_bytes()).map_err(|_| {
            let text = format!("the value of the header {name} is not UTF-8");
            Error::InternalError(Some(text))
        })?;
        Ok(cap::RequestHeader::text(name.as_str(), text))
    })
    .collect()
}

fn answer(head: cap::Response, body: Answer) -> Result<Response<WasiBody>, Error> {
    let mut response = Response::new(body.boxed_unsync());
    *response.status_mut() =
        StatusCode::from_u16(head.status).map_err(|_| Error::HttpProtocolError)?;
    for cap::Header { name, value } in head.headers {
        // They came over HTTP, so they are good ones.
        if let (Ok(name), Ok(value)) = (name.parse::<HeaderName>(), HeaderValue::try_from(value)) {
            response.headers_mut().append(name, value);
        }
    }
    Ok(response)
}

/// The body of an answer, read as the guest reads it.
struct Answer {
    net: Net,
    state: Reading,
    _place: Place,
}

enum Reading {
    Idle(cap::Body),
    Busy(Pin<Box<dyn Future<Output = (cap::Body, Piece)> + Send>>),
    Done,
}

type Piece = Result<Option<Bytes>, cap::Error>;

impl Body for Answer {
    type Data = Bytes;
    type Error = Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Error>>> {
        let Self { net, state, .. } = &mut *self;
        let mut next = match std::mem::replace(state, Reading::Done) {
            Reading::Done => return Poll::Ready(None),
            Reading::Busy(next) => next,
            Reading::Idle(mut body) => Box::pin(async move {
                let piece = body.next().await;
                (body, piece)
            }),
        };
        let Poll::Ready((body, piece)) = next.as_mut().poll(cx) else {
            *state = Reading::Busy(next);
            return Poll::Pending;
        };
        Poll::Ready(match piece {
            Ok(None) => None,
            Ok(Some(piece)) => {
                net.spend(piece.len());
                net.ended();
                *state = Reading::Idle(body);
                Some(Ok(Frame::data(piece)))
            }
            Err(error) => Some(Err(failure(net, error))),
        })
    }
}

/// What the guest is told of a request that failed. The run is told too where that is not the
/// target's doing.
fn failure(net: &Net, error: cap::Error) -> Error {
    use cap::{ErrorKind, Phase};

    match error.kind {
        // Nobody was asked.
        ErrorKind::Denied | ErrorKind::Invalid => {}
        ErrorKind::Host => net.host_failed(&error.message),
        _ => net.ended(),
    }
    match (error.kind, error.phase) {
        (ErrorKind::Denied, _) => Error::HttpRequestDenied,
        (ErrorKind::Invalid, _) => Error::HttpRequestUriInvalid,
        (ErrorKind::Timeout, Phase::Dns) => Error::DnsTimeout,
        (ErrorKind::Timeout, Phase::Connect | Phase::Tls) => Error::ConnectionTimeout,
        (ErrorKind::Timeout, _) => Error::HttpResponseTimeout,
        (ErrorKind::NameNotFound, _) => {
            Error::DnsError { rcode: Some("NXDOMAIN".to_owned()), info_code: None }
        }
        (ErrorKind::Resolver, _) => Error::DnsError { rcode: None, info_code: None },
        (ErrorKind::Refused, _) => Error::ConnectionRefused,
        (ErrorKind::Unreachable, _) => Error::DestinationIpUnroutable,
        (ErrorKind::Closed, Phase::Body) => Error::HttpResponseIncomplete,
        (ErrorKind::Closed, _) => Error::ConnectionTerminated,
        (ErrorKind::Tls, _) => Error::TlsCertificateError,
        (ErrorKind::Protocol, _) => Error::HttpProtocolError,
        (ErrorKind::TooLarge, Phase::Body) => Error::HttpResponseBodySize(None),
        (ErrorKind::TooLarge, _) => Error::HttpResponseHeaderSectionSize(None),
        (ErrorKind::Redirect, _) => Error::LoopDetected,
        (ErrorKind::Host, _) => Error::InternalError(Some(error.message)),
    }
}
