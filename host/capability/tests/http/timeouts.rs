//! P3: one deadline over all phases, and which one it met.

use std::time::Duration;

use probehost_capability::CallResult;
use probehost_capability::http::{Error, ErrorKind, Phase};

use crate::server::{Blackhole, Server, Step, answer};
use crate::{capabilities, request, run};

const SHORT: Duration = Duration::from_millis(1000);

async fn cut(method: &str, url: String) -> Error {
    let run = run(&["*://*:*"], SHORT);
    let begun = std::time::Instant::now();
    let error = capabilities(&[]).http().send(&run, request(method, url)).await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::Timeout, "{error}");
    assert!(begun.elapsed() >= SHORT - Duration::from_millis(5));
    assert!(error.message.starts_with("timeout after "), "{error}");
    // P5: whoever cuts the run can say the same.
    assert_eq!(run.timeout_message().as_deref(), Some(error.message.as_str()));
    let result = run.take_trace().calls.remove(0).result;
    assert_eq!(result, CallResult::TimedOut(error.message.clone()));
    error
}

#[tokio::test]
async fn connecting() {
    let blackhole = Blackhole::new().await;
    let error = cut("HEAD", format!("http://{}/", blackhole.address)).await;
    assert_eq!(error.phase, Phase::Connect);
    let says = format!(" connecting to {}", blackhole.address);
    assert!(error.message.ends_with(&says), "{error}");
    assert!(error.timings.connect.unwrap() >= Duration::from_millis(900));
}

#[tokio::test]
async fn first_byte() {
    let server = Server::play(vec![Step::Read, Step::Hang]).await;
    let error = cut("HEAD", server.url("/")).await;
    assert_eq!(error.phase, Phase::FirstByte);
    let says = format!("waiting for the first byte from {} (connect ", server.address);
    assert!(error.message.contains(&says), "{error}");
    assert!(error.timings.connect.is_some() && error.timings.first_byte.is_some());
}

/// A byte a second is no answer: in the head,
#[tokio::test]
async fn a_dripping_head() {
    let mut script = answer("HTTP/1.1 200 OK\na: ");
    script.push(Step::Drip(Duration::from_millis(100)));
    let server = Server::play(script).await;
    let error = cut("HEAD", server.url("/")).await;
    assert_eq!(error.phase, Phase::Body);
    assert!(error.message.contains("reading the answer of"), "{error}");
    assert!(error.message.contains(" bytes in (connect "), "{error}");
}

/// nor in the body.
#[tokio::test]
async fn a_dripping_body() {
    let mut script = answer("HTTP/1.1 200 OK\nContent-Length: 1000\n\n");
    script.push(Step::Drip(Duration::from_millis(100)));
    let server = Server::play(script).await;
    let error = cut("GET", server.url("/")).await;
    assert_eq!(error.phase, Phase::Body);
    assert!(error.message.contains(", first byte "), "{error}");
}

/// A deadline that has passed already lets nothing begin to wait.
#[tokio::test]
async fn no_time_at_all() {
    let blackhole = Blackhole::new().await;
    let run = run(&["*://*:*"], Duration::ZERO);
    let request = request("HEAD", format!("http://{}/", blackhole.address));
    let error = capabilities(&[]).http().send(&run, request).await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::Timeout);
}
