//! Serves the API and the page: connections, their limits, and TLS.

mod certificates;

use std::io;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::{GracefulShutdown, Watcher};
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::time::{sleep, timeout};
use tokio_io_timeout::TimeoutWriter;
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;
use tracing::{debug, warn};

pub use certificates::CertificateError;
pub(crate) use certificates::Certificates;

/// Most connections at once; one more is closed again.
const CONNECTIONS: usize = 1024;
/// How long a client may take for a TLS handshake.
const HANDSHAKE: Duration = Duration::from_secs(10);
/// How long it may take until the head of a request is there, also from one request to the next.
const HEAD: Duration = Duration::from_secs(30);
/// How long a client that reads nothing is waited for. It can resume an event stream.
const STALLED: Duration = Duration::from_secs(30);
/// Most headers of a request.
const HEADERS: usize = 64;
/// Largest head of a request, in bytes.
const HEAD_BYTES: usize = 32 * 1024;
/// The pause after a connection could not be taken: mostly, no file is left.
const PAUSE: Duration = Duration::from_millis(100);

/// Serves until `stop` is cancelled, then finishes what is being answered.
pub(crate) async fn serve(
    listener: TcpListener,
    acceptor: Option<TlsAcceptor>,
    router: Router,
    stop: CancellationToken,
) {
    let graceful = GracefulShutdown::new();
    let places = Arc::new(Semaphore::new(CONNECTIONS));
    loop {
        let accepted = tokio::select! {
            biased;
            () = stop.cancelled() => break,
            accepted = listener.accept() => accepted,
        };
        let stream = match accepted {
            Ok((stream, _)) => stream,
            Err(error) => {
                if !is_of_client(&error) {
                    warn!(%error, "a connection to the API could not be taken");
                    sleep(PAUSE).await;
                }
                continue;
            }
        };
        let Ok(place) = Arc::clone(&places).try_acquire_owned() else {
            warn!(most = CONNECTIONS, "the API has no room for another connection");
            continue;
        };
        // An event is small, and is wanted at once. A client may be gone already.
        let _ = stream.set_nodelay(true);
        let (router, watcher, acceptor) = (router.clone(), graceful.watcher(), acceptor.clone());
        tokio::spawn(async move {
            let _place = place;
            match acceptor {
                None => answer(stream, router, watcher).await,
                Some(acceptor) => answer_tls(acceptor, stream, router, watcher).await,
            }
        });
    }
    drop(listener);
    graceful.shutdown().await;
}

async fn answer_tls(acceptor: TlsAcceptor, stream: TcpStream, router: Router, watcher: Watcher) {
    match timeout(HANDSHAKE, acceptor.accept(stream)).await {
        Ok(Ok(stream)) => answer(stream, router, watcher).await,
        Ok(Err(error)) => debug!(%error, "a TLS handshake failed"),
        Err(_) => debug!("a TLS handshake took too long"),
    }
}

async fn answer(
    stream: impl AsyncRead + AsyncWrite + Send + 'static,
    router: Router,
    watcher: Watcher,
) {
    let mut stream = TimeoutWriter::new(stream);
    stream.set_timeout(Some(STALLED));
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD)
        .max_headers(HEADERS)
        .max_buf_size(HEAD_BYTES)
        .serve_connection(TokioIo::new(Box::pin(stream)), TowerToHyperService::new(router));
    if let Err(error) = watcher.watch(connection).await {
        debug!(%error, "a connection to the API ended badly");
    }
}

/// Whether it is over with that one connection.
fn is_of_client(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::ConnectionRefused
            | io::ErrorKind::ConnectionAborted
            | io::ErrorKind::ConnectionReset
    )
}

#[cfg(test)]
mod tests;
