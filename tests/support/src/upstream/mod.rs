//! Scripted servers on loopback: they answer, stall, reset or talk nonsense as told, and note what they were sent.

mod connection;
mod dead;
mod journal;
mod message;
mod script;
mod server;

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::atomic::{AtomicU16, Ordering};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;
use std::{fmt, io};

use rustls::ServerConfig;
use tokio::sync::oneshot;

pub use self::dead::{ClosedPort, FullBacklog};
use self::journal::Journal;
pub use self::message::{Request, Response};
pub use self::script::{Script, Step};

/// Why an upstream did not start.
#[derive(Debug, thiserror::Error)]
pub enum UpstreamError {
    /// The address is taken or not on this machine.
    #[error("could not listen on {address}: {source}")]
    Listen {
        /// The address that was asked for.
        address: SocketAddr,
        /// What the system said.
        source: io::Error,
    },
    /// No thread or no runtime for it.
    #[error("could not start a thread for the upstream on {address}: {source}")]
    Thread {
        /// The address that was asked for.
        address: SocketAddr,
        /// What the system said.
        source: io::Error,
    },
}

/// A running upstream, on a thread of its own. Dropping it closes its port and every connection and waits until the
/// thread has ended.
#[derive(Debug)]
pub struct Upstream {
    address: SocketAddr,
    scheme: &'static str,
    journal: Arc<Journal>,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<thread::JoinHandle<()>>,
}

/// What an upstream will do, before it listens.
#[derive(Clone)]
pub struct Setup {
    play: Play,
    tls: Option<Arc<ServerConfig>>,
    handshake_delay: Duration,
}

/// How an upstream treats its connections.
#[derive(Clone)]
enum Play {
    /// As an HTTP/1.1 server that asks this function for each response.
    Http(Arc<dyn Fn(&Request) -> Response + Send + Sync>),
    /// The n-th connection plays the n-th script, and later ones the last.
    Scripts(Arc<[Script]>),
}

/// A status that a test changes while the upstream runs.
#[derive(Debug, Clone)]
pub struct StatusSwitch(Arc<AtomicU16>);

impl StatusSwitch {
    /// A switch that begins at this status.
    pub fn new(status: u16) -> Self {
        Self(Arc::new(AtomicU16::new(status)))
    }

    /// The status of every response from now on.
    pub fn set(&self, status: u16) {
        self.0.store(status, Ordering::SeqCst);
    }

    /// The status now.
    pub fn get(&self) -> u16 {
        self.0.load(Ordering::SeqCst)
    }
}

impl Setup {
    /// An HTTP/1.1 server whose responses come from a function. It keeps connections open, so that a client that
    /// reuses one is seen to do so.
    pub fn http(handler: impl Fn(&Request) -> Response + Send + Sync + 'static) -> Self {
        Self::new(Play::Http(Arc::new(handler)))
    }

    /// Every connection plays this script.
    pub fn script(script: impl Into<Script>) -> Self {
        Self::scripts([script.into()])
    }

    /// The first connection plays the first script, and so on; the last script is for all that follow. Without any
    /// script, connections are closed at once.
    pub fn scripts(scripts: impl IntoIterator<Item = Script>) -> Self {
        Self::new(Play::Scripts(scripts.into_iter().collect()))
    }

    /// Speaks TLS; the script or the handler begins after the handshake.
    #[must_use]
    pub fn tls(mut self, config: Arc<ServerConfig>) -> Self {
        self.tls = Some(config);
        self
    }

    /// Waits this long, after accepting, before it takes up the TLS handshake.
    #[must_use]
    pub fn handshake_delay(mut self, delay: Duration) -> Self {
        self.handshake_delay = delay;
        self
    }

    /// Listens on a free port of 127.0.0.1. Panics where that fails.
    #[allow(clippy::panic, reason = "a test whose upstream does not start has failed")]
    pub fn start(self) -> Upstream {
        match self.start_at(SocketAddr::from((Ipv4Addr::LOCALHOST, 0))) {
            Ok(upstream) => upstream,
            Err(error) => panic!("{error}"),
        }
    }

    /// Listens on this address; port 0 stands for a free one.
    pub fn start_at(self, address: SocketAddr) -> Result<Upstream, UpstreamError> {
        let scheme = if self.tls.is_some() { "https" } else { "http" };
        let journal = Arc::new(Journal::default());
        let (stop, stopped) = oneshot::channel();
        let (ready, started) = mpsc::channel();
        let noted = Arc::clone(&journal);
        let thread = thread::Builder::new()
            .name("upstream".to_owned())
            .spawn(move || server::run(&self, address, noted, &ready, stopped))
            .map_err(|source| UpstreamError::Thread { address, source })?;
        let address = started.recv().unwrap_or_else(|_| {
            let source = io::Error::other("the thread ended early");
            Err(UpstreamError::Thread { address, source })
        })?;
        Ok(Upstream { address, scheme, journal, stop: Some(stop), thread: Some(thread) })
    }

    fn new(play: Play) -> Self {
        Self { play, tls: None, handshake_delay: Duration::ZERO }
    }
}

impl Upstream {
    /// [`Setup::http`], started on a free port.
    pub fn http(handler: impl Fn(&Request) -> Response + Send + Sync + 'static) -> Self {
        Setup::http(handler).start()
    }

    /// An HTTP server that answers everything with this status.
    pub fn status(status: u16) -> Self {
        Self::http(move |_| Response::new(status))
    }

    /// An HTTP server that answers with whatever status the switch shows.
    pub fn switched(switch: &StatusSwitch) -> Self {
        let switch = switch.clone();
        Self::http(move |_| Response::new(switch.get()))
    }

    /// [`Setup::script`], started on a free port.
    pub fn script(script: impl Into<Script>) -> Self {
        Setup::script(script).start()
    }

    /// [`Setup::scripts`], started on a free port.
    pub fn scripts(scripts: impl IntoIterator<Item = Script>) -> Self {
        Setup::scripts(scripts).start()
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The port it listens on.
    pub fn port(&self) -> u16 {
        self.address.port()
    }

    /// Its base URL by address, without a slash at the end: `http://127.0.0.1:40123`.
    pub fn url(&self) -> String {
        format!("{}://{}", self.scheme, self.address)
    }

    /// Its base URL by the name `localhost`, for tests of name resolution.
    pub fn url_by_name(&self) -> String {
        format!("{}://localhost:{}", self.scheme, self.address.port())
    }

    /// Every request so far, in the order of arrival. Scripts note what their [`Step::ReadHead`] reads.
    pub fn requests(&self) -> Vec<Request> {
        self.journal.requests()
    }

    /// What came in where a request's head should have been, one entry for each connection that sent such bytes.
    pub fn strays(&self) -> Vec<Vec<u8>> {
        self.journal.strays()
    }

    /// How many connections were accepted so far.
    pub fn connections(&self) -> usize {
        self.journal.accepted()
    }

    /// How many connections are open now.
    pub fn open_connections(&self) -> usize {
        self.journal.open()
    }

    /// How many TLS handshakes failed so far, as one does where the client rejects the certificate.
    pub fn failed_handshakes(&self) -> usize {
        self.journal.failed_handshakes()
    }
}

impl Drop for Upstream {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            // A thread that panicked has said so on standard error, and has ended as well.
            let _ended = thread.join();
        }
    }
}

impl fmt::Debug for Setup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let play = match &self.play {
            Play::Http(_) => "http",
            Play::Scripts(_) => "scripts",
        };
        f.debug_struct("Setup")
            .field("play", &play)
            .field("tls", &self.tls.is_some())
            .field("handshake_delay", &self.handshake_delay)
            .finish()
    }
}
