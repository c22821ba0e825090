//! One SSH connection: the handshake with its host key judged, and a clean end.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use probehost_model::sanitize;
use russh::client::{self, ChannelOpenHandle, DisconnectReason, Handle, Handler, Msg};
use russh::keys::{PublicKey, PublicKeyOrCertificate};
use russh::{Channel, Disconnect, Names};

use super::algorithms;
use super::keys::KeyType;
use super::leash::{Connection, Leash, leash};
use crate::run::{Phase, Run};

/// How long the server may take to close its side once it was told that this is the end.
const CLOSING: Duration = Duration::from_millis(500);

/// Longest text of a server in a message, in characters.
const SAID: usize = 100;

/// Says whether a host key is the right one.
pub(super) type Judge = Box<dyn FnMut(&PublicKey) -> Result<(), Refusal> + Send>;

/// Why there is no handshake.
#[derive(Debug)]
pub(super) enum Refusal {
    /// The host key is not the right one; the message says more.
    HostKey(String),
    /// The known host keys can't be read or kept on this machine.
    Keeping(String),
    /// Everything else.
    Ssh(russh::Error),
}

impl From<russh::Error> for Refusal {
    fn from(error: russh::Error) -> Self {
        Self::Ssh(error)
    }
}

/// What was learned of a server until it was over.
#[derive(Debug, Default)]
pub(super) struct Seen(Mutex<Facts>);

#[derive(Debug, Default, Clone)]
pub(super) struct Facts {
    /// Its version line.
    pub(super) server: String,
    /// The key exchange that was agreed on.
    pub(super) key_exchange: String,
    /// The key that it showed.
    pub(super) host_key: Option<PublicKey>,
    /// What it said before it closed, in a disconnect message or where its version line belongs.
    said: String,
}

impl Seen {
    pub(super) fn facts(&self) -> Facts {
        self.lock().clone()
    }

    /// What it said last, to be put after `closed the connection`; empty when it said nothing.
    pub(super) fn after_saying(&self) -> String {
        let said: String = self.lock().said.chars().take(SAID).collect();
        if said.is_empty() { said } else { format!(", after it said {said:?}") }
    }

    /// Whether it said why it closed.
    pub(super) fn has_said(&self) -> bool {
        !self.lock().said.is_empty()
    }

    fn says(&self, text: &str) {
        let text = sanitize(text.trim());
        if !text.is_empty() {
            self.lock().said = text;
        }
    }

    fn lock(&self) -> MutexGuard<'_, Facts> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The part that the library calls.
pub(super) struct Client {
    judge: Judge,
    seen: Arc<Seen>,
}

impl Handler for Client {
    type Error = Refusal;

    async fn check_server_key(&mut self, key: &PublicKeyOrCertificate) -> Result<bool, Refusal> {
        let key = key.public_key();
        self.seen.lock().host_key = Some(key.clone());
        (self.judge)(&key)?;
        Ok(true)
    }

    async fn kex_done(
        &mut self,
        _: Option<&[u8]>,
        names: &Names,
        session: &mut client::Session,
    ) -> Result<(), Refusal> {
        let mut seen = self.seen.lock();
        names.kex.as_ref().clone_into(&mut seen.key_exchange);
        seen.server = sanitize(String::from_utf8_lossy(session.remote_sshid()).trim());
        Ok(())
    }

    async fn disconnected(&mut self, reason: DisconnectReason<Refusal>) -> Result<(), Refusal> {
        match reason {
            DisconnectReason::ReceivedDisconnect(info) => {
                self.seen.says(&info.message);
                Ok(())
            }
            DisconnectReason::Error(error) => Err(error),
        }
    }

    // The library accepts every channel that a server opens. There is nothing here that one
    // could lead to, so each is refused, which is what dropping the handle does.

    async fn server_channel_open_session(
        &mut self,
        _: Channel<Msg>,
        refused: ChannelOpenHandle,
        _: &mut client::Session,
    ) -> Result<(), Refusal> {
        drop(refused);
        Ok(())
    }

    async fn server_channel_open_agent_forward(
        &mut self,
        _: Channel<Msg>,
        refused: ChannelOpenHandle,
        _: &mut client::Session,
    ) -> Result<(), Refusal> {
        drop(refused);
        Ok(())
    }

    async fn server_channel_open_forwarded_tcpip(
        &mut self,
        _: Channel<Msg>,
        _: &str,
        _: u32,
        _: &str,
        _: u32,
        refused: ChannelOpenHandle,
        _: &mut client::Session,
    ) -> Result<(), Refusal> {
        drop(refused);
        Ok(())
    }

    async fn server_channel_open_forwarded_streamlocal(
        &mut self,
        _: Channel<Msg>,
        _: &str,
        refused: ChannelOpenHandle,
        _: &mut client::Session,
    ) -> Result<(), Refusal> {
        drop(refused);
        Ok(())
    }

    async fn server_channel_open_direct_tcpip(
        &mut self,
        _: Channel<Msg>,
        _: &str,
        _: u32,
        _: &str,
        _: u32,
        refused: ChannelOpenHandle,
        _: &mut client::Session,
    ) -> Result<(), Refusal> {
        drop(refused);
        Ok(())
    }

    async fn server_channel_open_direct_streamlocal(
        &mut self,
        _: Channel<Msg>,
        _: &str,
        refused: ChannelOpenHandle,
        _: &mut client::Session,
    ) -> Result<(), Refusal> {
        drop(refused);
        Ok(())
    }

    async fn server_channel_open_x11(
        &mut self,
        _: Channel<Msg>,
        _: &str,
        _: u32,
        refused: ChannelOpenHandle,
        _: &mut client::Session,
    ) -> Result<(), Refusal> {
        drop(refused);
        Ok(())
    }
}

/// A server whose host key is verified. Dropping it closes the connection at once.
pub(super) struct Session {
    pub(super) handle: Handle<Client>,
    pub(super) seen: Arc<Seen>,
    leash: Leash,
}

/// Makes the handshake over `stream`, asking for a host key of one of `types`. The run goes on
/// from the phase of the version line to that of the key exchange.
pub(super) async fn open(
    run: &Run,
    stream: Box<dyn Connection>,
    types: &[KeyType],
    judge: Judge,
) -> Result<Session, (Refusal, Arc<Seen>)> {
    let noted = run.clone();
    let greeted = move || noted.advance(Phase::Version, Phase::KeyExchange);
    let (leash, leashed) = leash(stream, greeted);
    let seen = Arc::new(Seen::default());
    let client = Client { judge, seen: Arc::clone(&seen) };
    match client::connect_stream(algorithms::config(types), leashed, client).await {
        Ok(handle) => Ok(Session { handle, seen, leash }),
        Err(refusal) => {
            seen.says(&leash.opening());
            Err((refusal, seen))
        }
    }
}

impl Session {
    /// Tells the server that this is the end, and waits for it as long as is polite.
    pub(super) async fn close(mut self) {
        self.leash.drain_at_end();
        // A server that has gone already needs no farewell.
        let told = self.handle.disconnect(Disconnect::ByApplication, "probe done", "").await;
        if told.is_ok() {
            let _ended = tokio::time::timeout(CLOSING, &mut self.handle).await;
        }
    }

    /// Waits for the end of a session that its server has ended, so that its last words are known.
    pub(super) async fn ended(&mut self) {
        let _ended = tokio::time::timeout(CLOSING, &mut self.handle).await;
    }
}
