//! A mail server on loopback that takes what comes, or refuses it with a code, and notes the mails.

use std::io::{self, BufRead as _, BufReader, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use rustls::{ServerConfig, ServerConnection, StreamOwned};

/// A mail, as it came.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mail {
    /// Whom it is from, by its envelope.
    pub from: String,
    /// Whom it is for, by its envelope.
    pub to: Vec<String>,
    /// Headers and text.
    pub text: String,
}

/// A running mail server. Its thread has ended when it is dropped.
#[derive(Debug)]
pub struct SmtpServer {
    address: SocketAddr,
    scheme: &'static str,
    mails: Arc<Mutex<Vec<Mail>>>,
    refusal: Arc<Mutex<Option<&'static str>>>,
    stopping: Arc<AtomicBool>,
    thread: Option<thread::JoinHandle<()>>,
}

impl SmtpServer {
    /// On a free port of 127.0.0.1. Panics where that fails.
    pub fn start() -> Self {
        Self::with(None)
    }

    /// As [`SmtpServer::start`], with TLS from the first byte.
    pub fn start_tls(tls: Arc<ServerConfig>) -> Self {
        Self::with(Some(tls))
    }

    #[allow(clippy::panic, reason = "a test whose server does not start has failed")]
    fn with(tls: Option<Arc<ServerConfig>>) -> Self {
        let listened = TcpListener::bind((Ipv4Addr::LOCALHOST, 0));
        let Ok((listener, address)) =
            listened.and_then(|listener| Ok((listener.try_clone()?, listener.local_addr()?)))
        else {
            panic!("could not listen for mail");
        };
        let mails: Arc<Mutex<Vec<Mail>>> = Arc::default();
        let refusal: Arc<Mutex<Option<&'static str>>> = Arc::default();
        let stopping = Arc::new(AtomicBool::new(false));
        let (notes, says, stop) = (Arc::clone(&mails), Arc::clone(&refusal), Arc::clone(&stopping));
        let scheme = if tls.is_some() { "smtps" } else { "smtp" };
        let serve = move || {
            while let Ok((stream, _)) = listener.accept() {
                if stop.load(Ordering::SeqCst) {
                    return;
                }
                let refusal = *says.lock().unwrap_or_else(PoisonError::into_inner);
                if let Some(mail) = accept(stream, tls.clone(), refusal) {
                    notes.lock().unwrap_or_else(PoisonError::into_inner).push(mail);
                }
            }
        };
        let thread = thread::Builder::new().name("smtp".to_owned()).spawn(serve).ok();
        Self { address, scheme, mails, refusal, stopping, thread }
    }

    /// Its URL.
    pub fn url(&self) -> String {
        format!("{}://{}", self.scheme, self.address)
    }

    /// Answers each recipient with this from now on, such as `450 not now`; none: takes what comes.
    pub fn refuse(&self, answer: Option<&'static str>) {
        *self.refusal.lock().unwrap_or_else(PoisonError::into_inner) = answer;
    }

    /// The mails that it took.
    pub fn mails(&self) -> Vec<Mail> {
        self.mails.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Drop for SmtpServer {
    fn drop(&mut self) {
        self.stopping.store(true, Ordering::SeqCst);
        // Wakes the thread; it may be gone already.
        let _woken = TcpStream::connect(self.address);
        if let Some(thread) = self.thread.take() {
            let _ended = thread.join();
        }
    }
}

fn accept(
    stream: TcpStream,
    tls: Option<Arc<ServerConfig>>,
    refusal: Option<&str>,
) -> Option<Mail> {
    stream.set_read_timeout(Some(Duration::from_secs(10))).ok()?;
    match tls {
        None => take(stream, refusal),
        Some(tls) => {
            let connection = ServerConnection::new(tls).ok()?;
            take(StreamOwned::new(connection, stream), refusal)
        }
    }
}

/// Speaks SMTP until the peer leaves. None: no mail came of it.
fn take(stream: impl Read + Write, refusal: Option<&str>) -> Option<Mail> {
    let mut peer = BufReader::new(stream);
    let mut mail = Mail { from: String::new(), to: Vec::new(), text: String::new() };
    let mut whole = None;
    say(&mut peer, "220 test ESMTP")?;
    while let Ok(line) = next(&mut peer) {
        let word = line.get(..4).unwrap_or_default().to_ascii_uppercase();
        let address = || {
            let inside = line.split_once('<').and_then(|(_, rest)| rest.split_once('>'));
            inside.map(|(address, _)| address.to_owned()).unwrap_or_default()
        };
        match word.as_str() {
            "EHLO" | "HELO" => say(&mut peer, "250 test")?,
            "MAIL" => {
                mail.from = address();
                say(&mut peer, "250 ok")?;
            }
            "RCPT" => match refusal {
                Some(refusal) => say(&mut peer, refusal)?,
                None => {
                    mail.to.push(address());
                    say(&mut peer, "250 ok")?;
                }
            },
            "DATA" => {
                say(&mut peer, "354 go on")?;
                loop {
                    let line = next(&mut peer).ok()?;
                    if line == "." {
                        break;
                    }
                    mail.text.push_str(line.strip_prefix('.').unwrap_or(&line));
                    mail.text.push('\n');
                }
                whole = Some(mail.clone());
                say(&mut peer, "250 taken")?;
            }
            "QUIT" => {
                let _gone = say(&mut peer, "221 bye");
                break;
            }
            _ => say(&mut peer, "250 ok")?,
        }
    }
    whole
}

fn say(peer: &mut BufReader<impl Read + Write>, text: &str) -> Option<()> {
    let stream = peer.get_mut();
    stream.write_all(format!("{text}\r\n").as_bytes()).and_then(|()| stream.flush()).ok()
}

/// The next line, without its end. An error: there is none.
fn next(peer: &mut BufReader<impl Read>) -> io::Result<String> {
    let mut line = String::new();
    if peer.read_line(&mut line)? == 0 {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    Ok(line.trim_end_matches(['\r', '\n']).to_owned())
}
