//! Identities: made ready before anything is dialled, and used once the host key is verified.

use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use russh::client::AuthResult;
use russh::keys::agent::AgentIdentity;
use russh::keys::agent::client::AgentClient;
use russh::keys::ssh_key::Fingerprint;
use russh::keys::{Algorithm, HashAlg, PrivateKey, PrivateKeyWithHashAlg, decode_secret_key};
use russh::{AgentAuthError, MethodSet};
use tokio::net::UnixStream;
use tokio::time::timeout;

use super::error::Failure;
use super::keys::sha256;
use super::session::Session;
use super::types::{ErrorKind, Identity};
use super::{Local, MAX_AGENT_KEYS};
use crate::run::Run;
use crate::secrets::Secret;

/// Longest key file, in bytes.
const MAX_KEY_FILE: u64 = 64 << 10;

/// How long an agent may take to list its keys. It is on this machine, and a slow one must not
/// pass for a slow target.
const AGENT_WAIT: Duration = Duration::from_secs(2);

/// An identity that can be used.
pub(super) enum Ready {
    None,
    Agent(Agent),
    Key { key: Arc<PrivateKey>, path: String },
    Password(Secret),
}

/// An agent that is connected.
pub(super) struct Agent {
    client: AgentClient<UnixStream>,
    socket: PathBuf,
    only: Option<Fingerprint>,
}

/// Looks up what an identity names; everything that can be wrong with it before any packet.
pub(super) async fn prepare(
    local: &Local,
    run: &Run,
    identity: &Identity,
) -> Result<Ready, Failure> {
    let named = |text: &str, what: &str| {
        if run.grants().names(text) {
            Ok(())
        } else {
            Err(Failure::unnamed(&format!("the {what} {text}")))
        }
    };
    match identity {
        Identity::None => Ok(Ready::None),
        Identity::Agent { socket, key } => {
            let socket = match socket {
                Some(path) => {
                    named(path, "agent socket")?;
                    PathBuf::from(path)
                }
                None => local.agent_socket.clone().ok_or_else(|| {
                    Failure::new(
                        ErrorKind::Identity,
                        "there is no agent: SSH_AUTH_SOCK is not set for the host; set it, or \
                         name the agent's socket in the check's config",
                    )
                })?,
            };
            let only = match key {
                None => None,
                Some(text) => Some(Fingerprint::Sha256(sha256(text).ok_or_else(|| {
                    Failure::new(
                        ErrorKind::Invalid,
                        "the fingerprint of the agent's key is not SHA256:…, as `ssh-add -l` shows it",
                    )
                })?)),
            };
            let client = UnixStream::connect(&socket).await.map_err(|error| {
                let text = error.to_string();
                let why = text.split(" (os error").next().unwrap_or_default();
                let socket = socket.display();
                Failure::new(
                    ErrorKind::Host,
                    format_args!(
                        "the agent at {socket} cannot be reached: {why}; nothing was dialled"
                    ),
                )
            })?;
            Ok(Ready::Agent(Agent { client: AgentClient::connect(client), socket, only }))
        }
        Identity::KeyFile { path, passphrase } => {
            named(path, "key file")?;
            let passphrase = match passphrase {
                None => None,
                Some(name) => {
                    named(name, "secret")?;
                    Some(local.secrets.get(name)?)
                }
            };
            let file = PathBuf::from(path);
            // Reading one that is encrypted takes a tenth of a second of computing.
            let read = tokio::task::spawn_blocking(move || read_key(&file, passphrase.as_ref()));
            let read = read.await.map_err(|_| {
                Failure::new(ErrorKind::Host, "the host is stopping: the key file was not read")
            })?;
            let unusable =
                |why| Failure::new(ErrorKind::Identity, format_args!("the key file {path} {why}"));
            Ok(Ready::Key { key: Arc::new(read.map_err(unusable)?), path: path.clone() })
        }
        Identity::Password(name) => {
            named(name, "secret")?;
            Ok(Ready::Password(local.secrets.get(name)?))
        }
    }
}

/// Reads a private key. The error never holds anything of the file.
fn read_key(path: &Path, passphrase: Option<&Secret>) -> Result<PrivateKey, String> {
    use russh::keys::Error;
    if !path.is_absolute() {
        return Err("is not named by an absolute path".to_owned());
    }
    let unreadable = |error: std::io::Error| format!("cannot be read: {error}");
    if !std::fs::metadata(path).map_err(unreadable)?.is_file() {
        return Err("is not a file".to_owned());
    }
    let mut text = String::new();
    std::fs::File::open(path)
        .and_then(|file| file.take(MAX_KEY_FILE).read_to_string(&mut text))
        .map_err(unreadable)?;
    let encrypted = "is encrypted; name the secret that is its passphrase";
    match decode_secret_key(&text, passphrase.map(Secret::expose)) {
        Ok(key) if key.is_encrypted() => Err(encrypted.to_owned()),
        Ok(key) => Ok(key),
        Err(Error::KeyIsEncrypted) => Err(encrypted.to_owned()),
        Err(_) if passphrase.is_some() => {
            Err("is no private key, or not one that opens with its passphrase".to_owned())
        }
        Err(_) => Err("is no private key that this host can read".to_owned()),
    }
}

/// Logs in to `peer`, whose host key is verified.
pub(super) async fn login(
    session: &mut Session,
    peer: &str,
    user: &str,
    identity: Ready,
) -> Result<(), Failure> {
    let (result, with) = match identity {
        Ready::None => return Ok(()),
        Ready::Agent(agent) => return with_agent(session, peer, user, agent).await,
        Ready::Key { key, path } => {
            let hash = hash(session, &key.algorithm()).await;
            let key = PrivateKeyWithHashAlg::new(key, hash);
            let result = session.handle.authenticate_publickey(user, key).await;
            (result, format!("the key of {path}"))
        }
        Ready::Password(password) => {
            let result = session.handle.authenticate_password(user, password.expose()).await;
            (result, "the password".to_owned())
        }
    };
    match result {
        Ok(AuthResult::Success) => Ok(()),
        Ok(AuthResult::Failure { remaining_methods, partial_success }) => {
            let refused = Refused { methods: remaining_methods, partial: partial_success };
            Err(refused.failure(session, peer, user, &with).await)
        }
        Err(error) => Err(broken(session, peer, error).await),
    }
}

async fn with_agent(
    session: &mut Session,
    peer: &str,
    user: &str,
    agent: Agent,
) -> Result<(), Failure> {
    let Agent { mut client, socket, only } = agent;
    let socket = socket.display();
    let list = async {
        if let Some(binding) = session.handle.agent_session_binding() {
            // For keys that may be used with some hosts only. Other agents don't know of it.
            let _bound = client.bind_session(binding, false).await;
        }
        client.request_identities().await
    };
    let held = match timeout(AGENT_WAIT, list).await {
        Ok(Ok(held)) => held,
        Ok(Err(_)) => {
            return Err(Failure::new(
                ErrorKind::Host,
                format_args!("the agent at {socket} did not list its keys"),
            ));
        }
        Err(_) => {
            return Err(Failure::new(
                ErrorKind::Host,
                format_args!("the agent at {socket} does not answer"),
            ));
        }
    };
    let wanted = held.iter().filter(|held| {
        let key = held.public_key();
        // One that waits for a touch is nothing for a probe.
        !matches!(key.algorithm(), Algorithm::SkEd25519 | Algorithm::SkEcdsaSha2NistP256)
            && only.is_none_or(|only| key.fingerprint(HashAlg::Sha256) == only)
    });
    let mut tried = 0;
    let mut unsigned = 0;
    let mut last = Refused::default();
    for held in wanted.take(MAX_AGENT_KEYS) {
        let hash = hash(session, &held.public_key().algorithm()).await;
        let handle = &mut session.handle;
        let result = match held {
            AgentIdentity::PublicKey { key, .. } => {
                handle.authenticate_publickey_with(user, key.clone(), hash, &mut client).await
            }
            AgentIdentity::Certificate { certificate, .. } => {
                let certificate = certificate.clone();
                handle.authenticate_certificate_with(user, certificate, hash, &mut client).await
            }
        };
        tried += 1;
        match result {
            Ok(AuthResult::Success) => return Ok(()),
            Ok(AuthResult::Failure { remaining_methods, partial_success }) => {
                last = Refused { methods: remaining_methods, partial: partial_success };
                if partial_success || session.handle.is_closed() {
                    break;
                }
            }
            // It may not want to sign with this one.
            Err(AgentAuthError::Key(_)) => unsigned += 1,
            Err(AgentAuthError::Send(_)) => {
                return Err(broken(session, peer, russh::Error::SendError).await);
            }
        }
    }
    if tried == 0 {
        let which = match only {
            Some(only) => format!("the key {only}"),
            None => "a key that can be used".to_owned(),
        };
        return Err(Failure::new(
            ErrorKind::Auth,
            format_args!("no login to {peer}: the agent at {socket} does not hold {which}"),
        ));
    }
    if tried == unsigned {
        return Err(Failure::new(
            ErrorKind::Auth,
            format_args!("no login to {peer}: the agent at {socket} signed with none of its keys"),
        ));
    }
    let with = format!("the agent at {socket} ({tried} of its keys tried)");
    Err(last.failure(session, peer, user, &with).await)
}

/// What an RSA key has to sign with; of no interest for others.
async fn hash(session: &Session, algorithm: &Algorithm) -> Option<HashAlg> {
    if !matches!(algorithm, Algorithm::Rsa { .. }) {
        return None;
    }
    match session.handle.best_supported_rsa_hash().await {
        Ok(Some(best)) => best,
        // A server that does not say takes this one if it is of the last ten years.
        _ => Some(HashAlg::Sha256),
    }
}

/// What a server says to a login that it refuses.
struct Refused {
    methods: MethodSet,
    partial: bool,
}

impl Default for Refused {
    fn default() -> Self {
        Self { methods: MethodSet::empty(), partial: false }
    }
}

impl Refused {
    async fn failure(self, session: &mut Session, peer: &str, user: &str, with: &str) -> Failure {
        if session.handle.is_closed() {
            session.ended().await;
            // Without a word it went away, which may have many reasons.
            if !session.seen.has_said() && self.methods.is_empty() {
                return Failure::closed(peer, "during the login", &session.seen);
            }
        }
        let methods: Vec<&str> = self.methods.iter().map(Into::into).collect();
        let methods = if methods.is_empty() {
            String::new()
        } else {
            format!("; it takes {}", methods.join(", "))
        };
        let said = session.seen.after_saying();
        let what = if self.partial {
            format!("{peer} wants more than {with} for the login of {user}{methods}")
        } else {
            format!("{peer} refused the login of {user} with {with}{methods}{said}")
        };
        Failure::new(ErrorKind::Auth, what)
    }
}

/// A connection that broke during the login.
async fn broken(session: &mut Session, peer: &str, error: russh::Error) -> Failure {
    session.ended().await;
    let phase = crate::run::Phase::Login;
    Failure::handshake(peer, phase, error.into(), &session.seen)
}
