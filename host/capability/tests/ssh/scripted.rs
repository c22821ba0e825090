//! Servers that misbehave: each error with its phase, and nothing past the deadline.

use std::time::Duration;

use probehost_capability::ssh::{ErrorKind, Hop, Identity, Phase};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::{Instant, sleep};

use crate::support::{NOBODY, handshake, handshake_within, request};

/// What a scripted server does with each connection.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Script {
    /// Nothing, for as long as the client stays.
    Silent,
    /// Sends this, and then nothing.
    Says(&'static str),
    /// Sends its version line a byte a second.
    Drips,
    /// Sends this and closes.
    Ends(&'static str),
    /// Closes with a reset.
    Resets,
    /// A version line, and a list of algorithms that nobody has.
    Odd,
}

const VERSION: &str = "SSH-2.0-Scripted_1.0\r\n";

/// Starts a scripted server; its port.
pub(crate) async fn server(script: Script) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(play(stream, script));
        }
    });
    port
}

async fn play(mut stream: TcpStream, script: Script) -> std::io::Result<()> {
    match script {
        Script::Silent => {}
        Script::Says(text) => stream.write_all(text.as_bytes()).await?,
        Script::Drips => {
            for byte in VERSION.bytes() {
                stream.write_all(&[byte]).await?;
                sleep(Duration::from_secs(1)).await;
            }
        }
        Script::Ends(text) => {
            stream.write_all(text.as_bytes()).await?;
            stream.shutdown().await?;
        }
        Script::Resets => {
            // Closing with something unread is a reset.
            stream.peek(&mut [0]).await?;
            return Ok(());
        }
        Script::Odd => {
            stream.write_all(VERSION.as_bytes()).await?;
            stream.write_all(&odd_algorithms()).await?;
        }
    }
    // Reads until the client has gone.
    let mut scratch = [0; 1024];
    while stream.read(&mut scratch).await? > 0 {}
    Ok(())
}

/// A KEXINIT whose every list is `odd@example.com`.
fn odd_algorithms() -> Vec<u8> {
    let name = b"odd@example.com";
    let mut payload = vec![20];
    payload.extend([7; 16]);
    for _ in 0..8 {
        payload.extend(u32::try_from(name.len()).unwrap().to_be_bytes());
        payload.extend(name);
    }
    payload.extend([0; 8 + 1 + 4]);
    let padding = 8 - (payload.len() + 5) % 8 + 8;
    let mut packet = u32::try_from(payload.len() + padding + 1).unwrap().to_be_bytes().to_vec();
    packet.push(u8::try_from(padding).unwrap());
    packet.extend(payload);
    packet.extend(vec![0; padding]);
    packet
}

/// P7, P8: what each does is told apart, named with host, port and phase, and at once.
#[tokio::test(flavor = "multi_thread")]
async fn each_fault_has_its_kind_and_phase() {
    use Phase::{KeyExchange, Version};
    let rows = [
        (
            Script::Ends(""),
            ErrorKind::Closed,
            Version,
            "closed the connection before its version line",
        ),
        (
            Script::Ends("Exceeded MaxStartups\r\n"),
            ErrorKind::Closed,
            Version,
            "closed the connection before its version line, after it said \"Exceeded MaxStartups\"",
        ),
        (
            Script::Ends(VERSION),
            ErrorKind::Closed,
            KeyExchange,
            "closed the connection during the key exchange",
        ),
        (
            Script::Resets,
            ErrorKind::Closed,
            Version,
            "reset the connection before its version line",
        ),
        (
            Script::Says("SSH-1.5-old\r\n\r\n"),
            ErrorKind::Timeout,
            Version,
            "waiting for the version line",
        ),
        (
            Script::Odd,
            ErrorKind::Algorithms,
            KeyExchange,
            "and this host have no key exchange algorithm in common; it has odd@example.com",
        ),
        (
            Script::Says("SSH-2.0-x\r\nThis is no packet at all, whatever it may look like."),
            ErrorKind::Protocol,
            KeyExchange,
            "does not keep to the SSH protocol, during the key exchange",
        ),
    ];
    for (script, kind, phase, words) in rows {
        let port = server(script).await;
        let started = Instant::now();
        let budget = Duration::from_millis(1500);
        let error =
            handshake_within(request(port, NOBODY, Identity::None), budget).await.unwrap_err();
        assert_eq!(
            (error.kind, error.hop, error.phase),
            (kind, Hop::Target, phase),
            "{script:?}: {error}"
        );
        assert!(error.message.contains(&format!("127.0.0.1:{port}")), "{error}");
        assert!(error.message.contains(words), "{script:?}: {error}");
        assert!(started.elapsed() < budget + Duration::from_secs(5), "{script:?}");
    }
}

/// P3: a server that stalls or drips is cut at the deadline, and the message says where.
#[tokio::test(flavor = "multi_thread")]
async fn who_stalls_is_cut_at_the_deadline() {
    let rows = [
        (Script::Silent, Phase::Version, "waiting for the version line of"),
        (Script::Drips, Phase::Version, "waiting for the version line of"),
        (Script::Says("SSH-2.0-"), Phase::Version, "waiting for the version line of"),
        (Script::Says(VERSION), Phase::KeyExchange, "in the key exchange with"),
    ];
    for (script, phase, words) in rows {
        let port = server(script).await;
        let budget = Duration::from_millis(700);
        let began = Instant::now();
        let error =
            handshake_within(request(port, NOBODY, Identity::None), budget).await.unwrap_err();
        let took = began.elapsed();
        assert!(took >= budget && took < budget + Duration::from_secs(5), "{script:?}: {took:?}");
        assert_eq!((error.kind, error.phase), (ErrorKind::Timeout, phase), "{script:?}: {error}");
        assert!(error.message.starts_with("timeout after 700 ms"), "{error}");
        assert!(error.message.contains(&format!("{words} 127.0.0.1:{port} (connect")), "{error}");
    }
}

/// A server may send up to twenty lines before its version line, and no more.
#[tokio::test(flavor = "multi_thread")]
async fn lines_may_come_before_the_version_line() {
    const LINE: &str = "Unauthorised access is prohibited.\r\n";
    let twenty = LINE.repeat(20) + VERSION;
    let port = server(Script::Ends(Box::leak(twenty.into_boxed_str()))).await;
    let error = handshake(request(port, NOBODY, Identity::None)).await.unwrap_err();
    assert_eq!((error.kind, error.phase), (ErrorKind::Closed, Phase::KeyExchange), "{error}");

    let too_many = LINE.repeat(21) + VERSION;
    let port = server(Script::Ends(Box::leak(too_many.into_boxed_str()))).await;
    let error = handshake(request(port, NOBODY, Identity::None)).await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::Protocol, "{error}");
    assert!(error.message.contains("does not speak SSH 2"), "{error}");
}

/// K4: refused and unresolvable.
#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_reached_is_said() {
    let port = {
        let closed = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        closed.local_addr().unwrap().port()
    };
    let error = handshake(request(port, NOBODY, Identity::None)).await.unwrap_err();
    assert_eq!((error.kind, error.phase), (ErrorKind::Refused, Phase::Connect));
    assert_eq!(error.message, format!("127.0.0.1:{port} refused the connection"));

    let mut unresolvable = request(22, NOBODY, Identity::None);
    unresolvable.host = "nowhere.invalid".to_owned();
    let error = handshake(unresolvable).await.unwrap_err();
    assert_eq!((error.kind, error.phase), (ErrorKind::NameNotFound, Phase::Dns));
    assert!(error.message.contains("nowhere.invalid"), "{error}");
}
