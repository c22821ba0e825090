//! The `udp` capability of WIT version 1: one datagram out, one in.

use std::sync::Arc;
use std::time::Duration;

use probehost_model::sanitize;
use tokio::time::{Instant, timeout_at};

use crate::egress::{Datagram, Egress, Peer};
use crate::net::{self, Failure};
use crate::run::{ActiveCall, Run};
use crate::text::HostPort;

pub use crate::net::{Error, ErrorKind};
pub use crate::run::Phase;

/// Most bytes that a datagram holds.
pub const MAX_PAYLOAD: usize = 65_507;

/// How often a datagram is sent at most.
pub const MAX_TRIES: u8 = 10;

/// A datagram that wants a reply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// A name, or an address without brackets.
    pub host: String,
    /// Where it goes there.
    pub port: u16,
    /// At most [`MAX_PAYLOAD`] bytes.
    pub payload: Vec<u8>,
    /// Most bytes of the reply.
    pub reply_limit: u32,
    /// How often it is sent, up to [`MAX_TRIES`]; 0 counts as 1.
    pub tries: u8,
}

/// What came back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reply {
    /// All of it.
    pub payload: Vec<u8>,
    /// From sending the datagram, the first time, to the reply.
    pub time: Duration,
}

/// Exchanges datagrams.
#[derive(Debug)]
pub struct Udp {
    egress: Arc<Egress>,
}

impl Udp {
    pub(crate) const fn new(egress: Arc<Egress>) -> Self {
        Self { egress }
    }

    /// Sends one datagram and waits for one back, at most until the run's deadline. The call is
    /// noted in the run's trace.
    ///
    /// # Errors
    ///
    /// [`Error`] names host and port and the phase; an address that is not granted has the line that
    /// would grant it.
    pub async fn exchange(&self, run: &Run, request: Request) -> Result<Reply, Error> {
        let peer = HostPort(&request.host, request.port);
        let what = sanitize(&format!("send {} bytes to {peer}", request.payload.len()));
        let call = run.begin("udp", what);
        let done = timeout_at(run.deadline(), self.work(&call, &request)).await;
        net::finish(call, done).map(|(reply, _)| reply)
    }

    async fn work(&self, call: &ActiveCall<'_>, request: &Request) -> Result<Reply, Failure> {
        let peer = Peer::new(&request.host, request.port)?;
        call.begin_hop(peer.to_string());
        if request.payload.len() > MAX_PAYLOAD {
            let size = request.payload.len();
            let text = format_args!("a datagram holds {MAX_PAYLOAD} bytes at most, not {size}");
            return Err(Failure::new(ErrorKind::Invalid, text));
        }
        let addresses = self.egress.addresses(call, &peer.udp(), &peer.host, peer.port).await?;
        call.enter(Phase::Reply);
        let begun = Instant::now();
        let datagram = Datagram {
            peer: peer.host_port(),
            addresses,
            payload: &request.payload,
            limit: usize::try_from(request.reply_limit).unwrap_or(usize::MAX).min(MAX_PAYLOAD),
            tries: request.tries.min(MAX_TRIES).into(),
            until: call.run().deadline(),
        };
        let (payload, _) = datagram.exchange(|_| true).await?;
        Ok(Reply { payload, time: begun.elapsed() })
    }
}
