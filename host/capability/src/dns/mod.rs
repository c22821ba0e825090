//! The `dns` capability of WIT version 1: questions to name servers.
//!
//! Asked by the host's own egress, one datagram or one connection at a time, so that a name server
//! that a plugin names is granted and checked like every other address, and no task outlives a call.

mod message;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use probehost_model::{Endpoint, sanitize};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::time::timeout_at;

use crate::egress::{Datagram, Egress, Peer, Undelivered};
use crate::net::{self, Failure};
use crate::run::{ActiveCall, Run};
use crate::text::HostPort;

pub use crate::net::{Error, ErrorKind};
pub use crate::run::Phase;
pub use message::{Code, Record, RecordType};

use message::{Message, Question};

/// Most records that an answer has; further ones are left out.
pub const MAX_RECORDS: usize = 256;

/// How often a question is asked by UDP.
const TRIES: u32 = 4;

/// A question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Query {
    /// The name, in ASCII.
    pub name: String,
    /// Which of its records.
    pub kind: RecordType,
    /// Host and port of the name server. None: this host's own.
    pub server: Option<(String, u16)>,
}

/// What a name server says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// How it answers.
    pub code: Code,
    /// The answer section, at most [`MAX_RECORDS`].
    pub records: Vec<Record>,
    /// Whether the zone is served by it.
    pub authoritative: bool,
    /// Whether there is more, which could not be fetched.
    pub truncated: bool,
    /// Who answered.
    pub server: SocketAddr,
    /// How long the call took.
    pub total: Duration,
}

/// Asks.
#[derive(Debug)]
pub struct Dns {
    egress: Arc<Egress>,
}

/// Who is asked.
struct Servers {
    /// For people.
    name: String,
    addresses: Vec<SocketAddr>,
    by_tcp: bool,
}

impl Dns {
    pub(crate) const fn new(egress: Arc<Egress>) -> Self {
        Self { egress }
    }

    /// Asks, and waits for the answer, at most until the run's deadline. The call is noted in the
    /// run's trace.
    ///
    /// # Errors
    ///
    /// [`Error`] names the name and the name server; what is not granted has the line that would
    /// grant it. Whatever a name server answers is no error.
    pub async fn query(&self, run: &Run, query: Query) -> Result<Answer, Error> {
        let asked = format!("{} of {}", query.kind.as_str(), query.name);
        let at = query.server.as_ref().map(|(host, port)| format!(" at {}", HostPort(host, *port)));
        let call = run.begin("dns", sanitize(&format!("{asked}{}", at.unwrap_or_default())));
        let done = timeout_at(run.deadline(), self.work(&call, &query, &asked)).await;
        let (answer, times) = net::finish(call, done)?;
        Ok(Answer { total: times.total, ..answer })
    }

    async fn work(
        &self,
        call: &ActiveCall<'_>,
        query: &Query,
        asked: &str,
    ) -> Result<Answer, Failure> {
        let mut question = Question::new(&query.name, query.kind)?;
        Egress::check(call, &Endpoint::Dns(query.name.clone()))?;
        let servers = self.servers(call, query.server.as_ref()).await?;
        call.begin_hop(format!("{} for {asked}", servers.name));
        call.enter(Phase::Reply);
        let (message, server) = ask(call, &servers, &question).await?;
        // A server that is older than EDNS can't read a question that has it.
        let (message, server) = if message.is_form_err() {
            question.without_edns();
            ask(call, &servers, &question).await?
        } else {
            (message, server)
        };
        if message.is_truncated() && servers.by_tcp {
            let message = ask_by_tcp(call, &servers, server, &question).await?;
            return Ok(message.into_answer(server));
        }
        Ok(message.into_answer(server))
    }

    async fn servers(
        &self,
        call: &ActiveCall<'_>,
        named: Option<&(String, u16)>,
    ) -> Result<Servers, Failure> {
        let Some((host, port)) = named else {
            let addresses = self.egress.name_servers();
            if addresses.is_empty() {
                let text = "this host has no name server to ask; name one";
                return Err(Failure::new(ErrorKind::Host, text));
            }
            let name = "the name servers of this host".to_owned();
            return Ok(Servers { name, addresses, by_tcp: true });
        };
        let peer = Peer::new(host, *port)?;
        call.begin_hop(peer.to_string());
        let addresses = self.egress.addresses(call, &peer.udp(), &peer.host, peer.port).await?;
        // Whoever may be asked by UDP may be asked by TCP only where that is granted too, and at
        // addresses that are.
        let grants = call.run().grants();
        let by_tcp = grants.allows(&peer.tcp())
            && addresses.iter().all(|to| grants.admits_address(&peer.tcp(), to.ip()).is_ok());
        Ok(Servers { name: format!("the name server {peer}"), addresses, by_tcp })
    }
}

async fn ask(
    call: &ActiveCall<'_>,
    servers: &Servers,
    question: &Question,
) -> Result<(Message, SocketAddr), Failure> {
    let payload = question.to_bytes()?;
    let datagram = Datagram {
        peer: HostPort(&servers.name, 53),
        addresses: servers.addresses.clone(),
        payload: &payload,
        limit: usize::from(u16::MAX),
        tries: TRIES,
        until: call.run().deadline(),
    };
    let reply = datagram.exchange(|bytes| question.is_answered_by(bytes)).await;
    let (bytes, server) = reply.map_err(|error| undelivered(&servers.name, error))?;
    let message = Message::read(&bytes, question).map_err(|why| protocol(server, &why))?;
    Ok((message, server))
}

async fn ask_by_tcp(
    call: &ActiveCall<'_>,
    servers: &Servers,
    server: SocketAddr,
    question: &Question,
) -> Result<Message, Failure> {
    let (host, name) = (server.ip().to_string(), &servers.name);
    let mut stream = Egress::dial(call, HostPort(&host, server.port()), &[server]).await?;
    call.enter(Phase::Reply);
    let broken = |error| Failure::io(name, "before it answered by TCP", &error);
    let payload = question.to_bytes()?;
    let mut framed = u16::try_from(payload.len()).unwrap_or(u16::MAX).to_be_bytes().to_vec();
    framed.extend(payload);
    stream.write_all(&framed).await.map_err(broken)?;
    let length = stream.read_u16().await.map_err(broken)?;
    let mut bytes = vec![0; length.into()];
    stream.read_exact(&mut bytes).await.map_err(broken)?;
    if !question.is_answered_by(&bytes) {
        return Err(protocol(server, "it is to another question"));
    }
    Message::read(&bytes, question).map_err(|why| protocol(server, &why))
}

fn protocol(server: SocketAddr, why: &str) -> Failure {
    let text = format_args!("the answer of the name server {server} can't be read: {why}");
    Failure::new(ErrorKind::Protocol, text)
}

/// In words that fit servers which have no one host and port.
fn undelivered(name: &str, error: Undelivered) -> Failure {
    let named = match error {
        Undelivered::Refused(_) => Undelivered::Refused(name.to_owned()),
        Undelivered::Unreachable { why, .. } => {
            Undelivered::Unreachable { peer: name.to_owned(), why }
        }
        Undelivered::TooLarge { limit, .. } => {
            Undelivered::TooLarge { peer: name.to_owned(), limit }
        }
        Undelivered::Host { why, .. } => Undelivered::Host { peer: name.to_owned(), why },
    };
    named.into()
}
