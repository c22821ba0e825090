//! Questions as they are sent, and answers as they are read.

use std::fmt::Write as _;
use std::net::SocketAddr;
use std::time::Duration;

use hickory_resolver::proto::op::{self, Edns, MessageType, ResponseCode};
use hickory_resolver::proto::rr::{self, Name};

use super::{Answer, MAX_RECORDS};
use crate::net::{ErrorKind, Failure};

/// What fits a datagram on every way (DNS flag day 2020).
const UDP_PAYLOAD: u16 = 1232;

/// Longest name, in bytes of text.
const MAX_NAME: usize = 255;

/// Which records are asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RecordType {
    /// IPv4 addresses.
    A,
    /// IPv6 addresses.
    Aaaa,
    /// Who may issue certificates.
    Caa,
    /// Another name.
    Cname,
    /// Where mail goes.
    Mx,
    /// Name servers.
    Ns,
    /// The name of an address.
    Ptr,
    /// The zone.
    Soa,
    /// Where a service is.
    Srv,
    /// Texts.
    Txt,
}

impl RecordType {
    /// As zone files spell it: `AAAA`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::A => "A",
            Self::Aaaa => "AAAA",
            Self::Caa => "CAA",
            Self::Cname => "CNAME",
            Self::Mx => "MX",
            Self::Ns => "NS",
            Self::Ptr => "PTR",
            Self::Soa => "SOA",
            Self::Srv => "SRV",
            Self::Txt => "TXT",
        }
    }

    const fn wire(self) -> rr::RecordType {
        match self {
            Self::A => rr::RecordType::A,
            Self::Aaaa => rr::RecordType::AAAA,
            Self::Caa => rr::RecordType::CAA,
            Self::Cname => rr::RecordType::CNAME,
            Self::Mx => rr::RecordType::MX,
            Self::Ns => rr::RecordType::NS,
            Self::Ptr => rr::RecordType::PTR,
            Self::Soa => rr::RecordType::SOA,
            Self::Srv => rr::RecordType::SRV,
            Self::Txt => rr::RecordType::TXT,
        }
    }
}

/// How a name server answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Code {
    /// The name exists.
    NoError,
    /// It could not read the question.
    FormErr,
    /// It could not find out.
    ServFail,
    /// There is no such name.
    NxDomain,
    /// It does not do that.
    NotImp,
    /// It does not answer that.
    Refused,
    /// Another.
    Other(u16),
}

/// A record as zone files spell it. Control characters are escaped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    /// Without the dot at the end.
    pub name: String,
    /// `A`, `MX`, …
    pub kind: String,
    /// Seconds.
    pub ttl: u32,
    /// What it says.
    pub data: String,
}

/// A question with an id that nobody can guess.
#[derive(Debug)]
pub(super) struct Question {
    message: op::Message,
}

impl Question {
    pub(super) fn new(name: &str, kind: RecordType) -> Result<Self, Failure> {
        let odd = |c: char| !c.is_ascii_graphic();
        let parsed = (!name.is_empty() && name.len() <= MAX_NAME && !name.contains(odd))
            .then(|| Name::from_ascii(name).ok())
            .flatten();
        let mut parsed = parsed.ok_or_else(|| {
            let text = format_args!(
                "{name:?} can't be a name; give one in ASCII (international ones as xn--…)"
            );
            Failure::new(ErrorKind::Invalid, text)
        })?;
        parsed.set_fqdn(true);
        let mut message = op::Message::query();
        message.metadata.recursion_desired = true;
        message.add_query(op::Query::query(parsed, kind.wire()));
        let mut edns = Edns::new();
        edns.set_max_payload(UDP_PAYLOAD);
        message.set_edns(edns);
        Ok(Self { message })
    }

    /// The same without what servers of the last century can't read.
    pub(super) fn without_edns(&mut self) {
        self.message.edns = None;
    }

    pub(super) fn to_bytes(&self) -> Result<Vec<u8>, Failure> {
        self.message.to_vec().map_err(|error| {
            Failure::new(ErrorKind::Invalid, format_args!("the question can't be asked: {error}"))
        })
    }

    /// Whether these bytes are an answer with this question's id; who sends others is not who was
    /// asked, or is late.
    pub(super) fn is_answered_by(&self, bytes: &[u8]) -> bool {
        const IS_ANSWER: u8 = 0x80;
        let id = self.message.metadata.id.to_be_bytes();
        bytes.starts_with(&id) && bytes.get(2).is_some_and(|flags| flags & IS_ANSWER != 0)
    }
}

/// An answer.
#[derive(Debug)]
pub(super) struct Message(op::Message);

impl Message {
    /// Reads an answer to `question`; the error is for people.
    pub(super) fn read(bytes: &[u8], question: &Question) -> Result<Self, String> {
        let message = op::Message::from_vec(bytes).map_err(|error| error.to_string())?;
        if message.metadata.message_type != MessageType::Response {
            return Err("it is a question itself".to_owned());
        }
        // A server that could not read the question may leave it out.
        if !message.queries.is_empty() && message.queries != question.message.queries {
            return Err("it is to another question".to_owned());
        }
        Ok(Self(message))
    }

    pub(super) fn is_form_err(&self) -> bool {
        self.0.metadata.response_code == ResponseCode::FormErr
    }

    pub(super) const fn is_truncated(&self) -> bool {
        self.0.metadata.truncation
    }

    pub(super) fn into_answer(self, server: SocketAddr) -> Answer {
        let Self(message) = self;
        Answer {
            code: code(message.metadata.response_code),
            records: message.answers.iter().take(MAX_RECORDS).map(record).collect(),
            authoritative: message.metadata.authoritative,
            truncated: message.metadata.truncation || message.answers.len() > MAX_RECORDS,
            server,
            total: Duration::ZERO,
        }
    }
}

fn code(code: ResponseCode) -> Code {
    match code {
        ResponseCode::NoError => Code::NoError,
        ResponseCode::FormErr => Code::FormErr,
        ResponseCode::ServFail => Code::ServFail,
        ResponseCode::NXDomain => Code::NxDomain,
        ResponseCode::NotImp => Code::NotImp,
        ResponseCode::Refused => Code::Refused,
        other => Code::Other(other.into()),
    }
}

fn record(record: &rr::Record) -> Record {
    let name = escaped(&record.name.to_string());
    let mut data = String::new();
    // Where a record has no text it has none here.
    let _ = write!(data, "{}", record.data);
    Record {
        name: name.strip_suffix('.').unwrap_or(&name).to_owned(),
        kind: record.record_type().to_string(),
        ttl: record.ttl,
        data: escaped(&data),
    }
}

fn escaped(text: &str) -> String {
    let mut clean = String::with_capacity(text.len());
    for c in text.chars() {
        if c.is_control() {
            clean.extend(c.escape_default());
        } else {
            clean.push(c);
        }
    }
    clean
}
