//! The http capability against servers that play scripts: every kind of error, provoked.

// Helpers of tests may fail as tests do.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

mod addresses;
mod answers;
mod failures;
mod names;
mod redirects;
mod requests;
mod secrets;
mod server;
mod streams;
mod timeouts;
mod tls;

use std::net::IpAddr;
use std::time::Duration;

use probehost_capability::http::{Error, Request, Response};
use probehost_capability::resolve::Resolver;
use probehost_capability::{Capabilities, Options, Run};
use probehost_model::grant::Grants;
use tokio::time::Instant;

/// Long enough that it is never met.
const AMPLE: Duration = Duration::from_secs(30);

/// Capabilities that know the names of `table` and trust nobody.
fn capabilities(table: &[(&str, &[&str])]) -> Capabilities {
    let table = table.iter().map(|(name, addresses)| {
        let addresses = addresses.iter().map(|text| text.parse::<IpAddr>().unwrap()).collect();
        ((*name).to_owned(), addresses)
    });
    with_resolver(Resolver::fixed(table))
}

fn with_resolver(resolver: Resolver) -> Capabilities {
    Capabilities::new(Options { resolver, system_roots: false, root_files: Vec::new() }).unwrap()
}

/// A run that may reach what `allowed` says.
fn run(allowed: &[&str], budget: Duration) -> Run {
    let allowed = allowed.iter().map(|text| text.parse().unwrap()).collect();
    Run::new("tester", Grants::new([], allowed), Instant::now() + budget)
}

/// A run that may reach whatever needs no literal grant, and has time.
fn free() -> Run {
    run(&["*://*:*"], AMPLE)
}

fn request(method: &str, url: impl Into<String>) -> Request {
    Request {
        method: method.to_owned(),
        url: url.into(),
        headers: Vec::new(),
        body: None,
        redirects: 0,
        body_limit: 1024,
    }
}

/// Sends with a free run.
async fn send(request: Request) -> Result<Response, Error> {
    capabilities(&[]).http().send(&free(), request).await
}
