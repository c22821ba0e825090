//! A restart by the container engine.

use std::time::Duration;

use bollard::query_parameters::RestartContainerOptionsBuilder;

use super::RestartError;
use crate::container::error::Failure;
use crate::container::{Engine, check_name};
use crate::text::Span;

/// How many seconds a container may take to stop before it is killed.
const GRACE: u64 = 10;

pub(super) async fn restart(
    engine: &Engine,
    name: &str,
    limit: Duration,
) -> Result<(), RestartError> {
    check_name(name)?;
    match tokio::time::timeout(limit, ask(engine, name, grace(limit))).await {
        Ok(done) => Ok(done?),
        Err(_) => {
            let waited = format!("timeout after {} waiting for the restart of {name}", Span(limit));
            Err(Failure::silent(engine, &waited).into())
        }
    }
}

async fn ask(engine: &Engine, name: &str, grace: i32) -> Result<(), Failure> {
    let asked = format!("the restart of {name}");
    let failed = |error| Failure::of(engine, &asked, name, error);
    let client = engine.client().map_err(failed)?;
    let found = client.inspect_container(name, None).await.map_err(failed)?;
    if found.state.and_then(|state| state.paused).unwrap_or(false) {
        // Frozen, it can't stop in an orderly way, and podman does not restart it at all. What comes
        // of this shows in the restart: someone else may have done it meanwhile.
        let _tried = client.unpause_container(name).await;
    }
    let options = RestartContainerOptionsBuilder::default().t(grace).build();
    client.restart_container(name, Some(options)).await.map_err(failed)
}

/// In whole seconds, as engines take it. Half of the limit is left for the start.
fn grace(limit: Duration) -> i32 {
    i32::try_from(GRACE.min(limit.as_secs() / 2)).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// L9: there is time for the start, however short the limit is.
    #[test]
    fn a_short_limit_shortens_the_grace() {
        for (limit, wanted) in [(0, 0), (1, 0), (2, 1), (5, 2), (20, 10), (3600, 10)] {
            assert_eq!(grace(Duration::from_secs(limit)), wanted, "{limit} s");
        }
    }
}
