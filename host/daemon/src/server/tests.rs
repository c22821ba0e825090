//! Readers that stall, on a driven clock.

use std::convert::Infallible;

use axum::body::{Body, Bytes};
use axum::routing::get;
use futures_util::stream;
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream};
use tokio::task::JoinHandle;
use tokio::time::Instant;

use super::*;

/// What a connection holds of an answer that nobody reads yet, in bytes.
const ROOM: usize = 1024;
/// How long until an answer has filled that: no time passes while somebody can go on.
const FILLED: Duration = Duration::from_millis(1);

/// A connection to a server that answers without end, asked and with the head of the answer read.
async fn connected() -> (DuplexStream, JoinHandle<()>) {
    let endless = || async {
        let chunk = || Ok::<_, Infallible>(Bytes::from_static(&[b'x'; 64]));
        Body::from_stream(stream::repeat_with(chunk))
    };
    let router = Router::new().route("/", get(endless));
    let (mut client, served) = tokio::io::duplex(ROOM);
    let connection = tokio::spawn(async move {
        let graceful = GracefulShutdown::new();
        answer(served, router, graceful.watcher()).await;
    });
    client.write_all(b"GET / HTTP/1.1\r\nHost: here\r\n\r\n").await.unwrap();
    let mut head = vec![0; 64];
    client.read_exact(&mut head).await.unwrap();
    assert!(head.starts_with(b"HTTP/1.1 200 OK\r\n"), "{head:?}");
    (client, connection)
}

/// E2: a reader that takes nothing is dropped after a while, and what was sent before can be read;
/// so it cannot hold its place for ever, and it resumes where it was.
#[tokio::test(start_paused = true)]
async fn a_reader_that_stalls_is_dropped() {
    let (mut client, connection) = connected().await;
    let began = Instant::now();
    timeout(2 * STALLED, connection).await.unwrap().unwrap();
    let took = began.elapsed();
    assert!(took >= STALLED && took < STALLED + FILLED, "{took:?}");
    let mut rest = Vec::new();
    client.read_to_end(&mut rest).await.unwrap();
    assert!(!rest.is_empty() && rest.len() <= ROOM, "{}", rest.len());
}

/// E2: one that is slow but goes on reading is not: what counts is the time without any progress.
#[tokio::test(start_paused = true)]
async fn a_slow_reader_is_kept() {
    let (mut client, connection) = connected().await;
    let mut some = vec![0; ROOM];
    for _ in 0..10 {
        sleep(STALLED - FILLED).await;
        client.read_exact(&mut some).await.unwrap();
        assert!(!connection.is_finished());
    }
    drop(client);
    connection.await.unwrap();
}
