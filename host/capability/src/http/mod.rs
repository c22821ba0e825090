//! The `http` capability of WIT version 1: HTTP/1.1 requests, each on a fresh connection.
//!
//! Made on hyper beneath a client of its own, because a probe wants what clients hide: the
//! times of the phases, the certificate, no pool, and no task beside the call. The connection
//! is polled together with the request, so a call that is dropped leaves nothing behind.

mod error;
mod exchange;
mod redirect;
mod request;
mod types;

use std::sync::Arc;

use rustls::ClientConfig;

use crate::SetupError;
use crate::egress::{Egress, EgressError};
use crate::run::{CallResult, Run};
use crate::secrets::Secrets;
use crate::tls::{self, Roots};

pub use crate::run::{Phase, Timings};
pub use crate::tls::Certificate;
pub use types::{Error, ErrorKind, Header, HeaderValue, Request, RequestHeader, Response};

use error::Failure;
use request::{Credentials, Prepared};

/// Most bytes of a body, in either direction.
pub const MAX_BODY_BYTES: u32 = 4 * 1024 * 1024;
/// Most redirects that are followed.
pub const MAX_REDIRECTS: u8 = 10;
/// Most bytes of an answer's head.
pub const MAX_HEAD_BYTES: usize = 64 * 1024;

/// Sends requests.
#[derive(Debug)]
pub struct Http {
    egress: Arc<Egress>,
    /// None: there is no certificate to trust on this machine.
    tls: Option<Arc<ClientConfig>>,
    secrets: Secrets,
}

impl Http {
    pub(crate) fn new(
        egress: Arc<Egress>,
        roots: &Roots,
        secrets: Secrets,
    ) -> Result<Self, SetupError> {
        let tls = tls::judge(roots)?.map(|judge| tls::verifying(judge, &["http/1.1"]));
        Ok(Self { egress, tls: tls.transpose()?, secrets })
    }

    /// Sends one request and waits for the answer, at most until the run's deadline. The call
    /// is noted in the run's trace.
    ///
    /// # Errors
    ///
    /// [`Error`] names host and port and the phase; a request that is not granted has the line
    /// that would grant it.
    pub async fn send(&self, run: &Run, request: Request) -> Result<Response, Error> {
        let credentials = Credentials { grants: run.grants(), secrets: &self.secrets };
        let prepared = Prepared::new(request, credentials);
        let what = match &prepared {
            Ok(prepared) => prepared.what(),
            Err(invalid) => invalid.what.clone(),
        };
        let call = run.begin("http", what);
        let done = match prepared {
            Err(invalid) => Err(invalid.failure),
            Ok(prepared) => {
                let answer = redirect::follow(self, &call, prepared);
                match tokio::time::timeout_at(run.deadline(), answer).await {
                    Ok(done) => done,
                    Err(_) => Err(Failure::new(ErrorKind::Timeout, call.timeout_message())),
                }
            }
        };
        let phase = call.phase();
        match done {
            Ok(mut response) => {
                response.timings = call.finish(CallResult::Ok);
                Ok(response)
            }
            Err(failure) => {
                let timings = call.finish(failure.result());
                Err(Error {
                    kind: failure.kind,
                    phase,
                    message: failure.message,
                    timings,
                    certificate: failure.certificate,
                })
            }
        }
    }
}

impl From<EgressError> for Failure {
    fn from(error: EgressError) -> Self {
        match error {
            EgressError::Denied(denied) => Self::denied(denied),
            EgressError::Resolve(error) => Self::resolve(&error),
            EgressError::Dial(failed) => Self::dial(&failed),
        }
    }
}
