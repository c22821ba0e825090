//! The `ssh` capability of WIT version 1: handshakes with SSH servers whose host key is pinned.
//!
//! One call dials (through a jump host, when there is one), verifies the host key, logs in and
//! closes. It opens no session channel and runs no command (contract K1). The library's tasks
//! have their connections on a leash, so a call that is dropped leaves nothing behind.

mod algorithms;
mod error;
mod identity;
mod keys;
mod known_hosts;
mod leash;
mod session;
mod types;

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use probehost_model::{Endpoint, sanitize};
use russh::AlgorithmKind;
use russh::keys::PublicKey;

use crate::egress::Egress;
use crate::log::Level;
use crate::run::{ActiveCall, CallResult, Run};
use crate::secrets::Secrets;
use crate::text::HostPort;

pub use crate::run::{Phase, Timings};
pub use types::{Error, ErrorKind, Hop, Identity, Jump, Offered, Report, Request};

use error::Failure;
use identity::Ready;
use keys::{KeyType, Pin, shown};
use known_hosts::KnownHosts;
use leash::Connection;
use session::{Judge, Refusal, Session, open};

/// Most keys of an agent that are tried: servers end the connection after some six.
pub const MAX_AGENT_KEYS: usize = 5;

/// Most pins without a type for which it is remembered which type they turned out to be.
const MAX_LEARNED: usize = 10_000;

/// What the capability uses of this machine.
#[derive(Debug)]
pub struct Local {
    /// By which jump hosts are verified; new ones are added. None: there can be no jump hosts.
    pub known_hosts: Option<PathBuf>,
    /// The agent's socket when a check names none. None: there is no such agent.
    pub agent_socket: Option<PathBuf>,
    /// Where passwords and passphrases are.
    pub secrets: Secrets,
}

impl Local {
    /// What this process has: `~/.ssh/known_hosts`, the agent of `SSH_AUTH_SOCK`, and the
    /// secrets of the environment and of systemd's credentials.
    #[must_use]
    pub fn system() -> Self {
        let variable = |name| std::env::var_os(name).filter(|value| !value.is_empty());
        Self {
            known_hosts: variable("HOME").map(|home| PathBuf::from(home).join(".ssh/known_hosts")),
            agent_socket: variable("SSH_AUTH_SOCK").map(PathBuf::from),
            secrets: Secrets::system(None),
        }
    }
}

/// Makes handshakes.
#[derive(Debug)]
pub struct Ssh {
    egress: Arc<Egress>,
    local: Local,
    known_hosts: Arc<KnownHosts>,
    /// The types of keys that were pinned without one, by peer.
    learned: Mutex<HashMap<(String, Pin), KeyType>>,
}

/// A host that is dialled.
struct Place<'r> {
    host: &'r str,
    port: u16,
    endpoint: Endpoint,
    /// Host and port, for people.
    peer: String,
}

impl<'r> Place<'r> {
    fn new(host: &'r str, port: u16) -> Self {
        let endpoint = Endpoint::Ssh { host: host.to_owned(), port };
        Self { host, port, endpoint, peer: HostPort(host, port).to_string() }
    }
}

/// How the target is dialled.
enum Way<'r> {
    Direct,
    Through(Box<Session>, Place<'r>),
}

/// What a handshake that went well is about.
struct Passed {
    host_key: String,
    session: Session,
    logged_in: bool,
}

impl Ssh {
    pub(crate) fn new(egress: Arc<Egress>, local: Local) -> Self {
        let known_hosts = Arc::new(KnownHosts::new(local.known_hosts.clone()));
        Self { egress, local, known_hosts, learned: Mutex::default() }
    }

    /// Dials, verifies the host key, logs in, and closes; at most until the run's deadline. The
    /// call is noted in the run's trace.
    ///
    /// # Errors
    ///
    /// [`Error`] names host and port, the jump host where it failed there, and the phase. A host
    /// key that is not the pinned one is shown beside it.
    pub async fn handshake(&self, run: &Run, request: Request) -> Result<Report, Error> {
        let target = Place::new(&request.host, request.port);
        let way = match &request.jump {
            Some(jump) => format!(" through {}", HostPort(&jump.host, jump.port)),
            None => String::new(),
        };
        let what = sanitize(&format!("handshake with {}{way}", target.peer));
        let call = run.begin("ssh", what);
        let at_jump = AtomicBool::new(false);
        let work = self.work(&call, &request, &target, &at_jump);
        let done = match tokio::time::timeout_at(run.deadline(), work).await {
            Ok(done) => done,
            Err(_) => {
                let mut failure = Failure::new(ErrorKind::Timeout, call.timeout_message());
                if at_jump.load(Ordering::Relaxed) {
                    failure.hop = Hop::Jump;
                }
                Err(failure)
            }
        };
        let phase = call.phase();
        match done {
            Ok(mut report) => {
                report.timings = call.finish(CallResult::Ok);
                Ok(report)
            }
            Err(failure) => {
                let timings = call.finish(failure.result());
                let Failure { kind, hop, message, .. } = failure;
                Err(Error { kind, hop, phase, message, timings })
            }
        }
    }

    /// The host keys that a server offers, one for each type that it has. Nothing vouches for
    /// them, and none is verified: they are for a person to compare. No login is made.
    ///
    /// # Errors
    ///
    /// [`Error`], when not even one could be seen.
    pub async fn offered(&self, run: &Run, host: &str, port: u16) -> Result<Vec<Offered>, Error> {
        let place = Place::new(host, port);
        let call = run.begin("ssh", sanitize(&format!("host keys of {}", place.peer)));
        let mut found = Vec::new();
        let scan = self.scan(&call, &place, &mut found);
        let done = match tokio::time::timeout_at(run.deadline(), scan).await {
            Ok(done) => done,
            Err(_) => Err(Failure::new(ErrorKind::Timeout, call.timeout_message())),
        };
        let phase = call.phase();
        match done {
            Err(failure) if found.is_empty() => {
                let timings = call.finish(failure.result());
                let Failure { kind, hop, message, .. } = failure;
                Err(Error { kind, hop, phase, message, timings })
            }
            _ => {
                call.finish(CallResult::Ok);
                Ok(found)
            }
        }
    }

    async fn scan(
        &self,
        call: &ActiveCall<'_>,
        place: &Place<'_>,
        found: &mut Vec<Offered>,
    ) -> Result<(), Failure> {
        let mut last = None;
        for kind in KeyType::ALL {
            call.begin_hop(place.peer.clone());
            let stream = self.egress.connect(call, &place.endpoint, place.host, place.port).await?;
            call.enter(Phase::Version);
            // To see a key is enough: refusing it ends the handshake.
            let judge: Judge = Box::new(|_| Err(Refusal::HostKey(String::new())));
            let Err((refusal, seen)) = open(call.run(), Box::new(stream), &[kind], judge).await
            else {
                continue;
            };
            match (refusal, seen.facts().host_key) {
                (Refusal::HostKey(_), Some(key)) => {
                    found.push(Offered { host_key: shown(&key), bits: keys::bits(&key) });
                }
                (refusal, _) => {
                    let no_such_key = lacks_type(&refusal).is_some();
                    let failure = Failure::handshake(&place.peer, call.phase(), refusal, &seen);
                    if !no_such_key {
                        return Err(failure);
                    }
                    last = Some(failure);
                }
            }
        }
        last.map_or(Ok(()), Err)
    }

    async fn work<'r>(
        &self,
        call: &ActiveCall<'_>,
        request: &'r Request,
        target: &Place<'r>,
        at_jump: &AtomicBool,
    ) -> Result<Report, Failure> {
        // All that can be wrong on this side comes before the first packet (contract P2).
        let pin: Pin = request.host_key.parse().map_err(|error| {
            Failure::new(ErrorKind::Invalid, format_args!("{}: {error}", target.peer))
        })?;
        Egress::check(call, &target.endpoint)?;
        let identity = identity::prepare(&self.local, call.run(), &request.identity).await?;
        let way = match &request.jump {
            None => {
                call.begin_hop(target.peer.clone());
                Way::Direct
            }
            Some(jump) => {
                Egress::check_remote(call, &target.endpoint, target.host)?;
                let place = Place::new(&jump.host, jump.port);
                at_jump.store(true, Ordering::Relaxed);
                let opened = self.jump(call, jump, &place, target).await;
                let session =
                    opened.map_err(|failure| failure.on_jump(&place.peer, &target.peer))?;
                at_jump.store(false, Ordering::Relaxed);
                call.jumped(format!("{} behind the jump host {}", target.peer, place.peer));
                Way::Through(Box::new(session), place)
            }
        };
        let passed = self.target(call, request, target, pin, identity, &way).await;
        // The jump host hears the end too, whatever came of the target.
        let passed = match passed {
            Ok(passed) => passed,
            Err(failure) => {
                if let Way::Through(session, _) = way {
                    session.close().await;
                }
                return Err(failure);
            }
        };
        let Passed { host_key, session, logged_in } = passed;
        let facts = session.seen.facts();
        session.close().await;
        if let Way::Through(session, _) = way {
            session.close().await;
        }
        let (server, key_exchange) = (facts.server, facts.key_exchange);
        Ok(Report { host_key, server, key_exchange, logged_in, timings: Timings::default() })
    }

    /// Gets as far as the jump host lets one in.
    async fn jump(
        &self,
        call: &ActiveCall<'_>,
        jump: &Jump,
        place: &Place<'_>,
        target: &Place<'_>,
    ) -> Result<Session, Failure> {
        if jump.identity == Identity::None {
            return Err(Failure::new(
                ErrorKind::Invalid,
                "it lets nobody through without a login; give its identity",
            ));
        }
        Egress::check(call, &place.endpoint)?;
        let identity = identity::prepare(&self.local, call.run(), &jump.identity).await?;
        let unusable = |why: String| Failure::new(ErrorKind::Host, why);
        let types = self.known_hosts.types(place.host, place.port).map_err(unusable)?;
        call.begin_hop(format!("the jump host {}, on the way to {}", place.peer, target.peer));
        let stream = self.egress.connect(call, &place.endpoint, place.host, place.port).await?;
        call.enter(Phase::Version);
        let (known, run) = (Arc::clone(&self.known_hosts), call.run().clone());
        let (host, port, peer) = (place.host.to_owned(), place.port, place.peer.clone());
        let judge: Judge = Box::new(move |key| {
            if let Some(path) = known.judge(&host, port, key)? {
                let (key, path) = (shown(key), path.display());
                let text = format!(
                    "the jump host {peer} was not known; its host key {key} is now kept in {path}"
                );
                run.log(Level::Warn, &text);
            }
            Ok(())
        });
        let opened = open(call.run(), Box::new(stream), &types, judge).await;
        let mut session = opened.map_err(|(refusal, seen)| {
            Failure::handshake(&place.peer, call.phase(), refusal, &seen)
        })?;
        call.enter(Phase::Login);
        match identity::login(&mut session, &place.peer, &jump.user, identity).await {
            Ok(()) => Ok(session),
            Err(failure) => {
                session.close().await;
                Err(failure)
            }
        }
    }

    /// Verifies the target and logs in there.
    async fn target(
        &self,
        call: &ActiveCall<'_>,
        request: &Request,
        target: &Place<'_>,
        pin: Pin,
        identity: Ready,
        way: &Way<'_>,
    ) -> Result<Passed, Failure> {
        let (mut session, key) = self.verified(call, target, pin, way).await?;
        let logged_in = !matches!(identity, Ready::None);
        if logged_in {
            call.enter(Phase::Login);
            let login = identity::login(&mut session, &target.peer, &request.user, identity).await;
            if let Err(failure) = login {
                session.close().await;
                return Err(failure);
            }
        }
        Ok(Passed { host_key: key, session, logged_in })
    }

    /// A handshake with the target in which it showed the pinned key. A pin without a type is
    /// looked for among all the keys that the target has, and the type remembered.
    async fn verified(
        &self,
        call: &ActiveCall<'_>,
        target: &Place<'_>,
        pin: Pin,
        way: &Way<'_>,
    ) -> Result<(Session, String), Failure> {
        let peer = &target.peer;
        let mut types = self.types(peer, pin);
        let mut offered: Vec<String> = Vec::new();
        loop {
            let stream = self.dial(call, target, way).await?;
            call.enter(Phase::Version);
            let judge: Judge =
                Box::new(
                    move |key| {
                        if pin.is(key) { Ok(()) } else { Err(Refusal::HostKey(String::new())) }
                    },
                );
            let (refusal, seen) = match open(call.run(), stream, &types, judge).await {
                Ok(session) => {
                    let Some(key) = session.seen.facts().host_key else {
                        // The library asks about every key; without an answer nothing is verified.
                        return Err(mismatch(peer, pin, &offered, &[]));
                    };
                    self.learn(peer, pin, &key);
                    return Ok((session, shown(&key)));
                }
                Err(refused) => refused,
            };
            match (&refusal, seen.facts().host_key) {
                (Refusal::HostKey(_), Some(key)) => {
                    offered.push(shown(&key));
                    types.retain(|kind| Some(*kind) != KeyType::of(&key));
                    if types.is_empty() {
                        return Err(mismatch(peer, pin, &offered, &[]));
                    }
                }
                // A host that has lost the key's type has lost the key.
                _ if pin.kind.is_some() || !offered.is_empty() => {
                    return Err(match lacks_type(&refusal) {
                        Some(theirs) => mismatch(peer, pin, &offered, theirs),
                        None => Failure::handshake(peer, call.phase(), refusal, &seen),
                    });
                }
                _ => return Err(Failure::handshake(peer, call.phase(), refusal, &seen)),
            }
        }
    }

    async fn dial(
        &self,
        call: &ActiveCall<'_>,
        target: &Place<'_>,
        way: &Way<'_>,
    ) -> Result<Box<dyn Connection>, Failure> {
        match way {
            Way::Direct => {
                let Place { host, port, endpoint, .. } = target;
                Ok(Box::new(self.egress.connect(call, endpoint, host, *port).await?))
            }
            Way::Through(session, jump) => {
                call.enter(Phase::Connect);
                let (host, port) = (target.host.to_owned(), target.port.into());
                // Where it comes from says nothing: the request comes from this process.
                let channel = session.handle.channel_open_direct_tcpip(host, port, "127.0.0.1", 0);
                let channel = channel.await.map_err(|error| {
                    Failure::no_way(&jump.peer, &target.peer, &error, &session.seen)
                })?;
                Ok(Box::new(channel.into_stream()))
            }
        }
    }

    /// The types to ask for: the pinned one, or all, the one that it was before first.
    fn types(&self, peer: &str, pin: Pin) -> Vec<KeyType> {
        if let Some(kind) = pin.kind {
            return vec![kind];
        }
        let mut types = KeyType::ALL.to_vec();
        let learned = self.learned.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = learned.get(&(peer.to_owned(), pin)) {
            types.sort_by_key(|kind| kind != known);
        }
        types
    }

    fn learn(&self, peer: &str, pin: Pin, key: &PublicKey) {
        let Some(kind) = KeyType::of(key).filter(|_| pin.kind.is_none()) else { return };
        let mut learned = self.learned.lock().unwrap_or_else(PoisonError::into_inner);
        if learned.len() >= MAX_LEARNED {
            learned.clear();
        }
        learned.insert((peer.to_owned(), pin), kind);
    }
}

/// The host key algorithms that a server has, when it has none of those it was asked for.
fn lacks_type(refusal: &Refusal) -> Option<&[String]> {
    match refusal {
        Refusal::Ssh(russh::Error::NoCommonAlgo { kind: AlgorithmKind::Key, theirs, .. }) => {
            Some(theirs)
        }
        _ => None,
    }
}

/// `peer` does not have the pinned key (contract K2). What it has is shown for a person.
fn mismatch(peer: &str, pin: Pin, offered: &[String], theirs: &[String]) -> Failure {
    let offers = if offered.is_empty() {
        let types: Vec<&str> = theirs.iter().map(String::as_str).take(6).collect();
        format!("has no host key of the pinned type, only {}", types.join(", "))
    } else {
        format!("offers the host key {}", offered.join(", "))
    };
    Failure::new(ErrorKind::HostKey, format_args!("{peer} {offers}, and not the pinned {pin}"))
}
