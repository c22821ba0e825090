//! The `tcp` capability of WIT version 1: connections, with TLS where it is asked for.
//!
//! A connection belongs to its run: each call on it ends at the run's deadline and is noted in the
//! run's trace, and what is read of all of them together is limited. There is no task beside a call,
//! so a connection that is dropped leaves nothing behind.

mod connection;

use std::sync::Arc;

use probehost_model::sanitize;
use rustls::ClientConfig;
use rustls::client::WebPkiServerVerifier;

use crate::SetupError;
use crate::egress::{Egress, Peer};
use crate::net::{self, Failure};
use crate::run::{ActiveCall, Run, Slot};
use crate::text::HostPort;
use crate::tls::{self, Roots};

pub use crate::net::{Error, ErrorKind};
pub use crate::run::{Phase, Timings};
pub use crate::tls::{Certificate, Details};
pub use connection::Connection;

/// Most connections that a run has open at a time.
pub const MAX_CONNECTIONS: usize = crate::run::MAX_CONNECTIONS;

/// Most bytes that a run reads, over all its connections.
pub const MAX_READ_BYTES: usize = crate::run::MAX_READ_BYTES;

/// What a TLS handshake makes of the server's certificate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TlsMode {
    /// It has to be good.
    Verify,
    /// Any will do; what is wrong with it is told.
    Inspect,
}

/// Connects.
#[derive(Debug)]
pub struct Tcp {
    egress: Arc<Egress>,
    tls: Arc<Tls>,
}

/// What TLS handshakes take.
#[derive(Debug)]
struct Tls {
    /// None: there is no certificate to trust on this machine.
    judge: Option<Arc<WebPkiServerVerifier>>,
    verifying: Option<Arc<ClientConfig>>,
    inspecting: Arc<ClientConfig>,
}

impl Tcp {
    pub(crate) fn new(egress: Arc<Egress>, roots: &Roots) -> Result<Self, SetupError> {
        let judge = tls::judge(roots)?;
        let begun = judge.clone().map(tls::verifying).transpose()?;
        let verifying = begun.map(|begun| tls::for_probes(begun, &[]));
        let tls = Tls { judge, verifying, inspecting: tls::for_probes(tls::inspecting()?, &[]) };
        Ok(Self { egress, tls: Arc::new(tls) })
    }

    /// Connects to a host (a name, or an address without brackets), at most until the run's
    /// deadline. The call is noted in the run's trace.
    ///
    /// # Errors
    ///
    /// [`Error`] names host and port and the phase; an address that is not granted has the line that
    /// would grant it.
    pub async fn connect(&self, run: &Run, host: &str, port: u16) -> Result<Connection, Error> {
        let what = sanitize(&format!("connect to {}", HostPort(host, port)));
        let call = run.begin("tcp", what);
        let dialled = tokio::time::timeout_at(run.deadline(), self.dial(&call, host, port)).await;
        let ((peer, slot, stream), timings) = net::finish(call, dialled)?;
        Ok(Connection::new(run.clone(), Arc::clone(&self.tls), peer, slot, stream, timings))
    }

    async fn dial(
        &self,
        call: &ActiveCall<'_>,
        host: &str,
        port: u16,
    ) -> Result<(Peer, Slot, tokio::net::TcpStream), Failure> {
        let peer = Peer::new(host, port)?;
        call.begin_hop(peer.to_string());
        // What is not granted is said before all else.
        Egress::check(call, &peer.tcp())?;
        let slot = call.run().connections().open().ok_or_else(|| {
            let text = format_args!(
                "a run has at most {MAX_CONNECTIONS} connections open at a time; drop one"
            );
            Failure::new(ErrorKind::Invalid, text)
        })?;
        let stream = self.egress.connect(call, &peer.tcp(), &peer.host, peer.port).await?;
        Ok((peer, slot, stream))
    }
}
