//! Connections for guests that bring a protocol of their own, as the sockets of WASI are used: a
//! name is looked up first, and an address is connected to later.
//!
//! So the host remembers which names it resolved for a run, and to which addresses: a grant of a
//! name is good for the addresses that this host found for it, and for no others (contract G3).

use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use probehost_model::sanitize;
use tokio::net::TcpStream;
use url::Host;

use crate::egress::{Cause, Denied, Egress, EgressError};
use crate::resolve::ResolveError;
use crate::run::{ActiveCall, CallResult, Phase, Run};
use crate::text::HostPort;

/// Most addresses of one name that a guest is told.
const MAX_ADDRESSES: usize = 8;

/// Most pairs of a name and an address that are remembered for a run.
const MAX_KNOWN: usize = 256;

/// Looks names up and connects.
#[derive(Debug, Clone)]
pub struct Sockets {
    egress: Arc<Egress>,
}

/// The sockets of one run. Clones are the same.
#[derive(Debug, Clone)]
pub struct Session(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    run: Run,
    egress: Arc<Egress>,
    /// What was looked up.
    known: Mutex<Vec<(String, IpAddr)>>,
}

/// What went wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorKind {
    /// Not granted. The message holds the line that would grant it.
    Denied,
    /// It can't be a name, or the port is 0.
    Invalid,
    /// The deadline came; or the system gave up connecting.
    Timeout,
    /// The name does not exist, or has no address.
    NameNotFound,
    /// The resolver did not answer, or answered that it can't now.
    Resolver,
    /// Nothing listens: the connection was refused.
    Refused,
    /// No route, or the network is down.
    Unreachable,
    /// The connection was closed while it was being opened.
    Closed,
    /// The host itself could not: nothing is known about the target.
    Host,
}

/// There is no connection, or no address.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Error {
    /// What went wrong.
    pub kind: ErrorKind,
    /// For people: names host and port.
    pub message: String,
    denied: Option<Box<Denied>>,
}

/// A connection that is open.
#[derive(Debug)]
pub struct Connected {
    /// What was dialled.
    pub stream: TcpStream,
    /// Host and port, for people: by its name where that was looked up.
    pub peer: String,
}

impl Sockets {
    pub(crate) const fn new(egress: Arc<Egress>) -> Self {
        Self { egress }
    }

    /// Begins the use of sockets in `run`, which knows no name yet.
    #[must_use]
    pub fn session(&self, run: &Run) -> Session {
        let (run, egress) = (run.clone(), Arc::clone(&self.egress));
        Session(Arc::new(Inner { run, egress, known: Mutex::default() }))
    }
}

impl Session {
    /// The addresses of `name`, at least one and at most eight, by the run's deadline. An IP
    /// address is its own answer, and no grant for it is asked for yet. The call is noted in the
    /// run's trace.
    ///
    /// # Errors
    ///
    /// The name is not the host of anything that is granted, or has no address.
    pub async fn lookup(&self, name: &str) -> Result<Vec<IpAddr>, Error> {
        let Inner { run, egress, .. } = &*self.0;
        let host = match Host::parse(name.strip_suffix('.').unwrap_or(name)) {
            Ok(Host::Domain(host)) => Ok(host),
            Ok(Host::Ipv4(address)) => return Ok(vec![address.into()]),
            Ok(Host::Ipv6(address)) => return Ok(vec![address.into()]),
            Err(_) => match name.parse::<IpAddr>() {
                Ok(address) => return Ok(vec![address]),
                Err(_) => Err(Error::new(ErrorKind::Invalid, &format!("{name:?} can't be a name"))),
            },
        };
        let call = run.begin("dns", sanitize(&format!("addresses of {name}")));
        let done = match host {
            Err(invalid) => Err(invalid),
            Ok(host) => {
                call.begin_hop(host.clone());
                // With its dot, a name is asked for as it is.
                let asked = if name.ends_with('.') { format!("{host}.") } else { host.clone() };
                let found = in_time(&call, egress.lookup(&call, &asked)).await;
                found.map(|addresses| self.remember(&host, addresses))
            }
        };
        finish(call, done)
    }

    /// Connects to this very address, by the run's deadline. It is granted by its own address and
    /// port, or by a name that was looked up before, led there and is granted with this port. The
    /// call is noted in the run's trace.
    ///
    /// # Errors
    ///
    /// Nothing of the kind is granted, or nobody answers there.
    pub async fn connect(&self, address: SocketAddr) -> Result<Connected, Error> {
        let Inner { run, egress, .. } = &*self.0;
        let ip = address.ip().to_canonical();
        let known = |(name, to): &(String, IpAddr)| (*to == ip).then(|| name.clone());
        let names: Vec<String> = self.known().iter().filter_map(known).collect();
        let literal = ip.to_string();
        let host = names.first().unwrap_or(&literal);
        let peer = HostPort(host, address.port()).to_string();
        let call = run.begin("tcp", format!("connect to {peer}"));
        call.begin_hop(peer.clone());
        let done = if address.port() == 0 {
            Err(Error::new(ErrorKind::Invalid, "nothing can be connected to at port 0"))
        } else {
            in_time(&call, egress.connect_to(&call, &names, address)).await
        };
        let stream = finish(call, done)?;
        Ok(Connected { stream, peer })
    }

    /// Notes in the trace that the run's deadline came while it waited for `peer`, which had sent
    /// so many bytes before.
    pub fn overdue(&self, peer: &str, received: usize) {
        let run = &self.0.run;
        let call = run.begin("tcp", format!("wait for {peer}"));
        call.begin_hop(peer.to_owned());
        call.enter(Phase::Body);
        run.received(received);
        let message = call.timeout_message();
        call.finish(CallResult::TimedOut(message));
    }

    /// Notes in the trace something that no grant allows.
    pub fn refused(&self, what: &str, why: &str) {
        let call = self.0.run.begin("tcp", sanitize(what));
        call.finish(CallResult::Failed(sanitize(why)));
    }

    fn remember(&self, name: &str, mut addresses: Vec<IpAddr>) -> Vec<IpAddr> {
        addresses.truncate(MAX_ADDRESSES);
        let mut known = self.known();
        for address in &addresses {
            let pair = (name.to_owned(), address.to_canonical());
            if known.len() < MAX_KNOWN && !known.contains(&pair) {
                known.push(pair);
            }
        }
        addresses
    }

    fn known(&self) -> MutexGuard<'_, Vec<(String, IpAddr)>> {
        // Nothing here panics while it holds the lock, and the list is good at every step.
        self.0.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

async fn in_time<T>(
    call: &ActiveCall<'_>,
    work: impl Future<Output = Result<T, EgressError>>,
) -> Result<T, Error> {
    match tokio::time::timeout_at(call.run().deadline(), work).await {
        Ok(done) => done.map_err(Error::from),
        Err(_) => Err(Error::new(ErrorKind::Timeout, &call.timeout_message())),
    }
}

fn finish<T>(call: ActiveCall<'_>, done: Result<T, Error>) -> Result<T, Error> {
    let result = match &done {
        Ok(_) => CallResult::Ok,
        Err(error) => error.result(),
    };
    call.finish(result);
    done
}

impl Error {
    fn new(kind: ErrorKind, message: &str) -> Self {
        // A guest chooses the names.
        Self { kind, message: sanitize(message), denied: None }
    }

    /// For the trace.
    fn result(&self) -> CallResult {
        match &self.denied {
            Some(denied) => CallResult::Denied {
                endpoint: denied.endpoint.clone(),
                grant_line: denied.grant_line.clone(),
            },
            None if self.kind == ErrorKind::Timeout => CallResult::TimedOut(self.message.clone()),
            None => CallResult::Failed(self.message.clone()),
        }
    }
}

impl From<EgressError> for Error {
    fn from(error: EgressError) -> Self {
        let kind = match &error {
            EgressError::Denied(_) => ErrorKind::Denied,
            EgressError::Resolve(ResolveError::NotFound(_)) => ErrorKind::NameNotFound,
            EgressError::Resolve(ResolveError::Host { .. }) => ErrorKind::Host,
            EgressError::Resolve(_) => ErrorKind::Resolver,
            EgressError::Dial(failed) => match failed.cause {
                Cause::Refused => ErrorKind::Refused,
                Cause::Closed => ErrorKind::Closed,
                Cause::TimedOut => ErrorKind::Timeout,
                Cause::Unreachable => ErrorKind::Unreachable,
                Cause::Host => ErrorKind::Host,
            },
        };
        let denied = match &error {
            EgressError::Denied(denied) => Some(Box::new(denied.clone())),
            _ => None,
        };
        Self { denied, ..Self::new(kind, &error.to_string()) }
    }
}
