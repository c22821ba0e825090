//! Servers on loopback that misbehave, each in a way of its own.

use std::io;
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4};
use std::sync::Arc;
use std::time::Duration;

use probehost_model::{Endpoint, Reason, Scheme};
use rustls::ServerConfig;
use rustls::crypto::ring::default_provider;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::{TcpSocket, TcpStream, UdpSocket};
use tokio::task::JoinHandle;
use tokio_rustls::TlsAcceptor;

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
    /// It speaks TLS, with a certificate that nobody vouches for.
    Untrusted,
    /// It answers every HTTP request with this status and an empty JSON object.
    Status(u16),
    /// No socket takes datagrams.
    NoSocket,
    /// It takes datagrams, and answers none.
    Deaf,
    /// It answers each datagram with what is no protocol.
    Noise,
}

const STREAMS: [Manner; 4] = [Manner::Closed, Manner::Silent, Manner::Closing, Manner::Garbage];
const HTTP: [Manner; 3] = [Manner::Status(500), Manner::Status(401), Manner::Status(200)];
const DATAGRAMS: [Manner; 3] = [Manner::NoSocket, Manner::Deaf, Manner::Noise];

impl Manner {
    /// Those that the endpoints of a plan can meet; none for a mixture of streams and datagrams,
    /// or when it reaches no host.
    pub(super) fn of(endpoints: &[Endpoint]) -> Vec<Self> {
        let scheme = |wanted: Scheme| move |endpoint: &Endpoint| matches!(endpoint, Endpoint::Http(origin) if origin.scheme == wanted);
        let is_datagram = |endpoint: &Endpoint| matches!(endpoint, Endpoint::Udp { .. });
        let is_stream = |endpoint: &Endpoint| match endpoint {
            Endpoint::Http(_) | Endpoint::Ssh { .. } => true,
            // A name server is asked by a stream where a datagram was too small.
            Endpoint::Tcp { host, port } => {
                !endpoints.contains(&Endpoint::Udp { host: host.clone(), port: *port })
            }
            _ => false,
        };
        match (endpoints.iter().any(is_stream), endpoints.iter().any(is_datagram)) {
            (true, false) => {
                let mut manners = STREAMS.to_vec();
                if endpoints.iter().any(scheme(Scheme::Https)) {
                    manners.push(Self::Untrusted);
                }
                if endpoints.iter().any(scheme(Scheme::Http)) {
                    manners.extend(HTTP);
                }
                manners
            }
            (false, true) => DATAGRAMS.to_vec(),
            _ => Vec::new(),
        }
    }

    /// What it is, after "against".
    pub(super) fn words(self) -> String {
        match self {
            Self::Closed => "a port that nothing listens on".into(),
            Self::Silent => "a server that accepts and says nothing".into(),
            Self::Closing => "a server that closes at once".into(),
            Self::Garbage => "a server that answers with garbage".into(),
            Self::Untrusted => "a server whose certificate nobody vouches for".into(),
            Self::Status(status) => format!("a server that answers {status} and {{}}"),
            Self::NoSocket => "a port that takes no datagrams".into(),
            Self::Deaf => "a server that answers no datagram".into(),
            Self::Noise => "a server that answers datagrams with garbage".into(),
        }
    }

    /// The reasons that fit, the best one first; none where a pass may be right as well.
    pub(super) const fn reasons(self) -> &'static [Reason] {
        match self {
            Self::Closed => &[Reason::Network],
            Self::Silent | Self::Deaf => &[Reason::Timeout],
            Self::Closing => &[Reason::Network, Reason::Tls, Reason::Answer],
            Self::Garbage => &[Reason::Answer, Reason::Network, Reason::Tls, Reason::Unknown],
            Self::Untrusted => &[Reason::Tls],
            Self::Status(_) => &[],
            Self::NoSocket => &[Reason::Network, Reason::Timeout],
            // What is no answer to the question may be passed over until the deadline.
            Self::Noise => &[Reason::Answer, Reason::Timeout, Reason::Network, Reason::Unknown],
        }
    }
}

/// Nothing of HTTP, SSH, TLS or DNS begins so.
const GARBAGE: &[u8] = b"\x00\xff\xfe?? this is no protocol \x00\x01\x02\r\n\r\n";

/// A server that runs, or a port that is held closed, until it is dropped.
#[derive(Debug)]
pub(super) struct Server {
    address: SocketAddr,
    _held: Option<TcpSocket>,
    task: Option<JoinHandle<()>>,
}

impl Server {
    pub(super) async fn start(manner: Manner) -> io::Result<Self> {
        let any: SocketAddr = SocketAddrV4::new(Ipv4Addr::LOCALHOST, 0).into();
        match manner {
            Manner::NoSocket | Manner::Deaf | Manner::Noise => {
                let socket = UdpSocket::bind(any).await?;
                let address = socket.local_addr()?;
                let task = match manner {
                    Manner::NoSocket => None,
                    Manner::Noise => Some(tokio::spawn(chatter(socket))),
                    _ => Some(tokio::spawn(async move {
                        let _open = socket;
                        std::future::pending().await
                    })),
                };
                return Ok(Self { address, _held: None, task });
            }
            _ => {}
        }
        let socket = TcpSocket::new_v4()?;
        socket.bind(any)?;
        let address = socket.local_addr()?;
        if manner == Manner::Closed {
            // Bound and not listening: refused, and nobody else gets the port meanwhile.
            return Ok(Self { address, _held: Some(socket), task: None });
        }
        let listener = socket.listen(64)?;
        let acceptor = match manner {
            Manner::Untrusted => Some(untrusted()?),
            _ => None,
        };
        let task = tokio::spawn(async move {
            let mut open = Vec::new();
            while let Ok((stream, _)) = listener.accept().await {
                match (manner, &acceptor) {
                    (Manner::Silent, _) => open.push(stream),
                    (Manner::Garbage, _) => drop(tokio::spawn(babble(stream))),
                    (Manner::Status(status), _) => drop(tokio::spawn(answer(stream, status))),
                    (_, Some(acceptor)) => drop(tokio::spawn(shake(acceptor.clone(), stream))),
                    _ => drop(stream),
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
    read_out(stream).await;
}

/// Answers one request, as soon as its head is there.
async fn answer(mut stream: TcpStream, status: u16) {
    let mut head = Vec::new();
    let mut buffer = [0; 1024];
    while !head.windows(4).any(|end| end == b"\r\n\r\n") && head.len() < 64 * 1024 {
        match stream.read(&mut buffer).await {
            Ok(read) if read > 0 => head.extend(buffer.iter().take(read)),
            _ => return,
        }
    }
    let body = if head.starts_with(b"HEAD") { "" } else { "{}" };
    let answer = format!(
        "HTTP/1.1 {status} so\r\ncontent-type: application/json\r\ncontent-length: 2\r\nconnection: close\r\n\r\n{body}"
    );
    let _ = stream.write_all(answer.as_bytes()).await;
    let _ = stream.shutdown().await;
    read_out(stream).await;
}

/// Takes what comes until the other end has had enough: closing earlier would reset the connection.
async fn read_out(mut stream: impl AsyncRead + AsyncWrite + Unpin) {
    let mut buffer = [0; 1024];
    while matches!(stream.read(&mut buffer).await, Ok(read) if read > 0) {}
}

/// A handshake, with a client that should not go through with it.
async fn shake(acceptor: TlsAcceptor, stream: TcpStream) {
    if let Ok(stream) = acceptor.accept(stream).await {
        read_out(stream).await;
    }
}

/// A certificate of its own making.
fn untrusted() -> io::Result<TlsAcceptor> {
    let names = ["localhost".to_owned(), "127.0.0.1".to_owned()];
    let made = rcgen::generate_simple_self_signed(names).map_err(io::Error::other)?;
    let key = made.signing_key.into();
    let config = ServerConfig::builder_with_provider(default_provider().into())
        .with_safe_default_protocol_versions()
        .and_then(|config| {
            config.with_no_client_auth().with_single_cert(vec![made.cert.into()], key)
        })
        .map_err(io::Error::other)?;
    Ok(TlsAcceptor::from(Arc::new(config)))
}

/// Answers every datagram with the same.
async fn chatter(socket: UdpSocket) {
    let mut buffer = [0; 2048];
    while let Ok((_, from)) = socket.recv_from(&mut buffer).await {
        // Who asked may be gone.
        let _ = socket.send_to(GARBAGE, from).await;
    }
}
