//! One datagram out, one in.

use std::future::poll_fn;
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::task::Poll;

use tokio::io::Interest;
use tokio::net::UdpSocket;
use tokio::time::{Instant, timeout_at};

use super::dial::{Cause, Os, cause};
use crate::text::HostPort;

/// A datagram that wants a reply.
#[derive(Debug)]
pub(crate) struct Datagram<'a> {
    /// Host and port as they were asked for.
    pub(crate) peer: HostPort<'a>,
    /// Where it goes: to each in turn. They have been checked, or are the operator's own choice.
    pub(crate) addresses: Vec<SocketAddr>,
    pub(crate) payload: &'a [u8],
    /// Most bytes of the reply.
    pub(crate) limit: usize,
    /// How often it is sent; 0 counts as 1.
    pub(crate) tries: u32,
    /// The tries share the time until then. The last one waits on: whoever calls sees to the
    /// deadline.
    pub(crate) until: Instant,
}

/// Why there is no reply.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Undelivered {
    #[error("nothing listens at {0} (UDP)")]
    Refused(String),
    #[error("{peer} cannot be reached by UDP ({why})")]
    Unreachable { peer: String, why: String },
    #[error("the reply of {peer} has more than {limit} bytes")]
    TooLarge { peer: String, limit: usize },
    #[error("this host could not send to {peer} by UDP ({why})")]
    Host { peer: String, why: String },
}

impl Datagram<'_> {
    /// Sends it, and waits for a reply that `accept` takes; others are passed over. Says who replied.
    pub(crate) async fn exchange(
        mut self,
        mut accept: impl FnMut(&[u8]) -> bool,
    ) -> Result<(Vec<u8>, SocketAddr), Undelivered> {
        let mut sockets: Vec<(SocketAddr, UdpSocket)> = Vec::new();
        let mut buffer = vec![0; self.limit.saturating_add(1)];
        let (mut sent, mut turn) = (0, 0);
        let mut last = None;
        loop {
            let Some(address) = self.addresses.get(turn % self.addresses.len().max(1)).copied()
            else {
                return Err(
                    last.unwrap_or_else(|| self.failed(None, &io::Error::other("no address")))
                );
            };
            let done = match send(&mut sockets, address, self.payload).await {
                Err(error) => Err((address, error)),
                Ok(()) => {
                    sent += 1;
                    let reply = receive(&sockets, &mut buffer, &mut accept);
                    if sent >= self.tries {
                        reply.await
                    } else {
                        // Each of the tries that are left has the same share of the time.
                        let now = Instant::now();
                        let left = self.until.saturating_duration_since(now);
                        let share = left / (self.tries - sent + 1);
                        match timeout_at(now + share, reply).await {
                            Ok(reply) => reply,
                            Err(_) => {
                                turn += 1;
                                continue;
                            }
                        }
                    }
                }
            };
            match done {
                Ok((length, _)) if length > self.limit => {
                    let peer = self.peer.to_string();
                    return Err(Undelivered::TooLarge { peer, limit: self.limit });
                }
                Ok((length, from)) => {
                    buffer.truncate(length);
                    return Ok((buffer, from));
                }
                Err((at, error)) => {
                    last = Some(self.failed(Some(at), &error));
                    self.addresses.retain(|address| *address != at);
                    sockets.retain(|(address, _)| *address != at);
                    // What was sent there was no try.
                    sent = sent.saturating_sub(1);
                }
            }
        }
    }

    fn failed(&self, address: Option<SocketAddr>, error: &io::Error) -> Undelivered {
        let peer = self.peer.to_string();
        let why = Os(error).to_string();
        match cause(address, error) {
            Cause::Refused | Cause::Closed => Undelivered::Refused(peer),
            Cause::Unreachable | Cause::TimedOut => Undelivered::Unreachable { peer, why },
            Cause::Host => Undelivered::Host { peer, why },
        }
    }
}

/// Sends from a socket that takes datagrams of `address` alone.
async fn send(
    sockets: &mut Vec<(SocketAddr, UdpSocket)>,
    address: SocketAddr,
    payload: &[u8],
) -> io::Result<()> {
    if let Some((_, socket)) = sockets.iter().find(|(of, _)| *of == address) {
        return socket.send(payload).await.map(drop);
    }
    let any: SocketAddr = if address.is_ipv4() {
        (Ipv4Addr::UNSPECIFIED, 0).into()
    } else {
        (Ipv6Addr::UNSPECIFIED, 0).into()
    };
    let socket = UdpSocket::bind(any).await?;
    socket.connect(address).await?;
    socket.send(payload).await?;
    sockets.push((address, socket));
    Ok(())
}

/// Waits for a datagram on any of the sockets: a late reply to an earlier try is one too.
async fn receive(
    sockets: &[(SocketAddr, UdpSocket)],
    buffer: &mut [u8],
    accept: &mut impl FnMut(&[u8]) -> bool,
) -> Result<(usize, SocketAddr), (SocketAddr, io::Error)> {
    loop {
        // That nothing listens shows as an error on the socket, and not as something to read.
        let news = Interest::READABLE | Interest::ERROR;
        let mut waits: Vec<_> = sockets.iter().map(|of| (of, Box::pin(of.1.ready(news)))).collect();
        let (address, socket) = poll_fn(|cx| {
            for (of, wait) in &mut waits {
                if wait.as_mut().poll(cx).is_ready() {
                    return Poll::Ready(*of);
                }
            }
            Poll::Pending
        })
        .await;
        let pending = socket.try_io(Interest::ERROR, || {
            Err::<(), _>(socket.take_error()?.unwrap_or_else(|| io::ErrorKind::WouldBlock.into()))
        });
        let read = match pending {
            Err(error) if error.kind() != io::ErrorKind::WouldBlock => Err(error),
            _ => socket.try_recv(buffer),
        };
        match read {
            Ok(count) if accept(buffer.get(..count).unwrap_or_default()) => {
                return Ok((count, *address));
            }
            Err(error) if error.kind() != io::ErrorKind::WouldBlock => {
                return Err((*address, error));
            }
            Ok(_) | Err(_) => {}
        }
    }
}
