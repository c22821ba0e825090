//! A small name server on loopback, by UDP and TCP, made by hand so that it owes nothing to the library that asks it.

use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use crate::udp::UdpServer;

/// How often another port is tried, where the one of the TCP listener is taken for UDP.
const ATTEMPTS: usize = 20;

/// What a record says.
#[derive(Debug, Clone)]
pub enum Data {
    /// An IPv4 address.
    A(Ipv4Addr),
    /// An IPv6 address.
    Aaaa(Ipv6Addr),
    /// Flags, tag and value.
    Caa(u8, &'static str, &'static str),
    /// Another name.
    Cname(&'static str),
    /// Preference and host.
    Mx(u16, &'static str),
    /// A name server.
    Ns(&'static str),
    /// A name.
    Ptr(&'static str),
    /// Server, mailbox, and the five numbers.
    Soa(&'static str, &'static str, [u32; 5]),
    /// Priority, weight, port and host.
    Srv(u16, u16, u16, &'static str),
    /// Texts, each at most 255 bytes.
    Txt(Vec<String>),
}

/// What a name server knows, and how it behaves.
#[derive(Debug, Clone, Default)]
pub struct Zone {
    records: Vec<(String, u32, Data)>,
    codes: Vec<(String, u8)>,
    truncating: bool,
    without_edns: bool,
    foreign_first: bool,
}

/// A running name server. Its threads have ended when it is dropped.
#[derive(Debug)]
pub struct DnsServer {
    datagrams: UdpServer,
    by_tcp: Arc<Mutex<Vec<Vec<u8>>>>,
    stopping: Arc<AtomicBool>,
    thread: Option<thread::JoinHandle<()>>,
}

impl Zone {
    /// Adds a record.
    #[must_use]
    pub fn with(mut self, name: &str, ttl: u32, data: Data) -> Self {
        self.records.push((name.to_owned(), ttl, data));
        self
    }

    /// Answers questions for this name with this response code and nothing else.
    #[must_use]
    pub fn answering(mut self, name: &str, code: u8) -> Self {
        self.codes.push((name.to_owned(), code));
        self
    }

    /// Says by UDP only that the answer does not fit.
    #[must_use]
    pub fn truncating(mut self) -> Self {
        self.truncating = true;
        self
    }

    /// Can't read questions that have more than a question.
    #[must_use]
    pub fn without_edns(mut self) -> Self {
        self.without_edns = true;
        self
    }

    /// Sends an answer to somebody else's question, by its id, before each answer.
    #[must_use]
    pub fn foreign_first(mut self) -> Self {
        self.foreign_first = true;
        self
    }

    /// Serves it on a free port of 127.0.0.1. Panics where that fails.
    #[allow(clippy::panic, reason = "a test whose server does not start has failed")]
    pub fn serve(self) -> DnsServer {
        for _ in 0..ATTEMPTS {
            let Ok(listener) = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)) else { continue };
            let Ok(address) = listener.local_addr() else { continue };
            // Free for TCP may be taken for UDP.
            if std::net::UdpSocket::bind(address).is_err() {
                continue;
            }
            return self.serve_with(listener, address);
        }
        panic!("found no port that is free for UDP and TCP");
    }

    /// Serves it at this address, by UDP alone. Panics where that fails.
    pub fn serve_at(self, address: SocketAddr) -> UdpServer {
        UdpServer::start_at(address, move |question| {
            self.answer(question, false).into_iter().collect()
        })
    }

    fn serve_with(self, listener: TcpListener, address: SocketAddr) -> DnsServer {
        let zone = self.clone();
        let datagrams = UdpServer::start_at(address, move |question| {
            let Some(answer) = zone.answer(question, zone.truncating) else { return Vec::new() };
            if !zone.foreign_first {
                return vec![answer];
            }
            let mut foreign = answer.clone();
            if let Some(id) = foreign.first_mut() {
                *id ^= 0xff;
            }
            vec![foreign, answer]
        });
        let (by_tcp, stopping) =
            (Arc::<Mutex<Vec<_>>>::default(), Arc::new(AtomicBool::new(false)));
        let (notes, stop) = (Arc::clone(&by_tcp), Arc::clone(&stopping));
        let serve = move || {
            while let Ok((stream, _)) = listener.accept() {
                if stop.load(Ordering::SeqCst) {
                    return;
                }
                // A peer that hangs up is of no interest.
                let _gone = self.serve_one(stream, &notes);
            }
        };
        let thread = thread::Builder::new().name("dns by tcp".to_owned()).spawn(serve).ok();
        DnsServer { datagrams, by_tcp, stopping, thread }
    }

    /// Notes the question before it is answered, so that whoever has the answer sees the note.
    fn serve_one(&self, mut stream: TcpStream, notes: &Mutex<Vec<Vec<u8>>>) -> Option<()> {
        let mut length = [0; 2];
        stream.read_exact(&mut length).ok()?;
        let mut question = vec![0; u16::from_be_bytes(length).into()];
        stream.read_exact(&mut question).ok()?;
        notes.lock().unwrap_or_else(PoisonError::into_inner).push(question.clone());
        let answer = self.answer(&question, false)?;
        let length = u16::try_from(answer.len()).ok()?.to_be_bytes();
        stream.write_all(&[&length[..], &answer].concat()).ok()
    }

    /// The answer to a question; none to what is none.
    fn answer(&self, question: &[u8], truncated: bool) -> Option<Vec<u8>> {
        let (name, kind, end) = read_question(question)?;
        let has_more = question.get(11).is_some_and(|count| *count > 0);
        let set = self.codes.iter().find(|(of, _)| *of == name).map(|(_, code)| *code);
        let known = self.records.iter().any(|(of, ..)| *of == name);
        let code = match set {
            _ if self.without_edns && has_more => 1,
            Some(code) => code,
            None if known => 0,
            None => 3,
        };
        let mut records = Vec::new();
        if code == 0 && !truncated {
            self.collect(&name, kind, &mut records);
        }
        let mut answer = question.get(..2)?.to_vec();
        // An answer, authoritative; recursion is available.
        answer.extend([0x84 | if truncated { 2 } else { 0 }, 0x80 | code, 0, 1]);
        answer.extend(u16::try_from(records.len()).ok()?.to_be_bytes());
        answer.extend([0; 4]);
        answer.extend(question.get(12..end)?);
        answer.extend(records.into_iter().flatten());
        Some(answer)
    }

    fn collect(&self, name: &str, kind: u16, records: &mut Vec<Vec<u8>>) {
        for (_, ttl, data) in self.records.iter().filter(|(of, ..)| of == name) {
            let (number, bytes) = data.bytes();
            if number == kind || number == 5 {
                let length = u16::try_from(bytes.len()).unwrap_or(u16::MAX);
                let mut record = wire_name(name);
                record.extend([number.to_be_bytes(), [0, 1]].concat());
                record.extend(ttl.to_be_bytes());
                record.extend(length.to_be_bytes());
                record.extend(bytes);
                records.push(record);
            }
            if let (Data::Cname(target), true) = (data, kind != 5) {
                self.collect(target, kind, records);
            }
        }
    }
}

impl DnsServer {
    /// Where it is asked, by UDP and TCP.
    pub fn address(&self) -> SocketAddr {
        self.datagrams.address()
    }

    /// How many questions came by UDP.
    pub fn by_udp(&self) -> usize {
        self.datagrams.received().len()
    }

    /// How many came by TCP.
    pub fn by_tcp(&self) -> usize {
        self.by_tcp.lock().unwrap_or_else(PoisonError::into_inner).len()
    }
}

impl Drop for DnsServer {
    fn drop(&mut self) {
        self.stopping.store(true, Ordering::SeqCst);
        let woken = TcpStream::connect(self.address());
        if let (Ok(_), Some(thread)) = (woken, self.thread.take()) {
            let _ended = thread.join();
        }
    }
}

impl Data {
    /// Its number, and its bytes.
    fn bytes(&self) -> (u16, Vec<u8>) {
        match self {
            Self::A(address) => (1, address.octets().to_vec()),
            Self::Ns(name) => (2, wire_name(name)),
            Self::Cname(name) => (5, wire_name(name)),
            Self::Soa(server, mailbox, numbers) => {
                let mut bytes = [wire_name(server), wire_name(mailbox)].concat();
                bytes.extend(numbers.iter().flat_map(|number| number.to_be_bytes()));
                (6, bytes)
            }
            Self::Ptr(name) => (12, wire_name(name)),
            Self::Mx(preference, host) => {
                (15, [preference.to_be_bytes().to_vec(), wire_name(host)].concat())
            }
            Self::Txt(texts) => (16, texts.iter().flat_map(|text| counted(text)).collect()),
            Self::Aaaa(address) => (28, address.octets().to_vec()),
            Self::Srv(priority, weight, port, host) => {
                let numbers = [*priority, *weight, *port].map(u16::to_be_bytes).concat();
                (33, [numbers, wire_name(host)].concat())
            }
            Self::Caa(flags, tag, value) => {
                (257, [vec![*flags], counted(tag), value.as_bytes().to_vec()].concat())
            }
        }
    }
}

/// A text after its length, which is one byte.
fn counted(text: &str) -> Vec<u8> {
    let length = u8::try_from(text.len()).unwrap_or(u8::MAX);
    [&[length][..], text.as_bytes()].concat()
}

fn wire_name(name: &str) -> Vec<u8> {
    let labels = name.split('.').filter(|label| !label.is_empty());
    labels.flat_map(counted).chain([0]).collect()
}

/// Name (in lower case) and type of a question, and where it ends.
fn read_question(bytes: &[u8]) -> Option<(String, u16, usize)> {
    let (mut at, mut labels) = (12, Vec::new());
    loop {
        let length = usize::from(*bytes.get(at)?);
        at += 1;
        if length == 0 {
            break;
        }
        labels.push(String::from_utf8_lossy(bytes.get(at..at + length)?).to_lowercase());
        at += length;
    }
    let kind = u16::from_be_bytes(bytes.get(at..at + 2)?.try_into().ok()?);
    Some((labels.join("."), kind, at + 4))
}
