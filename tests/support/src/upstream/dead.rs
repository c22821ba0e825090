//! Ports that never accept: one that refuses, and one whose queue is full.

use std::io;
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4, TcpStream};
use std::os::fd::OwnedFd;
use std::time::Duration;

use rustix::net::{AddressFamily, SocketFlags, SocketType, bind, getsockname, listen, socket_with};

use super::UpstreamError;

/// How long a connect may take on loopback before the queue counts as full.
const STALLED: Duration = Duration::from_millis(250);

/// No queue of the smallest size holds more than this.
const FILLERS: usize = 16;

/// A port that refuses every connection: bound, so that nobody else gets it, but never listened on.
#[derive(Debug)]
pub struct ClosedPort {
    address: SocketAddr,
    _socket: OwnedFd,
}

impl ClosedPort {
    /// Reserves a free port of 127.0.0.1. Panics where that fails.
    #[allow(clippy::panic, reason = "a test whose upstream does not start has failed")]
    pub fn reserve() -> Self {
        match Self::reserve_at(SocketAddrV4::new(Ipv4Addr::LOCALHOST, 0)) {
            Ok(port) => port,
            Err(error) => panic!("{error}"),
        }
    }

    /// Reserves this address; port 0 stands for a free one.
    pub fn reserve_at(address: SocketAddrV4) -> Result<Self, UpstreamError> {
        let (socket, address) = bound(address).map_err(|source| refused(address, source))?;
        Ok(Self { address, _socket: socket })
    }

    /// The address that refuses.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Its base URL, with `http`.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }
}

/// A listener whose queue is full, so that a further connect gets no answer at all.
#[derive(Debug)]
pub struct FullBacklog {
    address: SocketAddr,
    _socket: OwnedFd,
    _fillers: Vec<TcpStream>,
}

impl FullBacklog {
    /// Listens on a free port of 127.0.0.1 and fills its queue. Panics where that fails.
    #[allow(clippy::panic, reason = "a test whose upstream does not start has failed")]
    pub fn start() -> Self {
        let address = SocketAddrV4::new(Ipv4Addr::LOCALHOST, 0);
        match Self::fill(address) {
            Ok(full) => full,
            Err(source) => panic!("{}", refused(address, source)),
        }
    }

    fn fill(address: SocketAddrV4) -> io::Result<Self> {
        let (socket, address) = bound(address)?;
        listen(&socket, 0)?;
        let mut fillers = Vec::new();
        while fillers.len() < FILLERS {
            match TcpStream::connect_timeout(&address, STALLED) {
                Ok(filler) => fillers.push(filler),
                Err(error) if error.kind() == io::ErrorKind::TimedOut => {
                    return Ok(Self { address, _socket: socket, _fillers: fillers });
                }
                Err(error) => return Err(error),
            }
        }
        Err(io::Error::other(format!("the queue took {FILLERS} connections and was not full")))
    }

    /// The address that does not answer.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Its base URL, with `http`.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }
}

/// A socket with an address, not listening.
fn bound(address: SocketAddrV4) -> io::Result<(OwnedFd, SocketAddr)> {
    let socket = socket_with(AddressFamily::INET, SocketType::STREAM, SocketFlags::CLOEXEC, None)?;
    bind(&socket, &address)?;
    let address = SocketAddr::try_from(getsockname(&socket)?)?;
    Ok((socket, address))
}

fn refused(address: SocketAddrV4, source: io::Error) -> UpstreamError {
    UpstreamError::Listen { address: address.into(), source }
}
