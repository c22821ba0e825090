//! A connection: what is read and written, and the TLS handshake.

use std::io;
use std::sync::Arc;

use rustls::pki_types::ServerName;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::timeout_at;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use super::{Details, Error, ErrorKind, MAX_READ_BYTES, Timings, Tls, TlsMode};
use crate::egress::Peer;
use crate::net::{self, Failure};
use crate::run::{ActiveCall, Phase, Run, Slot};
use crate::tls;

/// Most bytes that come at once.
const CHUNK: usize = 64 << 10;

/// A connection, which is closed when this is dropped.
#[derive(Debug)]
pub struct Connection {
    run: Run,
    tls: Arc<Tls>,
    peer: Peer,
    _slot: Slot,
    stream: Stream,
    timings: Timings,
    certificate: Option<Details>,
}

#[derive(Debug)]
enum Stream {
    Plain(TcpStream),
    Tls(Box<TlsStream<TcpStream>>),
    /// A call on it failed, or was cut off.
    Broken,
}

impl Connection {
    pub(super) fn new(
        run: Run,
        tls: Arc<Tls>,
        peer: Peer,
        slot: Slot,
        stream: TcpStream,
        timings: Timings,
    ) -> Self {
        let stream = Stream::Plain(stream);
        Self { run, tls, peer, _slot: slot, stream, timings, certificate: None }
    }

    /// How long its phases took.
    #[must_use]
    pub const fn timings(&self) -> &Timings {
        &self.timings
    }

    /// The server's certificate; none without a TLS handshake.
    #[must_use]
    pub const fn certificate(&self) -> Option<&Details> {
        self.certificate.as_ref()
    }

    /// The next bytes, at least one and at most `limit`; none when the other side has ended its
    /// stream. At most until the run's deadline.
    ///
    /// # Errors
    ///
    /// The connection broke, nothing came in time, or the run has read [`MAX_READ_BYTES`].
    pub async fn read(&mut self, limit: u32) -> Result<Option<Vec<u8>>, Error> {
        let run = self.run.clone();
        let call = self.begin(&run, format!("read from {}", self.peer), Phase::Read);
        let done = timeout_at(run.deadline(), self.next(limit)).await;
        self.finish(call, done).map(|(bytes, _)| bytes)
    }

    /// Sends all of it, at most until the run's deadline.
    ///
    /// # Errors
    ///
    /// The connection broke, or the other side does not take it in time.
    pub async fn write(&mut self, bytes: &[u8]) -> Result<(), Error> {
        let run = self.run.clone();
        let what = format!("write {} bytes to {}", bytes.len(), self.peer);
        let call = self.begin(&run, what, Phase::Write);
        let done = timeout_at(run.deadline(), self.send(bytes)).await;
        self.finish(call, done).map(drop)
    }

    /// Makes the TLS handshake, at most until the run's deadline. The name is the one that the
    /// certificate has to be for; without, it is the host that was connected to.
    ///
    /// # Errors
    ///
    /// There is no TLS with the server, or its certificate is not good and has to be.
    pub async fn start_tls(&mut self, name: Option<&str>, mode: TlsMode) -> Result<(), Error> {
        let run = self.run.clone();
        let call = self.begin(&run, format!("TLS with {}", self.peer), Phase::Request);
        let done = timeout_at(run.deadline(), self.handshake(&call, name, mode)).await;
        let ((), times) = self.finish(call, done)?;
        self.timings.tls = times.tls;
        Ok(())
    }

    /// Begins something that is noted in the run's trace.
    fn begin<'r>(&self, run: &'r Run, what: String, phase: Phase) -> ActiveCall<'r> {
        let call = run.begin("tcp", what);
        call.begin_hop(self.peer.to_string());
        call.enter(phase);
        call
    }

    /// Ends it. An error has the times of the whole connection, and ends it in most cases.
    fn finish<T>(
        &mut self,
        call: ActiveCall<'_>,
        done: Result<Result<T, Failure>, tokio::time::error::Elapsed>,
    ) -> Result<(T, Timings), Error> {
        net::finish(call, done).map_err(|mut error| {
            if !matches!(error.kind, ErrorKind::TooLarge | ErrorKind::Invalid) {
                self.stream = Stream::Broken;
            }
            if error.timings.tls.is_some() {
                self.timings.tls = error.timings.tls;
            }
            *error.timings = self.timings;
            error
        })
    }

    async fn next(&mut self, limit: u32) -> Result<Option<Vec<u8>>, Failure> {
        let left = self.run.connections().left();
        if left == 0 {
            let mib = MAX_READ_BYTES >> 20;
            let text =
                format_args!("the run has read {mib} MiB, the last of them from {}", self.peer);
            return Err(Failure::new(ErrorKind::TooLarge, text));
        }
        let limit = usize::try_from(limit).unwrap_or(usize::MAX).clamp(1, CHUNK.min(left));
        let mut bytes = vec![0; limit];
        let read = match &mut self.stream {
            Stream::Plain(stream) => stream.read(&mut bytes).await,
            Stream::Tls(stream) => stream.read(&mut bytes).await,
            Stream::Broken => return Err(self.broken()),
        };
        let count = read.map_err(|error| self.failed("while it was read from", &error))?;
        self.run.connections().note(count);
        bytes.truncate(count);
        Ok((count > 0).then_some(bytes))
    }

    async fn send(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        let written = match &mut self.stream {
            Stream::Plain(stream) => stream.write_all(bytes).await,
            Stream::Tls(stream) => match stream.write_all(bytes).await {
                Ok(()) => stream.flush().await,
                Err(error) => Err(error),
            },
            Stream::Broken => return Err(self.broken()),
        };
        written.map_err(|error| self.failed("while it was written to", &error))
    }

    async fn handshake(
        &mut self,
        call: &ActiveCall<'_>,
        name: Option<&str>,
        mode: TlsMode,
    ) -> Result<(), Failure> {
        let peer = self.peer.to_string();
        let bare = name.unwrap_or(&self.peer.host);
        let bare = bare.strip_suffix('.').unwrap_or(bare);
        let name = ServerName::try_from(bare.to_owned()).map_err(|_| {
            let text = format_args!("{bare:?} can't be the name of a TLS server");
            Failure::new(ErrorKind::Invalid, text)
        })?;
        if matches!(self.stream, Stream::Tls(_)) {
            let text = format_args!("there is TLS with {peer} already");
            return Err(Failure::new(ErrorKind::Invalid, text));
        }
        let config = match mode {
            TlsMode::Inspect => &self.tls.inspecting,
            TlsMode::Verify => self
                .tls
                .verifying
                .as_ref()
                .ok_or_else(|| Failure::new(ErrorKind::Host, tls::untrusting(&peer)))?,
        };
        // Whatever becomes of the handshake, there is no way back.
        let Stream::Plain(stream) = std::mem::replace(&mut self.stream, Stream::Broken) else {
            return Err(self.broken());
        };
        call.enter(Phase::Tls);
        let stream = TlsConnector::from(Arc::clone(config))
            .connect(name.clone(), stream)
            .await
            .map_err(|error| Failure::handshake(&peer, &error))?;
        let chain = stream.get_ref().1.peer_certificates().unwrap_or_default();
        let problem = match mode {
            TlsMode::Verify => None,
            TlsMode::Inspect => tls::problem(self.tls.judge.as_deref(), &peer, chain, &name),
        };
        self.certificate = chain.first().and_then(|leaf| tls::details(leaf, problem));
        self.stream = Stream::Tls(Box::new(stream));
        Ok(())
    }

    fn failed(&self, doing: &str, error: &io::Error) -> Failure {
        Failure::io(&self.peer.to_string(), doing, error)
    }

    fn broken(&self) -> Failure {
        let text = format_args!(
            "the connection to {} is of no use any more: a call on it failed",
            self.peer
        );
        Failure::new(ErrorKind::Closed, text)
    }
}
