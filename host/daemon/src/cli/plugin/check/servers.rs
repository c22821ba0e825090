//! Servers on loopback that misbehave, each in a way of its own.

use std::io;
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4};
use std::time::Duration;

use probehost_model::Reason;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpSocket, TcpStream};
use tokio::task::JoinHandle;

/// How a server misbehaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Manner {
    /// Nothing listens.
    Closed,
    /// It accepts, and says nothing.
    Silent,
    /// It accepts, and closes.
    Closing,
    /// It answers with what is no protocol.
    Garbage,
}

impl Manner {
    pub(super) const ALL: [Self; 4] = [Self::Closed, Self::Silent, Self::Closing, Self::Garbage];

    /// What it is, after "against".
    pub(super) const fn words(self) -> &'static str {
        match self {
            Self::Closed => "a port that nothing listens on",
            Self::Silent => "a server that accepts and says nothing",
            Self::Closing => "a server that closes at once",
            Self::Garbage => "a server that answers with garbage",
        }
    }

    /// The reasons that fit, the best one first.
    pub(super) const fn reasons(self) -> &'static [Reason] {
        match self {
            Self::Closed => &[Reason::Network],
            Self::Silent => &[Reason::Timeout],
            Self::Closing => &[Reason::Network, Reason::Tls, Reason::Answer],
            Self::Garbage => &[Reason::Answer, Reason::Network, Reason::Tls, Reason::Unknown],
        }
    }
}

/// Nothing of HTTP, SSH or TLS begins so.
const GARBAGE: &[u8] = b"\x00\xff\xfe?? this is no protocol \x00\x01\x02\r\n\r\n";

/// A server that runs, or a port that is held closed, until it is dropped.
#[derive(Debug)]
pub(super) struct Server {
    address: SocketAddr,
    _held: Option<TcpSocket>,
    task: Option<JoinHandle<()>>,
}

impl Server {
    pub(super) fn start(manner: Manner) -> io::Result<Self> {
        let socket = TcpSocket::new_v4()?;
        socket.bind(SocketAddrV4::new(Ipv4Addr::LOCALHOST, 0).into())?;
        let address = socket.local_addr()?;
        if manner == Manner::Closed {
            // Bound and not listening: refused, and nobody else gets the port meanwhile.
            return Ok(Self { address, _held: Some(socket), task: None });
        }
        let listener = socket.listen(64)?;
        let task = tokio::spawn(async move {
            let mut open = Vec::new();
            while let Ok((stream, _)) = listener.accept().await {
                match manner {
                    Manner::Closing | Manner::Closed => drop(stream),
                    Manner::Silent => open.push(stream),
                    Manner::Garbage => drop(tokio::spawn(babble(stream))),
                }
            }
        });
        Ok(Self { address, _held: None, task: Some(task) })
    }

    pub(super) const fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if let Some(task) = &self.task {
            task.abort();
        }
    }
}

/// How long it waits for the other end to speak first. A client of SSH, say, waits itself.
const POLITE: Duration = Duration::from_millis(100);

/// Answers whatever comes, once, and then reads on until the other end has had enough.
async fn babble(mut stream: TcpStream) {
    let mut buffer = [0; 1024];
    // Spoken to or not, it says the same.
    let _ = tokio::time::timeout(POLITE, stream.read(&mut buffer)).await;
    // The other end may be gone: then there is nobody to answer.
    let _ = stream.write_all(GARBAGE).await;
    let _ = stream.shutdown().await;
    while matches!(stream.read(&mut buffer).await, Ok(read) if read > 0) {}
}
