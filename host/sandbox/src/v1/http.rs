//! The `http` interface, served by the http capability.

use probehost_capability::http as cap;
use tokio::time::Instant;
use wasmtime::component::{Resource, ResourceTableError};

use super::bindings::probehost::plugin::http as wit;
use crate::state::State;

/// Most bodies that a run has open at once: each holds a socket of this host.
const MAX_BODIES: u32 = 4;

impl wit::Host for State {
    async fn send(&mut self, request: wit::Request) -> Result<wit::Response, wit::Error> {
        let Some(granted) = &self.granted else { return Err(ungranted()) };
        self.compute.call();
        let request = from_guest(request);
        let answer = granted.capabilities.http().send(&granted.run, request).await;
        self.asked(answer).map(response)
    }

    async fn open(
        &mut self,
        request: wit::Request,
    ) -> Result<(wit::Response, Resource<cap::Body>), wit::Error> {
        let Some(granted) = &self.granted else { return Err(ungranted()) };
        if self.bodies >= MAX_BODIES {
            let text = format!("a run has at most {MAX_BODIES} answers open; drop one");
            return Err(refused(wit::ErrorKind::Denied, text));
        }
        self.compute.call();
        let request = from_guest(request);
        let answer = granted.capabilities.http().open(&granted.run, request).await;
        let (head, body) = self.asked(answer)?;
        let body = self.table.push(body).map_err(|error| own_fault(&error))?;
        self.bodies += 1;
        Ok((response(head), body))
    }
}

impl wit::HostBody for State {
    async fn read(
        &mut self,
        body: Resource<cap::Body>,
        limit: u32,
    ) -> Result<Option<Vec<u8>>, wit::Error> {
        self.compute.call();
        let answer = match self.table.get_mut(&body) {
            Ok(body) => body.read(limit).await,
            Err(error) => {
                self.compute.returned();
                return Err(own_fault(&error));
            }
        };
        self.asked(answer)
    }

    async fn drop(&mut self, body: Resource<cap::Body>) -> wasmtime::Result<()> {
        // Dropping it closes the connection.
        self.table.delete(body)?;
        self.bodies = self.bodies.saturating_sub(1);
        Ok(())
    }
}

impl State {
    /// A call has returned, maybe because the deadline came.
    #[allow(clippy::result_large_err, reason = "the type is what the contract makes it")]
    fn asked<T>(&mut self, answer: Result<T, cap::Error>) -> Result<T, wit::Error> {
        self.compute.returned();
        let timed_out = matches!(&answer, Err(error) if error.kind == cap::ErrorKind::Timeout);
        let deadline = self.granted.as_ref().map(|granted| granted.run.deadline());
        // The system can give up on a connection too; that is an error like others, in time.
        if timed_out && deadline.is_some_and(|deadline| deadline <= Instant::now()) {
            self.cut_at_deadline();
        }
        answer.map_err(error)
    }
}

/// What a call gets that comes from `describe` or `plan`.
fn ungranted() -> wit::Error {
    let text =
        "nothing is granted while a plugin describes itself or plans; send requests in check";
    refused(wit::ErrorKind::Denied, text.to_owned())
}

/// The table of handles refused.
fn own_fault(error: &ResourceTableError) -> wit::Error {
    refused(wit::ErrorKind::Host, format!("no handle for the answer: {error}"))
}

/// An error before anything was sent.
fn refused(kind: wit::ErrorKind, message: String) -> wit::Error {
    let timings = timings(cap::Timings::default());
    wit::Error { kind, phase: wit::Phase::Request, message, timings, certificate: None }
}

fn from_guest(request: wit::Request) -> cap::Request {
    let wit::Request { method, url, headers, body, redirects, body_limit } = request;
    let headers = headers
        .into_iter()
        .map(|wit::RequestHeader { name, value }| {
            let value = match value {
                wit::HeaderValue::Text(text) => cap::HeaderValue::Text(text),
                wit::HeaderValue::Secret(wit::Secret { prefix, name }) => {
                    cap::HeaderValue::Secret { prefix, name }
                }
            };
            cap::RequestHeader { name, value }
        })
        .collect();
    cap::Request { method, url, headers, body, redirects, body_limit }
}

fn response(response: cap::Response) -> wit::Response {
    let cap::Response { status, headers, body, url, timings: times, certificate } = response;
    wit::Response {
        status,
        headers: headers
            .into_iter()
            .map(|cap::Header { name, value }| wit::Header { name, value })
            .collect(),
        body,
        url,
        timings: timings(times),
        certificate: certificate.map(of_server),
    }
}

fn error(error: cap::Error) -> wit::Error {
    let cap::Error { kind, phase: at, message, timings: times, certificate } = error;
    wit::Error {
        kind: kind_of(kind),
        phase: phase(at),
        message,
        timings: timings(times),
        certificate: certificate.map(of_server),
    }
}

fn timings(times: cap::Timings) -> wit::Timings {
    let seconds = |time: Option<std::time::Duration>| time.map(|time| time.as_secs_f64());
    wit::Timings {
        dns: seconds(times.dns),
        connect: seconds(times.connect),
        tls: seconds(times.tls),
        first_byte: seconds(times.first_byte),
        total: times.total.as_secs_f64(),
    }
}

const fn of_server(certificate: cap::Certificate) -> wit::Certificate {
    let cap::Certificate { not_before, not_after, days_left } = certificate;
    wit::Certificate { not_before, not_after, days_left }
}

const fn phase(phase: cap::Phase) -> wit::Phase {
    match phase {
        cap::Phase::Dns => wit::Phase::Dns,
        cap::Phase::Connect => wit::Phase::Connect,
        cap::Phase::Tls => wit::Phase::Tls,
        cap::Phase::FirstByte => wit::Phase::FirstByte,
        cap::Phase::Body => wit::Phase::Body,
        // The others are of other capabilities.
        _ => wit::Phase::Request,
    }
}

const fn kind_of(kind: cap::ErrorKind) -> wit::ErrorKind {
    match kind {
        cap::ErrorKind::Denied => wit::ErrorKind::Denied,
        cap::ErrorKind::Invalid => wit::ErrorKind::Invalid,
        cap::ErrorKind::Timeout => wit::ErrorKind::Timeout,
        cap::ErrorKind::NameNotFound => wit::ErrorKind::NameNotFound,
        cap::ErrorKind::Resolver => wit::ErrorKind::Resolver,
        cap::ErrorKind::Refused => wit::ErrorKind::Refused,
        cap::ErrorKind::Unreachable => wit::ErrorKind::Unreachable,
        cap::ErrorKind::Closed => wit::ErrorKind::Closed,
        cap::ErrorKind::Tls => wit::ErrorKind::Tls,
        cap::ErrorKind::Protocol => wit::ErrorKind::Protocol,
        cap::ErrorKind::TooLarge => wit::ErrorKind::TooLarge,
        cap::ErrorKind::Redirect => wit::ErrorKind::Redirect,
        cap::ErrorKind::Host => wit::ErrorKind::Host,
    }
}
