//! A server of datagrams on loopback, which answers as told and notes what it was sent.

use std::io;
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

/// The largest datagram that there is.
const LARGEST: usize = 65_535;

/// A running server, on a thread of its own, which has ended when this is dropped.
#[derive(Debug)]
pub struct UdpServer {
    address: SocketAddr,
    received: Arc<Mutex<Vec<Vec<u8>>>>,
    stopping: Arc<AtomicBool>,
    thread: Option<thread::JoinHandle<()>>,
}

impl UdpServer {
    /// Answers each datagram with those that the function makes of it, on a free port of 127.0.0.1. Panics where
    /// that fails.
    pub fn start(answer: impl FnMut(&[u8]) -> Vec<Vec<u8>> + Send + 'static) -> Self {
        Self::start_at(SocketAddr::from((Ipv4Addr::LOCALHOST, 0)), answer)
    }

    /// The same at this address.
    #[allow(clippy::panic, reason = "a test whose server does not start has failed")]
    pub fn start_at(
        address: SocketAddr,
        answer: impl FnMut(&[u8]) -> Vec<Vec<u8>> + Send + 'static,
    ) -> Self {
        match Self::try_start(address, answer) {
            Ok(server) => server,
            Err(error) => panic!("could not serve datagrams on {address}: {error}"),
        }
    }

    /// Sends back what comes.
    pub fn echo() -> Self {
        Self::start(|bytes| vec![bytes.to_vec()])
    }

    /// Takes what comes and says nothing.
    pub fn silent() -> Self {
        Self::start(|_| Vec::new())
    }

    fn try_start(
        address: SocketAddr,
        mut answer: impl FnMut(&[u8]) -> Vec<Vec<u8>> + Send + 'static,
    ) -> io::Result<Self> {
        let socket = UdpSocket::bind(address)?;
        let address = socket.local_addr()?;
        let received: Arc<Mutex<Vec<Vec<u8>>>> = Arc::default();
        let stopping = Arc::new(AtomicBool::new(false));
        let (notes, stop) = (Arc::clone(&received), Arc::clone(&stopping));
        let serve = move || {
            let mut buffer = vec![0; LARGEST];
            while let Ok((count, from)) = socket.recv_from(&mut buffer) {
                if stop.load(Ordering::SeqCst) {
                    return;
                }
                let bytes = buffer.get(..count).unwrap_or_default().to_vec();
                lock(&notes).push(bytes.clone());
                for reply in answer(&bytes) {
                    let _nobody = socket.send_to(&reply, from);
                }
            }
        };
        let thread = thread::Builder::new().name("datagrams".to_owned()).spawn(serve)?;
        Ok(Self { address, received, stopping, thread: Some(thread) })
    }

    /// Where it takes datagrams.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// What came so far.
    pub fn received(&self) -> Vec<Vec<u8>> {
        lock(&self.received).clone()
    }
}

impl Drop for UdpServer {
    fn drop(&mut self) {
        self.stopping.store(true, Ordering::SeqCst);
        // Wakes the thread up.
        let woken = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))
            .and_then(|socket| socket.send_to(&[], self.address));
        if let (Ok(_), Some(thread)) = (woken, self.thread.take()) {
            let _ended = thread.join();
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
