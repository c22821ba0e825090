//! A mail server on loopback that takes what comes, or refuses it with a code, and notes the mails.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

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
    mails: Arc<Mutex<Vec<Mail>>>,
    refusal: Arc<Mutex<Option<&'static str>>>,
    stopping: Arc<AtomicBool>,
    thread: Option<thread::JoinHandle<()>>,
}

impl SmtpServer {
    /// On a free port of 127.0.0.1. Panics where that fails.
    #[allow(clippy::panic, reason = "a test whose server does not start has failed")]
    pub fn start() -> Self {
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
        let serve = move || {
            while let Ok((stream, _)) = listener.accept() {
                if stop.load(Ordering::SeqCst) {
                    return;
                }
                let refusal = *says.lock().unwrap_or_else(PoisonError::into_inner);
                if let Some(mail) = take(stream, refusal) {
                    notes.lock().unwrap_or_else(PoisonError::into_inner).push(mail);
                }
            }
        };
        let thread = thread::Builder::new().name("smtp".to_owned()).spawn(serve).ok();
        Self { address, mails, refusal, stopping, thread }
    }

    /// Its URL.
    pub fn url(&self) -> String {
        format!("smtp://{}", self.address)
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

/// Speaks SMTP until the peer leaves. None: no mail came of it.
fn take(stream: TcpStream, refusal: Option<&str>) -> Option<Mail> {
    stream.set_read_timeout(Some(Duration::from_secs(10))).ok()?;
    let mut out = stream.try_clone().ok()?;
    let mut lines = BufReader::new(stream).lines();
    let mut mail = Mail { from: String::new(), to: Vec::new(), text: String::new() };
    let mut whole = None;
    let mut say = |text: &str| out.write_all(format!("{text}\r\n").as_bytes()).ok();
    say("220 test ESMTP")?;
    while let Some(Ok(line)) = lines.next() {
        let word = line.get(..4).unwrap_or_default().to_ascii_uppercase();
        let address = || {
            let inside = line.split_once('<').and_then(|(_, rest)| rest.split_once('>'));
            inside.map(|(address, _)| address.to_owned()).unwrap_or_default()
        };
        match word.as_str() {
            "EHLO" | "HELO" => say("250 test")?,
            "MAIL" => {
                mail.from = address();
                say("250 ok")?;
            }
            "RCPT" => match refusal {
                Some(refusal) => say(refusal)?,
                None => {
                    mail.to.push(address());
                    say("250 ok")?;
                }
            },
            "DATA" => {
                say("354 go on")?;
                for line in lines.by_ref() {
                    match line.ok()?.as_str() {
                        "." => break,
                        line => mail
                            .text
                            .push_str(&format!("{}\n", line.strip_prefix('.').unwrap_or(line))),
                    }
                }
                whole = Some(mail.clone());
                say("250 taken")?;
            }
            "QUIT" => {
                let _gone = say("221 bye");
                break;
            }
            _ => say("250 ok")?,
        }
    }
    whole
}
