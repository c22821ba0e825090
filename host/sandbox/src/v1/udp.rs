//! The `udp` interface, served by the udp capability.

use probehost_capability::udp as cap;

use super::bindings::probehost::plugin::{types, udp as wit};
use crate::state::State;

impl wit::Host for State {
    async fn exchange(
        &mut self,
        to: types::Address,
        payload: Vec<u8>,
        reply_limit: u32,
        tries: u8,
    ) -> Result<wit::Reply, wit::Error> {
        let Some(granted) = &self.granted else { return Err(ungranted()) };
        self.compute.call();
        let types::Address { host, port } = to;
        let request = cap::Request { host, port, payload, reply_limit, tries };
        let answer = granted.capabilities.udp().exchange(&granted.run, request).await;
        self.compute.returned();
        let timed_out = matches!(&answer, Err(error) if error.kind == cap::ErrorKind::Timeout);
        self.net_returned(timed_out);
        let cap::Reply { payload, time } = answer.map_err(error)?;
        Ok(wit::Reply { payload, time: time.as_secs_f64() })
    }
}

/// What a call gets that comes from `describe` or `plan`.
fn ungranted() -> wit::Error {
    wit::Error {
        kind: wit::ErrorKind::Denied,
        phase: wit::Phase::Request,
        message: "nothing is granted while a plugin describes itself or plans; send datagrams in \
                  check"
            .to_owned(),
        total: 0.0,
    }
}

fn error(error: cap::Error) -> wit::Error {
    let kind = match error.kind {
        cap::ErrorKind::Denied => wit::ErrorKind::Denied,
        cap::ErrorKind::Invalid => wit::ErrorKind::Invalid,
        cap::ErrorKind::Timeout => wit::ErrorKind::Timeout,
        cap::ErrorKind::NameNotFound => wit::ErrorKind::NameNotFound,
        cap::ErrorKind::Resolver => wit::ErrorKind::Resolver,
        cap::ErrorKind::Refused => wit::ErrorKind::Refused,
        cap::ErrorKind::Unreachable => wit::ErrorKind::Unreachable,
        cap::ErrorKind::TooLarge => wit::ErrorKind::TooLarge,
        // The others are of connections and of DNS.
        cap::ErrorKind::Closed
        | cap::ErrorKind::Tls
        | cap::ErrorKind::Protocol
        | cap::ErrorKind::Host => wit::ErrorKind::Host,
    };
    let phase = match error.phase {
        cap::Phase::Dns => wit::Phase::Dns,
        cap::Phase::Reply => wit::Phase::Reply,
        // The others are of other capabilities.
        _ => wit::Phase::Request,
    };
    wit::Error { kind, phase, message: error.message, total: error.timings.total.as_secs_f64() }
}
