//! The `container` capability of WIT version 1: looks at containers over an engine's API.
//!
//! Docker and podman speak the same API with an accent. One call is one request on a connection of
//! its own, and it reads only (contract C1): there is nothing here that changes a container.

mod engine;
mod engine_error;
pub(crate) mod error;
mod read;
mod tls;
mod types;

use probehost_model::{Endpoint, sanitize};

use crate::egress::Egress;
use crate::run::{ActiveCall, CallResult, Phase, Run};

pub use engine::Engine;
pub use engine_error::EngineError;
pub use tls::Tls;
pub use types::{Error, ErrorKind, Health, Report, State};

use error::Failure;

/// Longest name or id of a container, in bytes.
const MAX_NAME: usize = 255;

/// Looks at containers.
#[derive(Debug)]
pub struct Containers {
    engine: Engine,
}

impl Containers {
    pub(crate) const fn new(engine: Engine) -> Self {
        Self { engine }
    }

    /// Looks at the container of this name or id, at most until the run's deadline. The call is
    /// noted in the run's trace.
    ///
    /// # Errors
    ///
    /// [`Error`] names container and engine. Only [`ErrorKind::NotFound`] says something about
    /// the container.
    pub async fn inspect(&self, run: &Run, name: &str) -> Result<Report, Error> {
        let call = run.begin("container", sanitize(&format!("inspect {name}")));
        let work = self.work(&call, name);
        let done = match tokio::time::timeout_at(run.deadline(), work).await {
            Ok(done) => done,
            Err(_) => Err(Failure::silent(&self.engine, &call.timeout_message())),
        };
        match done {
            Ok(mut report) => {
                report.total = call.finish(CallResult::Ok).total;
                Ok(report)
            }
            Err(failure) => {
                let total = call.finish(failure.result()).total;
                let Failure { kind, message, .. } = failure;
                Err(Error { kind, message, total })
            }
        }
    }

    async fn work(&self, call: &ActiveCall<'_>, name: &str) -> Result<Report, Failure> {
        check_name(name)?;
        Egress::check(call, &Endpoint::Container(name.to_owned()))?;
        call.begin_hop(self.engine.to_string());
        call.enter(Phase::FirstByte);
        let asked = format!("the question for {name}");
        let failed = |error| Failure::of(&self.engine, &asked, name, error);
        let client = self.engine.client().map_err(failed)?;
        let answer = client.inspect_container(name, None).await.map_err(failed)?;
        read::report(answer).ok_or_else(|| Failure::without_state(&self.engine, name))
    }
}

/// Refuses what engines don't take for a name: it becomes a part of a path.
pub(crate) fn check_name(name: &str) -> Result<(), Failure> {
    if is_name(name) {
        return Ok(());
    }
    Err(Failure::new(
        ErrorKind::Invalid,
        format_args!(
            "{name:?} is not the name or the id of a container; those have letters, digits, '_', \
             '.' and '-', and begin with a letter or a digit"
        ),
    ))
}

fn is_name(text: &str) -> bool {
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-');
    text.len() <= MAX_NAME
        && text.starts_with(|c: char| c.is_ascii_alphanumeric())
        && text.chars().all(fits)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// G2: a name can't become another request.
    #[test]
    fn names_are_names() {
        for name in ["web", "3f2a", "my_app.web-1"] {
            assert!(is_name(name), "{name}");
        }
        for name in ["", "../info", "web/json", "web?all=1", ".web", "-web", "wéb", "a b", "a%2f"]
        {
            assert!(!is_name(name), "{name}");
        }
        assert!(!is_name(&"a".repeat(MAX_NAME + 1)));
    }
}
