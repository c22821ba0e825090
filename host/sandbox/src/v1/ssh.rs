//! The `ssh` interface, served by the ssh capability.

use probehost_capability::ssh as cap;

use super::bindings::probehost::plugin::ssh as wit;
use crate::state::State;

impl wit::Host for State {
    async fn handshake(&mut self, request: wit::Request) -> Result<wit::Report, wit::Error> {
        let Some(granted) = &self.granted else { return Err(ungranted()) };
        self.compute.call();
        let request = from_guest(request);
        let answer = granted.capabilities.ssh().handshake(&granted.run, request).await;
        self.compute.returned();
        let timed_out = matches!(&answer, Err(error) if error.kind == cap::ErrorKind::Timeout);
        // The system can give up on a connection too; that is an error like others, in time.
        if timed_out && granted.run.deadline() <= tokio::time::Instant::now() {
            self.cut_at_deadline();
        }
        answer.map(report).map_err(error)
    }
}

/// What a call gets that comes from `describe` or `plan`.
fn ungranted() -> wit::Error {
    wit::Error {
        kind: wit::ErrorKind::Denied,
        hop: wit::Hop::Target,
        phase: wit::Phase::Request,
        message:
            "nothing is granted while a plugin describes itself or plans; make handshakes in check"
                .to_owned(),
        timings: timings(cap::Timings::default()),
    }
}

fn from_guest(request: wit::Request) -> cap::Request {
    let wit::Request { host, port, user, host_key, identity: login, jump } = request;
    let jump = jump.map(|jump| {
        let wit::Jump { host, port, user, identity: login } = jump;
        cap::Jump { host: plain(host), port, user, identity: identity(login) }
    });
    cap::Request { host: plain(host), port, user, host_key, identity: identity(login), jump }
}

/// A host name as plans spell it too.
fn plain(host: String) -> String {
    host.to_ascii_lowercase()
}

fn identity(identity: wit::Identity) -> cap::Identity {
    match identity {
        wit::Identity::None => cap::Identity::None,
        wit::Identity::Agent(wit::Agent { socket, key }) => cap::Identity::Agent { socket, key },
        wit::Identity::KeyFile(wit::KeyFile { path, passphrase }) => {
            cap::Identity::KeyFile { path, passphrase }
        }
        wit::Identity::Password(secret) => cap::Identity::Password(secret),
    }
}

fn report(report: cap::Report) -> wit::Report {
    let cap::Report { host_key, server, key_exchange, logged_in, timings: times } = report;
    wit::Report { host_key, server, key_exchange, logged_in, timings: timings(times) }
}

fn error(error: cap::Error) -> wit::Error {
    let cap::Error { kind, hop, phase: at, message, timings: times } = error;
    let hop = match hop {
        cap::Hop::Target => wit::Hop::Target,
        cap::Hop::Jump => wit::Hop::Jump,
    };
    wit::Error { kind: kind_of(kind), hop, phase: phase(at), message, timings: timings(times) }
}

fn timings(times: cap::Timings) -> wit::Timings {
    let seconds = |time: Option<std::time::Duration>| time.map(|time| time.as_secs_f64());
    wit::Timings {
        dns: seconds(times.dns),
        connect: seconds(times.connect),
        jump: seconds(times.jump),
        handshake: seconds(times.handshake),
        login: seconds(times.login),
        total: times.total.as_secs_f64(),
    }
}

const fn phase(phase: cap::Phase) -> wit::Phase {
    match phase {
        cap::Phase::Dns => wit::Phase::Dns,
        cap::Phase::Connect => wit::Phase::Connect,
        cap::Phase::Version => wit::Phase::Version,
        cap::Phase::KeyExchange => wit::Phase::KeyExchange,
        cap::Phase::Login => wit::Phase::Login,
        // The others are of other capabilities.
        _ => wit::Phase::Request,
    }
}

const fn kind_of(kind: cap::ErrorKind) -> wit::ErrorKind {
    match kind {
        cap::ErrorKind::Denied => wit::ErrorKind::Denied,
        cap::ErrorKind::Invalid => wit::ErrorKind::Invalid,
        cap::ErrorKind::Identity => wit::ErrorKind::Identity,
        cap::ErrorKind::Timeout => wit::ErrorKind::Timeout,
        cap::ErrorKind::NameNotFound => wit::ErrorKind::NameNotFound,
        cap::ErrorKind::Resolver => wit::ErrorKind::Resolver,
        cap::ErrorKind::Refused => wit::ErrorKind::Refused,
        cap::ErrorKind::Unreachable => wit::ErrorKind::Unreachable,
        cap::ErrorKind::Forwarding => wit::ErrorKind::Forwarding,
        cap::ErrorKind::Closed => wit::ErrorKind::Closed,
        cap::ErrorKind::HostKey => wit::ErrorKind::HostKey,
        cap::ErrorKind::Auth => wit::ErrorKind::Auth,
        cap::ErrorKind::Algorithms => wit::ErrorKind::Algorithms,
        cap::ErrorKind::Protocol => wit::ErrorKind::Protocol,
        cap::ErrorKind::Host => wit::ErrorKind::Host,
    }
}
