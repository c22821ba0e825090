//! Dialling one of several addresses, and what went wrong with all of them.

use std::fmt;
use std::future::poll_fn;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

use tokio::net::TcpStream;

use crate::text::HostPort;

/// How long one address is tried alone before the next is tried beside it (RFC 8305).
const STAGGER: Duration = Duration::from_millis(250);

/// No address could be connected to.
#[derive(Debug)]
pub(crate) struct Failed {
    /// What best says why.
    pub(crate) cause: Cause,
    /// Host and port as they were asked for.
    peer: String,
    /// What each address gave.
    attempts: Vec<(Option<SocketAddr>, io::Error)>,
}

/// Why an address could not be connected to; what says most of the target comes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Cause {
    /// Nothing listens there.
    Refused,
    /// Closed while it was being opened.
    Closed,
    /// The system gave up waiting for an answer.
    TimedOut,
    /// No route, or the network is down.
    Unreachable,
    /// This machine has no means to connect; nothing is known of the target.
    Host,
}

impl Failed {
    pub(crate) fn new(peer: HostPort<'_>, error: io::Error) -> Self {
        Self::of(peer, vec![(None, error)])
    }

    fn of(peer: HostPort<'_>, attempts: Vec<(Option<SocketAddr>, io::Error)>) -> Self {
        let cause = |(address, error): &(Option<SocketAddr>, io::Error)| cause(*address, error);
        // When the machine itself failed on one address, nothing is known of the target.
        let own = attempts.iter().any(|attempt| cause(attempt) == Cause::Host);
        let best = attempts.iter().map(cause).min().unwrap_or(Cause::Host);
        Self { cause: if own { Cause::Host } else { best }, peer: peer.to_string(), attempts }
    }
}

impl fmt::Display for Failed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let peer = &self.peer;
        match self.cause {
            Cause::Refused => write!(f, "{peer} refused the connection")?,
            Cause::Closed => write!(f, "{peer} reset the connection while it was being opened")?,
            Cause::TimedOut => write!(f, "{peer} did not answer to the connection attempts")?,
            Cause::Unreachable => write!(f, "{peer} cannot be reached")?,
            Cause::Host => write!(f, "this host could not connect to {peer}")?,
        }
        let mut before = " (";
        for (address, error) in &self.attempts {
            let what = Os(error);
            match address {
                Some(address) if address.to_string() != *peer => {
                    write!(f, "{before}{address}: {what}")?;
                }
                // Where the host is an address, the message has said it all.
                Some(_) if self.cause == Cause::Refused => continue,
                _ => write!(f, "{before}{what}")?,
            }
            before = ", ";
        }
        if before == ", " { f.write_str(")") } else { Ok(()) }
    }
}

impl std::error::Error for Failed {}

/// The system's text without the number.
pub(super) struct Os<'a>(pub(super) &'a io::Error);

impl fmt::Display for Os<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = self.0.to_string();
        f.write_str(text.split(" (os error").next().unwrap_or(&text))
    }
}

/// What an error of the system says of `address`.
pub(super) fn cause(address: Option<SocketAddr>, error: &io::Error) -> Cause {
    match error.raw_os_error() {
        Some(libc::ECONNREFUSED) => Cause::Refused,
        Some(libc::ECONNRESET | libc::ECONNABORTED | libc::EPIPE | libc::ENOTCONN) => Cause::Closed,
        Some(libc::ETIMEDOUT) => Cause::TimedOut,
        Some(libc::ENETUNREACH | libc::EHOSTUNREACH | libc::ENETDOWN | libc::EHOSTDOWN) => {
            Cause::Unreachable
        }
        // To a machine without IPv6 its own loopback address is no address. In all other cases
        // this means that there are no ports left.
        Some(libc::EADDRNOTAVAIL | libc::EAFNOSUPPORT)
            if address.is_some_and(|address| address.is_ipv6()) =>
        {
            Cause::Unreachable
        }
        // EMFILE, ENFILE, ENOBUFS, ENOMEM, EPERM and EACCES (a firewall on this machine), …
        _ => Cause::Host,
    }
}

/// IPv6 first, the families in turn, each in the order of the answer.
pub(super) fn interleave(addresses: Vec<IpAddr>) -> impl Iterator<Item = IpAddr> {
    let (v6, v4): (Vec<_>, Vec<_>) = addresses.into_iter().partition(IpAddr::is_ipv6);
    let (mut v6, mut v4) = (v6.into_iter(), v4.into_iter());
    let mut turn = false;
    std::iter::from_fn(move || {
        turn = !turn;
        if turn { v6.next().or_else(|| v4.next()) } else { v4.next().or_else(|| v6.next()) }
    })
}

/// Connects to the first of `addresses` that answers. They are tried in order, the next one
/// when one has failed or has not answered for [`STAGGER`]; the others are given up.
pub(super) async fn dial(
    peer: HostPort<'_>,
    addresses: &[SocketAddr],
) -> Result<TcpStream, Failed> {
    if let [address] = addresses {
        return TcpStream::connect(address)
            .await
            .map_err(|error| Failed::of(peer, vec![(Some(*address), error)]));
    }
    let mut next = addresses.iter();
    let mut open = Vec::new();
    let mut failed = Vec::new();
    let mut stagger = pin!(tokio::time::sleep(Duration::ZERO));
    let stream = poll_fn(|cx| {
        loop {
            let due = open.is_empty() || stagger.as_mut().poll(cx).is_ready();
            if due && let Some(address) = next.next() {
                open.push((*address, Box::pin(TcpStream::connect(*address))));
                stagger.as_mut().reset(tokio::time::Instant::now() + STAGGER);
            } else if open.is_empty() {
                return Poll::Ready(None);
            }
            let mut connected = None;
            let before = failed.len();
            open.retain_mut(|(address, attempt)| match attempt.as_mut().poll(cx) {
                Poll::Pending => true,
                Poll::Ready(Ok(stream)) => {
                    connected.get_or_insert(stream);
                    false
                }
                Poll::Ready(Err(error)) => {
                    failed.push((Some(*address), error));
                    false
                }
            });
            if connected.is_some() {
                return Poll::Ready(connected);
            }
            if failed.len() > before {
                // Somebody failed: the next one has its turn now.
                stagger.as_mut().reset(tokio::time::Instant::now());
                continue;
            }
            let waits_for_turn = next.len() > 0 && stagger.as_mut().poll(cx).is_ready();
            if !waits_for_turn {
                return Poll::Pending;
            }
        }
    })
    .await;
    stream.ok_or_else(|| Failed::of(peer, failed))
}
