//! A server that plays a script on each connection.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::task::JoinHandle;
use tokio_rustls::TlsAcceptor;

/// What a server does on a connection, step by step; after the last step it closes.
#[derive(Debug, Clone)]
pub(crate) enum Step {
    /// Reads a request's head and notes it.
    Read,
    /// Reads so many further bytes and notes them.
    ReadBody(usize),
    Send(Vec<u8>),
    /// Sends one byte each so often, without end.
    Drip(Duration),
    /// Does nothing until the client has closed.
    Hang,
    /// Closes with a reset.
    Reset,
}

/// Reads a request and answers with `text`.
pub(crate) fn answer(text: impl AsRef<str>) -> Vec<Step> {
    vec![Step::Read, Step::Send(text.as_ref().replace('\n', "\r\n").into_bytes())]
}

/// A server on loopback; it ends with the value.
pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    accepted: Arc<AtomicUsize>,
    seen: Arc<Mutex<Vec<String>>>,
    task: JoinHandle<()>,
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Server {
    /// Plays the same script on each connection.
    pub(crate) async fn play(script: Vec<Step>) -> Self {
        Self::play_each(move |_| script.clone()).await
    }

    /// Plays the script that `script` gives for the n-th connection, from 0.
    pub(crate) async fn play_each(script: impl Fn(usize) -> Vec<Step> + Send + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        Self::serve(listener, None, script)
    }

    /// The same behind TLS; what the script does not read is lost with it.
    pub(crate) async fn play_tls(config: rustls::ServerConfig, script: Vec<Step>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        Self::serve(listener, Some(Arc::new(config).into()), move |_| script.clone())
    }

    pub(crate) fn serve(
        listener: TcpListener,
        tls: Option<TlsAcceptor>,
        script: impl Fn(usize) -> Vec<Step> + Send + 'static,
    ) -> Self {
        let address = listener.local_addr().unwrap();
        let (accepted, seen) = (Arc::new(AtomicUsize::new(0)), Arc::default());
        let (counter, notes) = (Arc::clone(&accepted), Arc::clone(&seen));
        let task = tokio::spawn(async move {
            while let Ok((tcp, _)) = listener.accept().await {
                let script = script(counter.fetch_add(1, Ordering::SeqCst));
                let (tls, notes) = (tls.clone(), Arc::clone(&notes));
                tokio::spawn(async move {
                    match tls {
                        None => play(tcp, script, &notes, reset).await,
                        Some(tls) => {
                            // A client that refuses the certificate ends here.
                            let Ok(stream) = tls.accept(tcp).await else { return };
                            play(stream, script, &notes, drop).await;
                        }
                    }
                });
            }
        });
        Self { address, accepted, seen, task }
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    pub(crate) fn accepted(&self) -> usize {
        self.accepted.load(Ordering::SeqCst)
    }

    /// The heads and bodies that were read, in lower case.
    pub(crate) fn seen(&self) -> Vec<String> {
        self.seen.lock().unwrap().clone()
    }
}

fn reset(stream: TcpStream) {
    stream.set_zero_linger().unwrap();
}

async fn play<S: AsyncRead + AsyncWrite + Unpin>(
    mut stream: S,
    script: Vec<Step>,
    notes: &Mutex<Vec<String>>,
    reset: fn(S),
) {
    for step in script {
        let went_on = match step {
            Step::Read => read(&mut stream, notes, |head| head.ends_with(b"\r\n\r\n")).await,
            Step::ReadBody(bytes) => read(&mut stream, notes, |body| body.len() == bytes).await,
            Step::Send(bytes) => {
                stream.write_all(&bytes).await.is_ok() && stream.flush().await.is_ok()
            }
            Step::Drip(pause) => loop {
                if stream.write_all(b"x").await.is_err() || stream.flush().await.is_err() {
                    break false;
                }
                tokio::time::sleep(pause).await;
            },
            Step::Hang => loop {
                if stream.read_u8().await.is_err() {
                    break false;
                }
            },
            Step::Reset => return reset(stream),
        };
        if !went_on {
            return;
        }
    }
    let _ = stream.shutdown().await;
}

async fn read<S: AsyncRead + Unpin>(
    stream: &mut S,
    notes: &Mutex<Vec<String>>,
    done: impl Fn(&[u8]) -> bool,
) -> bool {
    let mut bytes = Vec::new();
    while !done(&bytes) {
        match stream.read_u8().await {
            Ok(byte) => bytes.push(byte),
            Err(_) => return false,
        }
    }
    notes.lock().unwrap().push(String::from_utf8_lossy(&bytes).to_lowercase());
    true
}

/// An address on which connection attempts get no answer: a listener with a full backlog.
pub(crate) struct Blackhole {
    pub(crate) address: SocketAddr,
    _listener: TcpListener,
    _waiting: Vec<TcpStream>,
}

impl Blackhole {
    pub(crate) async fn new() -> Self {
        let socket = TcpSocket::new_v4().unwrap();
        socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
        let listener = socket.listen(0).unwrap();
        let address = listener.local_addr().unwrap();
        let mut waiting = Vec::new();
        // On loopback a connection that is taken is taken at once.
        while let Ok(stream) =
            tokio::time::timeout(Duration::from_millis(300), TcpStream::connect(address)).await
        {
            waiting.push(stream.unwrap());
            assert!(waiting.len() < 100, "the backlog does not fill");
        }
        Self { address, _listener: listener, _waiting: waiting }
    }
}

/// A port on which nothing listens.
pub(crate) async fn closed_port() -> SocketAddr {
    TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap()
}
