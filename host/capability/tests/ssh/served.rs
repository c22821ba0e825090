//! A server of the SSH library in this process: logins with a password, and channels that it
//! opens itself, which no real server can be made to do.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use probehost_capability::ssh::{ErrorKind, Hop, Identity};
use probehost_test_support::ssh::{Key, folder, skip};
use russh::keys::{PrivateKey, load_secret_key};
use russh::server::{Auth, ChannelOpenHandle, Config, Handler, Msg, Session, run_stream};
use russh::{Channel, ChannelOpenFailure};
use tokio::net::TcpListener;

use crate::support::{AMPLE, NOBODY, PASSWORD, jump, on_machine, request, run};

/// What the client answered to each channel that the server opened.
type Answers = Arc<Mutex<Vec<(&'static str, String)>>>;

struct Opening {
    answers: Answers,
}

impl Handler for Opening {
    type Error = russh::Error;

    async fn auth_password(&mut self, _: &str, password: &str) -> Result<Auth, russh::Error> {
        Ok(if password == PASSWORD { Auth::Accept } else { Auth::reject() })
    }

    /// Asked to forward, it first opens a channel of each type, and then refuses.
    async fn channel_open_direct_tcpip(
        &mut self,
        _: Channel<Msg>,
        _: &str,
        _: u32,
        _: &str,
        _: u32,
        reply: ChannelOpenHandle,
        session: &mut Session,
    ) -> Result<(), russh::Error> {
        let (handle, answers) = (session.handle(), Arc::clone(&self.answers));
        tokio::spawn(async move {
            let opened = [
                ("session", handle.channel_open_session().await),
                ("agent", handle.channel_open_agent().await),
                ("x11", handle.channel_open_x11("127.0.0.1", 1).await),
                (
                    "forwarded-tcpip",
                    handle.channel_open_forwarded_tcpip("127.0.0.1", 1, "127.0.0.1", 1).await,
                ),
                ("forwarded-streamlocal", handle.channel_open_forwarded_streamlocal("/x").await),
                (
                    "direct-tcpip",
                    handle.channel_open_direct_tcpip("127.0.0.1", 1, "127.0.0.1", 1).await,
                ),
                ("direct-streamlocal", handle.channel_open_direct_streamlocal("/x").await),
            ];
            for (kind, opened) in opened {
                let answer = match opened {
                    Ok(_) => "opened".to_owned(),
                    Err(russh::Error::ChannelOpenFailure(
                        ChannelOpenFailure::AdministrativelyProhibited,
                    )) => "prohibited".to_owned(),
                    Err(other) => format!("{other:?}"),
                };
                answers.lock().unwrap().push((kind, answer));
            }
            reply.reject(ChannelOpenFailure::ResourceShortage).await;
        });
        Ok(())
    }
}

/// Starts it; its port, and what it was answered.
async fn start(key: PrivateKey) -> (u16, Answers) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let config = Arc::new(Config {
        keys: vec![key],
        auth_rejection_time: Duration::ZERO,
        ..Config::default()
    });
    let answers = Answers::default();
    let given = Arc::clone(&answers);
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let opening = Opening { answers: Arc::clone(&given) };
            let config = Arc::clone(&config);
            tokio::spawn(async move { run_stream(config, stream, opening).await?.await });
        }
    });
    (port, answers)
}

/// K1: the client takes no channel of any type, and the probe goes on.
#[tokio::test(flavor = "multi_thread")]
async fn a_channel_that_the_server_opens_is_refused() {
    if skip() {
        return;
    }
    let dir = folder().unwrap();
    let key = Key::generate(&dir.path().join("host"), "ed25519", "").unwrap();
    let (port, answers) = start(load_secret_key(&key.path, None).unwrap()).await;
    let password = Identity::Password("password".to_owned());
    let mut request = request(22, NOBODY, Identity::None);
    request.jump = Some(jump(port, password));
    let capabilities = on_machine(Some(dir.path().join("known_hosts")), None);
    let error = capabilities.ssh().handshake(&run(&request, AMPLE), request).await.unwrap_err();
    assert_eq!((error.kind, error.hop), (ErrorKind::Forwarding, Hop::Jump), "{error}");
    assert!(error.message.contains("ResourceShortage"), "{error}");
    let answers = answers.lock().unwrap();
    assert_eq!(answers.len(), 7);
    for (kind, answer) in answers.iter() {
        assert_eq!(answer, "prohibited", "{kind}");
    }
}

/// K1: a password logs in, and another one does not.
#[tokio::test(flavor = "multi_thread")]
async fn a_password_logs_in() {
    if skip() {
        return;
    }
    let dir = folder().unwrap();
    let key = Key::generate(&dir.path().join("host"), "ed25519", "").unwrap();
    let (port, _) = start(load_secret_key(&key.path, None).unwrap()).await;
    let pin = key.pin().unwrap();
    let with = |secret: &str| request(port, &pin, Identity::Password(secret.to_owned()));
    assert!(crate::support::handshake(with("password")).await.unwrap().logged_in);
    let error = crate::support::handshake(with("wrong")).await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::Auth, "{error}");
}
