//! The `dns` interface, served by the dns capability.

use probehost_capability::dns as cap;

use super::bindings::probehost::plugin::{dns as wit, types};
use crate::state::State;

impl wit::Host for State {
    async fn query(
        &mut self,
        name: String,
        kind: wit::RecordType,
        server: Option<types::Address>,
    ) -> Result<wit::Answer, wit::Error> {
        let Some(granted) = &self.granted else { return Err(ungranted()) };
        self.compute.call();
        let server = server.map(|types::Address { host, port }| (host, port));
        let query = cap::Query { name, kind: record_type(kind), server };
        let answer = granted.capabilities.dns().query(&granted.run, query).await;
        self.compute.returned();
        let timed_out = matches!(&answer, Err(error) if error.kind == cap::ErrorKind::Timeout);
        self.net_returned(timed_out);
        answer.map(from_server).map_err(error)
    }
}

/// What a call gets that comes from `describe` or `plan`.
fn ungranted() -> wit::Error {
    wit::Error {
        kind: wit::ErrorKind::Denied,
        phase: wit::Phase::Request,
        message:
            "nothing is granted while a plugin describes itself or plans; ask name servers in \
                  check"
                .to_owned(),
        total: 0.0,
    }
}

const fn record_type(kind: wit::RecordType) -> cap::RecordType {
    match kind {
        wit::RecordType::A => cap::RecordType::A,
        wit::RecordType::Aaaa => cap::RecordType::Aaaa,
        wit::RecordType::Caa => cap::RecordType::Caa,
        wit::RecordType::Cname => cap::RecordType::Cname,
        wit::RecordType::Mx => cap::RecordType::Mx,
        wit::RecordType::Ns => cap::RecordType::Ns,
        wit::RecordType::Ptr => cap::RecordType::Ptr,
        wit::RecordType::Soa => cap::RecordType::Soa,
        wit::RecordType::Srv => cap::RecordType::Srv,
        wit::RecordType::Txt => cap::RecordType::Txt,
    }
}

fn from_server(answer: cap::Answer) -> wit::Answer {
    let cap::Answer { code, records, authoritative, truncated, server, total } = answer;
    wit::Answer {
        code: match code {
            cap::Code::NoError => wit::ResponseCode::NoError,
            cap::Code::FormErr => wit::ResponseCode::FormErr,
            cap::Code::ServFail => wit::ResponseCode::ServFail,
            cap::Code::NxDomain => wit::ResponseCode::NxDomain,
            cap::Code::NotImp => wit::ResponseCode::NotImp,
            cap::Code::Refused => wit::ResponseCode::Refused,
            cap::Code::Other(number) => wit::ResponseCode::Other(number),
        },
        records: records
            .into_iter()
            .map(|cap::Record { name, kind, ttl, data }| wit::ResourceRecord {
                name,
                type_: kind,
                ttl,
                data,
            })
            .collect(),
        authoritative,
        truncated,
        server: server.to_string(),
        total: total.as_secs_f64(),
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
        // It was asked by TCP and did not answer as it should.
        cap::ErrorKind::Closed
        | cap::ErrorKind::Tls
        | cap::ErrorKind::TooLarge
        | cap::ErrorKind::Protocol => wit::ErrorKind::Protocol,
        cap::ErrorKind::Host => wit::ErrorKind::Host,
    };
    let phase = match error.phase {
        cap::Phase::Dns => wit::Phase::Dns,
        // Connecting, when it is asked by TCP, is a part of asking.
        cap::Phase::Reply | cap::Phase::Connect => wit::Phase::Reply,
        // The others are of other capabilities.
        _ => wit::Phase::Request,
    };
    wit::Error { kind, phase, message: error.message, total: error.timings.total.as_secs_f64() }
}
