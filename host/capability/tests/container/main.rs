//! The container capability against a real engine, and against what only looks like one.

// Helpers of tests may fail as tests do.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

mod odd;
mod real;
mod tls;

use std::time::Duration;

use probehost_capability::container::{Engine, Error, Report};
use probehost_capability::resolve::Resolver;
use probehost_capability::{Capabilities, Options, Run};
use probehost_model::Endpoint;
use probehost_model::grant::Grants;
use tokio::time::Instant;

/// More time than a test takes.
const AMPLE: Duration = Duration::from_secs(30);

/// Capabilities with this engine.
fn with_engine(engine: &str) -> Capabilities {
    capabilities(engine.parse().unwrap())
}

fn capabilities(engine: Engine) -> Capabilities {
    let options =
        Options { resolver: Resolver::fixed([]), system_roots: false, root_files: Vec::new() };
    Capabilities::new(options).unwrap().with_engine(engine)
}

/// A run that may look at this container.
fn run(name: &str, budget: Duration) -> Run {
    let grants = Grants::new([Endpoint::Container(name.to_owned())], Vec::new());
    Run::new("container-inspect", grants, Instant::now() + budget)
}

/// Looks at a container.
async fn inspect(engine: &str, name: &str, budget: Duration) -> Result<Report, Error> {
    with_engine(engine).containers().inspect(&run(name, budget), name).await
}
