//! The `tcp` interface, served by the tcp capability.

use std::time::Duration;

use probehost_capability::tcp as cap;
use wasmtime::component::Resource;

use super::bindings::probehost::plugin::{tcp as wit, types};
use crate::state::State;

impl wit::Host for State {}

impl wit::HostConnection for State {
    async fn connect(
        &mut self,
        to: types::Address,
    ) -> Result<Resource<cap::Connection>, wit::Error> {
        let Some(granted) = &self.granted else { return Err(ungranted()) };
        self.compute.call();
        let tcp = granted.capabilities.tcp();
        let answer = tcp.connect(&granted.run, &to.host, to.port).await.map_err(error);
        let connection = self.heard(answer)?;
        self.table.push(connection).map_err(|error| own_fault(&error))
    }

    async fn read(
        &mut self,
        connection: Resource<cap::Connection>,
        limit: u32,
    ) -> Result<Option<Vec<u8>>, wit::Error> {
        self.compute.call();
        let answer = match self.table.get_mut(&connection) {
            Ok(connection) => connection.read(limit).await.map_err(error),
            Err(error) => Err(own_fault(&error)),
        };
        self.heard(answer)
    }

    async fn write(
        &mut self,
        connection: Resource<cap::Connection>,
        bytes: Vec<u8>,
    ) -> Result<(), wit::Error> {
        self.compute.call();
        let answer = match self.table.get_mut(&connection) {
            Ok(connection) => connection.write(&bytes).await.map_err(error),
            Err(error) => Err(own_fault(&error)),
        };
        self.heard(answer)
    }

    async fn start_tls(
        &mut self,
        connection: Resource<cap::Connection>,
        server_name: Option<String>,
        mode: wit::TlsMode,
    ) -> Result<(), wit::Error> {
        let mode = match mode {
            wit::TlsMode::Verify => cap::TlsMode::Verify,
            wit::TlsMode::Inspect => cap::TlsMode::Inspect,
        };
        self.compute.call();
        let answer = match self.table.get_mut(&connection) {
            Ok(connection) => {
                connection.start_tls(server_name.as_deref(), mode).await.map_err(error)
            }
            Err(error) => Err(own_fault(&error)),
        };
        self.heard(answer)
    }

    async fn peer_certificate(
        &mut self,
        connection: Resource<cap::Connection>,
    ) -> Option<wit::Certificate> {
        self.table.get(&connection).ok()?.certificate().cloned().map(certificate)
    }

    async fn timings(&mut self, connection: Resource<cap::Connection>) -> wit::Timings {
        let times = self.table.get(&connection).map(|connection| *connection.timings());
        timings(&times.unwrap_or_default())
    }

    async fn drop(&mut self, connection: Resource<cap::Connection>) -> wasmtime::Result<()> {
        // Dropping it closes it.
        self.table.delete(connection)?;
        Ok(())
    }
}

impl State {
    /// A call has returned, maybe because the deadline came.
    #[allow(clippy::result_large_err, reason = "the type is what the contract makes it")]
    fn heard<T>(&mut self, answer: Result<T, wit::Error>) -> Result<T, wit::Error> {
        self.compute.returned();
        let timed_out = matches!(&answer, Err(error) if error.kind == wit::ErrorKind::Timeout);
        self.net_returned(timed_out);
        answer
    }

    /// A call to the network has returned with a timeout, or not.
    pub(super) fn net_returned(&mut self, timed_out: bool) {
        // The system can give up on a connection too; that is an error like others, in time.
        let is_over =
            |run: &probehost_capability::Run| run.deadline() <= tokio::time::Instant::now();
        if timed_out && self.granted.as_ref().is_some_and(|granted| is_over(&granted.run)) {
            self.cut_at_deadline();
        }
    }
}

/// What a call gets that comes from `describe` or `plan`.
fn ungranted() -> wit::Error {
    wit::Error {
        kind: wit::ErrorKind::Denied,
        phase: wit::Phase::Request,
        message: "nothing is granted while a plugin describes itself or plans; connect in check"
            .to_owned(),
        timings: timings(&cap::Timings::default()),
        certificate: None,
    }
}

/// The table of handles refused.
fn own_fault(error: &wasmtime::component::ResourceTableError) -> wit::Error {
    wit::Error {
        kind: wit::ErrorKind::Host,
        phase: wit::Phase::Request,
        message: format!("no handle for the connection: {error}"),
        timings: timings(&cap::Timings::default()),
        certificate: None,
    }
}

fn error(error: cap::Error) -> wit::Error {
    let cap::Error { kind, phase, message, timings: times, certificate: refused } = error;
    let kind = match kind {
        cap::ErrorKind::Denied => wit::ErrorKind::Denied,
        cap::ErrorKind::Invalid => wit::ErrorKind::Invalid,
        cap::ErrorKind::Timeout => wit::ErrorKind::Timeout,
        cap::ErrorKind::NameNotFound => wit::ErrorKind::NameNotFound,
        cap::ErrorKind::Resolver => wit::ErrorKind::Resolver,
        cap::ErrorKind::Refused => wit::ErrorKind::Refused,
        cap::ErrorKind::Unreachable => wit::ErrorKind::Unreachable,
        cap::ErrorKind::Closed => wit::ErrorKind::Closed,
        cap::ErrorKind::Tls => wit::ErrorKind::Tls,
        cap::ErrorKind::TooLarge => wit::ErrorKind::TooLarge,
        // A connection knows no protocol that could be broken.
        cap::ErrorKind::Protocol | cap::ErrorKind::Host => wit::ErrorKind::Host,
    };
    let phase = match phase {
        cap::Phase::Dns => wit::Phase::Dns,
        cap::Phase::Connect => wit::Phase::Connect,
        cap::Phase::Tls => wit::Phase::Tls,
        cap::Phase::Read => wit::Phase::Read,
        cap::Phase::Write => wit::Phase::Write,
        // The others are of other capabilities.
        _ => wit::Phase::Request,
    };
    let certificate = refused.map(|refused| certificate(*refused));
    wit::Error { kind, phase, message, timings: timings(&times), certificate }
}

fn timings(times: &cap::Timings) -> wit::Timings {
    let seconds = |time: Option<Duration>| time.map(|time| time.as_secs_f64());
    wit::Timings {
        dns: seconds(times.dns),
        connect: seconds(times.connect),
        tls: seconds(times.tls),
    }
}

fn certificate(details: cap::Details) -> wit::Certificate {
    let cap::Details { dates, subject, issuer, names, problem } = details;
    let cap::Certificate { not_before, not_after, days_left } = dates;
    wit::Certificate { not_before, not_after, days_left, subject, issuer, names, problem }
}
