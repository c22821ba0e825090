//! One connection of an upstream, from the handshake to its end.

use std::io;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

use super::journal::Open;
use super::message::{BodyLength, Request, Response};
use super::script::Step;
use super::{Play, Setup};

/// A head longer than this is a stray.
const HEAD_LIMIT: usize = 64 * 1024;

/// A stream with its TCP socket within reach.
trait Wire: AsyncRead + AsyncWrite + Unpin + Send {
    fn tcp(&self) -> &TcpStream;
}

impl Wire for TcpStream {
    fn tcp(&self) -> &TcpStream {
        self
    }
}

impl Wire for TlsStream<TcpStream> {
    fn tcp(&self) -> &TcpStream {
        self.get_ref().0
    }
}

/// Serves one connection. Errors of the connection end it: the peer may go at any time.
pub(super) async fn serve(setup: Setup, stream: TcpStream, open: Open) {
    // Drips and short heads are to leave when they are written.
    let _unsupported = stream.set_nodelay(true);
    tokio::time::sleep(setup.handshake_delay).await;
    let _peer_left = match setup.tls {
        None => play(&setup.play, stream, &open).await,
        Some(config) => match TlsAcceptor::from(config).accept(stream).await {
            Ok(stream) => play(&setup.play, stream, &open).await,
            Err(error) => {
                open.note_failed_handshake();
                Err(error)
            }
        },
    };
}

async fn play<W: Wire>(play: &Play, stream: W, open: &Open) -> io::Result<()> {
    let mut line = Line { stream, buffer: Vec::new(), open };
    match play {
        Play::Http(handler) => line.http(handler.as_ref()).await,
        Play::Scripts(scripts) => match scripts.get(open.number()).or(scripts.last()) {
            Some(script) => line.script(script.steps()).await,
            None => Ok(()),
        },
    }
}

/// A connection with the bytes that were read and not yet used.
struct Line<'a, W> {
    stream: W,
    buffer: Vec<u8>,
    open: &'a Open,
}

impl<W: Wire> Line<'_, W> {
    async fn http(
        &mut self,
        handler: &(dyn Fn(&Request) -> Response + Send + Sync),
    ) -> io::Result<()> {
        while let Some(request) = self.read_request().await? {
            self.open.note_request(request.clone());
            let response = handler(&request);
            tokio::time::sleep(response.delay()).await;
            self.stream.write_all(&response.encode(&request.method)).await?;
            self.stream.flush().await?;
            if response.closes() || request.wants_close() {
                break;
            }
        }
        self.close().await
    }

    async fn script(&mut self, steps: &[Step]) -> io::Result<()> {
        for step in steps {
            match step {
                Step::ReadHead => match self.read_head().await? {
                    Some(request) => self.open.note_request(request),
                    None => break,
                },
                Step::Send(bytes) => self.send(bytes).await?,
                Step::Drip(bytes, pause) => {
                    for byte in bytes {
                        tokio::time::sleep(*pause).await;
                        self.send(&[*byte]).await?;
                    }
                }
                Step::Flood(length) => {
                    tokio::io::copy(&mut tokio::io::repeat(0).take(*length), &mut self.stream)
                        .await?;
                    self.stream.flush().await?;
                }
                Step::Sleep(time) => tokio::time::sleep(*time).await,
                Step::Hang => {
                    tokio::io::copy(&mut self.stream, &mut tokio::io::sink()).await?;
                }
                // Without lingering, the close that follows is a reset.
                Step::Reset => return self.stream.tcp().set_zero_linger(),
            }
        }
        self.close().await
    }

    async fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.stream.write_all(bytes).await?;
        self.stream.flush().await
    }

    /// Ends the connection in good order.
    async fn close(&mut self) -> io::Result<()> {
        self.stream.shutdown().await
    }

    async fn read_request(&mut self) -> io::Result<Option<Request>> {
        let Some(mut request) = self.read_head().await? else { return Ok(None) };
        request.body = match request.body_length() {
            BodyLength::Bytes(length) => {
                while self.buffer.len() < length && self.read_more().await? {}
                self.take(length)
            }
            // Kept as sent, chunk heads and all: what matters is that there was one.
            BodyLength::Chunked => {
                self.read_until(b"0\r\n\r\n").await?.map(|end| self.take(end)).unwrap_or_default()
            }
        };
        Ok(Some(request))
    }

    /// The next head. `None` when the peer is done, or sent what is no head; those bytes are noted.
    async fn read_head(&mut self) -> io::Result<Option<Request>> {
        let end = self.read_until(b"\r\n\r\n").await;
        let request = match end {
            Ok(Some(end)) => {
                let head = self.take(end);
                let request = Request::parse(&head, self.open.number());
                if request.is_none() {
                    self.open.note_stray(head);
                }
                request
            }
            Ok(None) | Err(_) => None,
        };
        if request.is_none() && !self.buffer.is_empty() {
            let rest = self.buffer.len();
            let stray = self.take(rest);
            self.open.note_stray(stray);
        }
        end?;
        Ok(request)
    }

    /// Reads on until the buffer holds this mark; gives the place after it. `None`: the peer is done, or sends too much.
    async fn read_until(&mut self, mark: &[u8]) -> io::Result<Option<usize>> {
        loop {
            if let Some(at) = self.buffer.windows(mark.len()).position(|part| part == mark) {
                return Ok(Some(at + mark.len()));
            }
            if self.buffer.len() > HEAD_LIMIT || !self.read_more().await? {
                return Ok(None);
            }
        }
    }

    /// Reads what has come; `false` when the peer is done.
    async fn read_more(&mut self) -> io::Result<bool> {
        Ok(self.stream.read_buf(&mut self.buffer).await? > 0)
    }

    fn take(&mut self, length: usize) -> Vec<u8> {
        let rest = self.buffer.split_off(length.min(self.buffer.len()));
        std::mem::replace(&mut self.buffer, rest)
    }
}
