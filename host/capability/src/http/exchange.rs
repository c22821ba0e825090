//! One request to one origin, on a connection of its own.

mod body;
mod stream;

use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;

use http::header::{self, HeaderMap};
use http::{Request, StatusCode};
use http_body_util::Full;
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
pub(super) use body::Body;
use body::Connection;
use stream::Metered;

/// How a failure before the answer is put.
const UNANSWERED: &str = "before it answered";

/// What came back. Its body is yet to be read.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) status: StatusCode,
    pub(super) headers: HeaderMap,
    pub(super) body: Body,
}

/// Connects, sends and waits for the head of the answer. `wants_body` says by the status whether the body is of interest.
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
                Ok(answer) => Ok(Answer { body: answer.body.behind(certificate), ..answer }),
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

/// Sends `message` and waits for the head of the answer; polls the connection along with that.
async fn converse<S: AsyncRead + AsyncWrite + Unpin + Send + 'static>(
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
        .handshake(TokioIo::new(Metered::new(stream, call.run().clone())))
        .await
        .map_err(unanswered)?;
    let mut connection: Connection = Box::pin(connection);
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
        None => Body::none(peer),
        Some(limit) => Body::new(peer, ended.is_none().then_some(connection), body, limit),
    };
    Ok(Answer { status: head.status, headers: head.headers, body })
}
