//! Bytes out, bytes back: the plainest client, for looking at what an upstream really does.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::Duration;

use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection, StreamOwned};

/// A HEAD request for `/` that asks for the connection to be closed after the answer.
pub const HEAD: &[u8] = b"HEAD / HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n";

/// Connects, sends, and reads to the end of the stream. Each read that takes longer than `limit` fails with
/// `WouldBlock`, and so does a connect with `TimedOut`.
pub fn exchange(address: SocketAddr, bytes: &[u8], limit: Duration) -> io::Result<Vec<u8>> {
    talk(connect(address, limit)?, bytes)
}

/// As [`exchange`], over TLS; the certificate is checked for `host`. A handshake that fails is an error whose text
/// says why.
pub fn exchange_tls(
    address: SocketAddr,
    host: &'static str,
    config: Arc<ClientConfig>,
    bytes: &[u8],
    limit: Duration,
) -> io::Result<Vec<u8>> {
    let name = ServerName::try_from(host).map_err(io::Error::other)?;
    let session = ClientConnection::new(config, name).map_err(io::Error::other)?;
    talk(StreamOwned::new(session, connect(address, limit)?), bytes)
}

fn connect(address: SocketAddr, limit: Duration) -> io::Result<TcpStream> {
    let stream = TcpStream::connect_timeout(&address, limit)?;
    stream.set_read_timeout(Some(limit))?;
    Ok(stream)
}

fn talk(mut stream: impl Read + Write, bytes: &[u8]) -> io::Result<Vec<u8>> {
    stream.write_all(bytes)?;
    stream.flush()?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer)?;
    Ok(answer)
}
