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

use bytes::Bytes;
use rustls::ClientConfig;

use crate::SetupError;
use crate::egress::{Egress, EgressError};
use crate::run::{ActiveCall, CallResult, Run};
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
        let begun = tls::judge(roots)?.map(tls::verifying).transpose()?;
        let tls = begun.map(|begun| tls::for_probes(begun, &["http/1.1"]));
        Ok(Self { egress, tls, secrets })
    }

    /// Sends one request and waits for the answer, at most until the run's deadline. The call
    /// is noted in the run's trace.
    ///
    /// # Errors
    ///
    /// [`Error`] names host and port and the phase; a request that is not granted has the line
    /// that would grant it.
    pub async fn send(&self, run: &Run, request: Request) -> Result<Response, Error> {
        self.call(run, request, async |(response, body)| {
            Ok((Response { body: body.rest().await?, ..response }, ()))
        })
        .await
        .map(|(response, ())| response)
    }

    /// Sends one request and waits for the head of the answer, as [`send`](Self::send) does. The
    /// body of the answer is empty: it is what comes out of the [`Body`], and the request's limit
    /// is one for all of that. Dropping the `Body` closes the connection.
    ///
    /// # Errors
    ///
    /// As those of [`send`](Self::send).
    pub async fn open(&self, run: &Run, request: Request) -> Result<(Response, Body), Error> {
        self.call(run, request, async |(response, inner)| {
            Ok((response, Body { run: run.clone(), inner }))
        })
        .await
    }

    /// One call; `take` is given the answer when its head is there.
    async fn call<T>(
        &self,
        run: &Run,
        request: Request,
        take: impl AsyncFnOnce((Response, exchange::Body)) -> Result<(Response, T), Failure>,
    ) -> Result<(Response, T), Error> {
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
                let answer = async { take(redirect::follow(self, &call, prepared).await?).await };
                in_time(&call, answer).await
            }
        };
        let (timings, done) = finish(call, done);
        let (mut response, taken) = done?;
        response.timings = timings;
        Ok((response, taken))
    }
}

/// The body of an answer, to be read piece by piece. Dropping it closes the connection.
#[derive(Debug)]
pub struct Body {
    run: Run,
    inner: exchange::Body,
}

impl Body {
    /// The next bytes, at least one and at most `limit`; none when there are no more. At most until
    /// the run's deadline. The call is noted in the run's trace.
    ///
    /// # Errors
    ///
    /// The connection broke, there was nothing in time, or more has come in all than the request
    /// allowed. Nothing can be read after that.
    pub async fn read(&mut self, limit: u32) -> Result<Option<Vec<u8>>, Error> {
        let Self { run, inner } = self;
        let limit = usize::try_from(limit).unwrap_or(usize::MAX).max(1);
        let call = run.begin("http", format!("read of the answer of {}", inner.peer()));
        call.begin_hop(inner.peer().to_owned());
        call.enter(Phase::Body);
        run.received(inner.came());
        let done = in_time(&call, inner.next(limit)).await;
        finish(call, done).1.map(|piece| piece.map(Vec::from))
    }

    /// As [`read`](Self::read), noted in the trace only when it fails: for guests that read in
    /// pieces which they don't choose.
    ///
    /// # Errors
    ///
    /// As those of [`read`](Self::read).
    pub async fn next(&mut self) -> Result<Option<Bytes>, Error> {
        let Self { run, inner } = self;
        let done = tokio::time::timeout_at(run.deadline(), inner.next(usize::MAX)).await;
        if let Ok(Ok(piece)) = done {
            return Ok(piece);
        }
        let call = run.begin("http", format!("read of the answer of {}", inner.peer()));
        call.begin_hop(inner.peer().to_owned());
        call.enter(Phase::Body);
        run.received(inner.came());
        let late = || Err(Failure::new(ErrorKind::Timeout, call.timeout_message()));
        let done = done.unwrap_or_else(|_| late());
        finish(call, done).1
    }
}

async fn in_time<T>(
    call: &ActiveCall<'_>,
    work: impl Future<Output = Result<T, Failure>>,
) -> Result<T, Failure> {
    match tokio::time::timeout_at(call.run().deadline(), work).await {
        Ok(done) => done,
        Err(_) => Err(Failure::new(ErrorKind::Timeout, call.timeout_message())),
    }
}

/// Ends a call with what came of it.
fn finish<T>(call: ActiveCall<'_>, done: Result<T, Failure>) -> (Timings, Result<T, Error>) {
    let phase = call.phase();
    match done {
        Ok(value) => (call.finish(CallResult::Ok), Ok(value)),
        Err(failure) => {
            let timings = call.finish(failure.result());
            let Failure { kind, message, certificate, .. } = failure;
            (timings, Err(Error { kind, phase, message, timings, certificate }))
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
