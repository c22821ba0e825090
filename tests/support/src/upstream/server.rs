//! An upstream's thread: it listens and accepts until it is told to stop.

use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, mpsc};
use std::time::Duration;

use tokio::net::{TcpListener, TcpSocket};
use tokio::runtime;
use tokio::sync::oneshot;
use tokio::task::JoinSet;

use super::journal::Journal;
use super::{Setup, UpstreamError, connection};

/// How many connections may wait to be accepted; enough for a burst of a whole fleet of checks.
const BACKLOG: u32 = 4096;

/// The upstream's thread: listens, says where (or why not), and serves until it is stopped.
pub(super) fn run(
    setup: &Setup,
    address: SocketAddr,
    journal: Arc<Journal>,
    ready: &mpsc::Sender<Result<SocketAddr, UpstreamError>>,
    stopped: oneshot::Receiver<()>,
) {
    let runtime = match runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(source) => {
            let _gone = ready.send(Err(UpstreamError::Thread { address, source }));
            return;
        }
    };
    runtime.block_on(async {
        let listening = listen(address).and_then(|listener| Ok((listener.local_addr()?, listener)));
        match listening {
            Ok((bound, listener)) => {
                if ready.send(Ok(bound)).is_ok() {
                    tokio::select! {
                        () = serve(setup, &listener, &journal) => {}
                        _ = stopped => {}
                    }
                }
            }
            Err(source) => {
                let _gone = ready.send(Err(UpstreamError::Listen { address, source }));
            }
        }
    });
}

fn listen(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4()? } else { TcpSocket::new_v6()? };
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    socket.listen(BACKLOG)
}

/// Accepts until it is dropped; the connections' tasks go with it.
async fn serve(setup: &Setup, listener: &TcpListener, journal: &Arc<Journal>) {
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => {
                    let open = Journal::accept(journal);
                    connections.spawn(connection::serve(setup.clone(), stream, open));
                }
                // Out of file descriptors, or the peer is gone already: neither is worth spinning for.
                Err(_) => tokio::time::sleep(Duration::from_millis(5)).await,
            },
            Some(_ended) = connections.join_next() => {}
        }
    }
}
