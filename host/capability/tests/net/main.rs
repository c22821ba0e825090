//! The tcp, udp and dns capabilities against real servers on loopback.

// Helpers of tests may fail as tests do.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

mod dns;
mod grants;
mod tcp;
mod tls;
mod udp;

use std::net::IpAddr;
use std::time::Duration;

use probehost_capability::resolve::Resolver;
use probehost_capability::{CallResult, Capabilities, Options, Run};
use probehost_model::grant::Grants;
use tokio::time::Instant;

/// Long enough that it is never met.
const AMPLE: Duration = Duration::from_secs(30);

/// Short enough to wait for.
const SHORT: Duration = Duration::from_millis(600);

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

/// A run that may reach whatever needs no literal grant, within `budget`.
fn free(budget: Duration) -> Run {
    run(&["*://*:*", "dns:*"], budget)
}

/// The lines that would grant what was denied, in the run's order.
fn denied(run: &Run) -> Vec<String> {
    let calls = run.take_trace().calls.into_iter();
    calls
        .filter_map(|call| match call.result {
            CallResult::Denied { grant_line, .. } => Some(grant_line),
            _ => None,
        })
        .collect()
}
