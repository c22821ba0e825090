//! One request to one origin, on a connection of its own.

mod stream;

use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::Poll;

use http::header::{self, HeaderMap};
use http::{Request, StatusCode};
use http_body::Body as _;
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use probehost_model::Scheme;
use rustls::pki_types::ServerName;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use super::error::Failure;
use super::request::{Hop, Prepared};
use super::types::ErrorKind;
use super::{Http, MAX_HEAD_BYTES};
use crate::run::{ActiveCall, Phase};
use crate::tls::{self, Certificate};
use stream::Metered;

/// How a failure before, and one in, the answer is put.
const UNANSWERED: &str = "before it answered";
const INCOMPLETE: &str = "before its answer was complete";

/// What came back.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) status: StatusCode,
    pub(super) headers: HeaderMap,
    pub(super) body: Vec<u8>,
    pub(super) certificate: Option<Certificate>,
}

/// Connects, sends and reads. `wants_body` says by the status whether the body is of interest.
pub(super) async fn exchange(
    http: &Http,
    call: &ActiveCall<'_>,
    request: &Prepared,
    wants_body: impl Fn(StatusCode) -> bool,
) -> Result<Answer, Failure> {
    let hop = &request.hop;
    let peer = hop.peer();
    call.begin_hop(peer.clone());
    let limit = |status| request.body_limit.filter(|_| wants_body(status));
    let message = message(request)?;
    let tcp = http.egress.connect(call, &hop.endpoint, &hop.host, hop.port).await?;
    match hop.scheme {
        Scheme::Http => {
            call.enter(Phase::FirstByte);
            converse(call, &peer, tcp, message, limit).await
        }
        Scheme::Https => {
            call.enter(Phase::Tls);
            let (tls, certificate) = handshake(http, hop, &peer, tcp).await?;
            call.enter(Phase::FirstByte);
            match converse(call, &peer, tls, message, limit).await {
                Ok(answer) => Ok(Answer { certificate, ..answer }),
                Err(failure) => Err(failure.with_certificate(certificate)),
            }
        }
    }
}

fn message(request: &Prepared) -> Result<Request<Full<bytes::Bytes>>, Failure> {
    let mut message = Request::new(Full::new(request.body.clone()));
    *message.method_mut() = request.method.clone();
    *message.uri_mut() = request.hop.target()?;
    *message.headers_mut() = request.headers.clone();
    message.headers_mut().insert(header::HOST, request.hop.authority()?);
    Ok(message)
}

async fn handshake(
    http: &Http,
    hop: &Hop,
    peer: &str,
    tcp: TcpStream,
) -> Result<(TlsStream<TcpStream>, Option<Certificate>), Failure> {
    let Some(config) = &http.tls else {
        return Err(Failure::new(ErrorKind::Host, tls::untrusting(peer)));
    };
    let bare = hop.host.strip_suffix('.').unwrap_or(&hop.host);
    let name = ServerName::try_from(bare.to_owned()).map_err(|_| {
        Failure::new(ErrorKind::Invalid, format_args!("{bare:?} can't be the name of a TLS server"))
    })?;
    let tls = TlsConnector::from(Arc::clone(config))
        .connect(name, tcp)
        .await
        .map_err(|error| Failure::handshake(peer, &error))?;
    let leaf = tls.get_ref().1.peer_certificates().and_then(|chain| chain.first());
    let certificate = leaf.and_then(|leaf| tls::read(leaf));
    Ok((tls, certificate))
}

/// Sends `message` and reads the answer; polls the connection along with both.
async fn converse<S: AsyncRead + AsyncWrite + Unpin>(
    call: &ActiveCall<'_>,
    peer: &str,
    stream: S,
    message: Request<Full<bytes::Bytes>>,
    limit: impl Fn(StatusCode) -> Option<usize>,
) -> Result<Answer, Failure> {
    let unanswered = |error: hyper::Error| Failure::exchange(peer, UNANSWERED, &error);
    let (mut sender, connection) = http1::Builder::new()
        // The first bounds a head that comes whole, the second one that does not end.
        .max_header_size(MAX_HEAD_BYTES)
        .max_buf_size(MAX_HEAD_BYTES)
        .handshake(TokioIo::new(Metered::new(stream, call)))
        .await
        .map_err(unanswered)?;
    let mut connection = pin!(connection);
    let mut answer = pin!(sender.send_request(message));
    // After its end a connection must not be polled again.
    let mut ended: Option<Result<(), hyper::Error>> = None;
    let answer = poll_fn(|cx| {
        if ended.is_none()
            && let Poll::Ready(end) = connection.as_mut().poll(cx)
        {
            ended = Some(end);
        }
        match answer.as_mut().poll(cx) {
            Poll::Ready(answer) => Poll::Ready(answer.map_err(unanswered)),
            Poll::Pending => match ended.take() {
                None => Poll::Pending,
                Some(Ok(())) => Poll::Ready(Err(Failure::closed(peer, UNANSWERED))),
                Some(Err(error)) => Poll::Ready(Err(unanswered(error))),
            },
        }
    })
    .await?;
    let (head, body) = answer.into_parts();
    let body = match limit(head.status) {
        None => Vec::new(),
        Some(limit) => {
            let is_open = ended.is_none();
            read(peer, connection.as_mut(), is_open, body, limit).await?
        }
    };
    Ok(Answer { status: head.status, headers: head.headers, body, certificate: None })
}

/// Reads a body of at most `limit` bytes.
async fn read(
    peer: &str,
    mut connection: Pin<&mut impl Future<Output = Result<(), hyper::Error>>>,
    mut is_open: bool,
    mut body: Incoming,
    limit: usize,
) -> Result<Vec<u8>, Failure> {
    let too_large = || {
        Failure::new(
            ErrorKind::TooLarge,
            format_args!("the answer of {peer} has a body of more than {limit} bytes"),
        )
    };
    let least = usize::try_from(body.size_hint().lower()).unwrap_or(usize::MAX);
    if least > limit {
        return Err(too_large());
    }
    let mut bytes = Vec::with_capacity(least);
    loop {
        let frame = poll_fn(|cx| {
            // What breaks the connection comes out of the body too.
            if is_open && connection.as_mut().poll(cx).is_ready() {
                is_open = false;
            }
            match Pin::new(&mut body).poll_frame(cx) {
                Poll::Pending if !is_open => Poll::Ready(Some(Err(None))),
                Poll::Pending => Poll::Pending,
                Poll::Ready(frame) => Poll::Ready(frame.map(|frame| frame.map_err(Some))),
            }
        });
        match frame.await {
            None => return Ok(bytes),
            Some(Err(None)) => return Err(Failure::closed(peer, INCOMPLETE)),
            Some(Err(Some(error))) => return Err(Failure::exchange(peer, INCOMPLETE, &error)),
            Some(Ok(frame)) => {
                // Trailers are of no interest.
                let Ok(data) = frame.into_data() else { continue };
                if bytes.len() + data.len() > limit {
                    return Err(too_large());
                }
                bytes.extend_from_slice(&data);
            }
        }
    }
}
