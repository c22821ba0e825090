//! `wasi:sockets/tcp`, for connecting. Nothing can listen in a sandbox, nor choose its own address.

use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use probehost_capability::sockets::{Connected, Error, ErrorKind};
use wasmtime::component::Resource;
use wasmtime_wasi::p2::{
    DynInputStream, DynOutputStream, DynPollable, Network, Pollable, subscribe,
};

use super::bindings::wasi::sockets::{tcp as wit, tcp_create_socket};
use super::connection::Connection;
use super::net::{Net, Place};
use crate::state::State;
use wit::{Duration, ErrorCode, IpAddressFamily, IpSocketAddress, ShutdownType};

type Answer = Result<Connected, Error>;
type Streams = (Resource<DynInputStream>, Resource<DynOutputStream>);

/// A socket. The system's is made when it connects.
#[allow(unreachable_pub, reason = "the generated code re-exports it")]
pub struct Socket {
    net: Net,
    family: IpAddressFamily,
    state: Progress,
    _place: Place,
}

enum Progress {
    Fresh,
    Connecting(Pin<Box<dyn Future<Output = Answer> + Send>>),
    Answered(Result<Connected, ErrorCode>),
    Open(Arc<Connection>),
    Failed,
}

#[wasmtime_wasi::async_trait]
impl Pollable for Socket {
    async fn ready(&mut self) {
        if let Progress::Connecting(answer) = &mut self.state {
            let answer = answer.as_mut().await;
            self.arrived(answer);
        }
    }
}

impl Socket {
    /// The run is told at once: the guest may compute for a while before it asks.
    fn arrived(&mut self, answer: Answer) {
        self.state = Progress::Answered(match answer {
            Ok(connected) => {
                self.net.ended();
                Ok(connected)
            }
            Err(error) => Err(code(&self.net, &error)),
        });
    }

    fn connection(&self) -> Result<&Connection, ErrorCode> {
        match &self.state {
            Progress::Open(connection) => Ok(connection),
            _ => Err(ErrorCode::InvalidState),
        }
    }

    /// Something that no grant allows.
    fn refuse(&self, what: &str, why: &str) -> ErrorCode {
        self.net.session().refused(what, why);
        ErrorCode::AccessDenied
    }
}

/// What the guest is told of a call that failed. The run is told too where that is not the
/// target's doing.
pub(super) fn code(net: &Net, error: &Error) -> ErrorCode {
    match error.kind {
        // Nobody was asked.
        ErrorKind::Denied | ErrorKind::Invalid => {}
        ErrorKind::Host => net.host_failed(&error.message),
        _ => net.ended(),
    }
    match error.kind {
        ErrorKind::Denied => ErrorCode::AccessDenied,
        ErrorKind::Invalid => ErrorCode::InvalidArgument,
        ErrorKind::Timeout => ErrorCode::Timeout,
        ErrorKind::NameNotFound => ErrorCode::NameUnresolvable,
        ErrorKind::Resolver => ErrorCode::TemporaryResolverFailure,
        ErrorKind::Refused => ErrorCode::ConnectionRefused,
        ErrorKind::Unreachable => ErrorCode::RemoteUnreachable,
        ErrorKind::Closed => ErrorCode::ConnectionReset,
        ErrorKind::Host => ErrorCode::NewSocketLimit,
    }
}

impl tcp_create_socket::Host for State {
    fn create_tcp_socket(
        &mut self,
        family: IpAddressFamily,
    ) -> wasmtime::Result<Result<Resource<Socket>, ErrorCode>> {
        let Some(net) = self.net().cloned() else { return Ok(Err(ErrorCode::AccessDenied)) };
        let Some(place) = net.place() else { return Ok(Err(ErrorCode::NewSocketLimit)) };
        let socket = Socket { net, family, state: Progress::Fresh, _place: place };
        Ok(Ok(self.table.push(socket)?))
    }
}

impl wit::Host for State {}

impl wit::HostTcpSocket for State {
    fn start_bind(
        &mut self,
        this: Resource<Socket>,
        _: Resource<Network>,
        address: IpSocketAddress,
    ) -> wasmtime::Result<Result<(), ErrorCode>> {
        let what = format!("bind to {}", SocketAddr::from(address));
        let why = "a plugin can't choose the address that it connects from, nor listen";
        Ok(Err(self.table.get(&this)?.refuse(&what, why)))
    }

    fn finish_bind(&mut self, _: Resource<Socket>) -> wasmtime::Result<Result<(), ErrorCode>> {
        Ok(Err(ErrorCode::NotInProgress))
    }

    fn start_connect(
        &mut self,
        this: Resource<Socket>,
        network: Resource<Network>,
        address: IpSocketAddress,
    ) -> wasmtime::Result<Result<(), ErrorCode>> {
        self.in_wasi();
        self.table.get(&network)?;
        let socket = self.table.get_mut(&this)?;
        match &socket.state {
            Progress::Fresh => {}
            Progress::Connecting(_) | Progress::Answered(_) => {
                return Ok(Err(ErrorCode::ConcurrencyConflict));
            }
            Progress::Open(_) | Progress::Failed => return Ok(Err(ErrorCode::InvalidState)),
        }
        let address = SocketAddr::from(address);
        let fits = match (socket.family, address) {
            (IpAddressFamily::Ipv4, SocketAddr::V4(_)) => true,
            // An IPv4 address in IPv6's clothes takes a socket of its own kind.
            (IpAddressFamily::Ipv6, SocketAddr::V6(v6)) => v6.ip().to_ipv4_mapped().is_none(),
            _ => false,
        };
        if !fits {
            return Ok(Err(ErrorCode::InvalidArgument));
        }
        let session = socket.net.session().clone();
        let connecting = Box::pin(async move { session.connect(address).await });
        socket.state = Progress::Connecting(connecting);
        Ok(Ok(()))
    }

    fn finish_connect(
        &mut self,
        this: Resource<Socket>,
    ) -> wasmtime::Result<Result<Streams, ErrorCode>> {
        self.in_wasi();
        let socket = self.table.get_mut(&this)?;
        if let Progress::Connecting(answer) = &mut socket.state {
            let now = answer.as_mut().poll(&mut Context::from_waker(Waker::noop()));
            let Poll::Ready(answer) = now else { return Ok(Err(ErrorCode::WouldBlock)) };
            socket.arrived(answer);
        }
        let connected = match std::mem::replace(&mut socket.state, Progress::Failed) {
            Progress::Answered(Ok(connected)) => connected,
            Progress::Answered(Err(code)) => return Ok(Err(code)),
            other => {
                socket.state = other;
                return Ok(Err(ErrorCode::NotInProgress));
            }
        };
        let connection = Connection::new(connected, socket.net.clone());
        let (input, output) = connection.streams();
        socket.state = Progress::Open(connection);
        let input = self.table.push_child(input, &this)?;
        let output = self.table.push_child(output, &this)?;
        Ok(Ok((input, output)))
    }

    fn start_listen(&mut self, this: Resource<Socket>) -> wasmtime::Result<Result<(), ErrorCode>> {
        Ok(Err(self.table.get(&this)?.refuse("listen", "a plugin can't listen")))
    }

    fn finish_listen(&mut self, _: Resource<Socket>) -> wasmtime::Result<Result<(), ErrorCode>> {
        Ok(Err(ErrorCode::NotInProgress))
    }

    fn accept(
        &mut self,
        _: Resource<Socket>,
    ) -> wasmtime::Result<
        Result<(Resource<Socket>, Resource<DynInputStream>, Resource<DynOutputStream>), ErrorCode>,
    > {
        Ok(Err(ErrorCode::InvalidState))
    }

    fn local_address(
        &mut self,
        this: Resource<Socket>,
    ) -> wasmtime::Result<Result<IpSocketAddress, ErrorCode>> {
        let connection = self.table.get(&this)?.connection();
        Ok(connection.and_then(|open| told(open.local())))
    }

    fn remote_address(
        &mut self,
        this: Resource<Socket>,
    ) -> wasmtime::Result<Result<IpSocketAddress, ErrorCode>> {
        let connection = self.table.get(&this)?.connection();
        Ok(connection.and_then(|open| told(open.remote())))
    }

    fn is_listening(&mut self, _: Resource<Socket>) -> wasmtime::Result<bool> {
        Ok(false)
    }

    fn address_family(&mut self, this: Resource<Socket>) -> wasmtime::Result<IpAddressFamily> {
        Ok(self.table.get(&this)?.family)
    }

    fn subscribe(&mut self, this: Resource<Socket>) -> wasmtime::Result<Resource<DynPollable>> {
        subscribe(&mut self.table, this)
    }

    fn shutdown(
        &mut self,
        this: Resource<Socket>,
        how: ShutdownType,
    ) -> wasmtime::Result<Result<(), ErrorCode>> {
        self.in_wasi();
        let connection = match self.table.get(&this)?.connection() {
            Ok(connection) => connection,
            Err(code) => return Ok(Err(code)),
        };
        if matches!(how, ShutdownType::Receive | ShutdownType::Both) {
            connection.end_input();
        }
        if matches!(how, ShutdownType::Send | ShutdownType::Both) {
            connection.end_output();
        }
        Ok(Ok(()))
    }

    fn drop(&mut self, this: Resource<Socket>) -> wasmtime::Result<()> {
        self.table.delete(this)?;
        Ok(())
    }

    // Options of a connection that lives for one probe make no difference: they are taken, and the
    // usual values are told.

    fn set_listen_backlog_size(
        &mut self,
        _: Resource<Socket>,
        _: u64,
    ) -> wasmtime::Result<Result<(), ErrorCode>> {
        Ok(Err(ErrorCode::NotSupported))
    }

    fn keep_alive_enabled(
        &mut self,
        _: Resource<Socket>,
    ) -> wasmtime::Result<Result<bool, ErrorCode>> {
        Ok(Ok(false))
    }

    fn set_keep_alive_enabled(
        &mut self,
        _: Resource<Socket>,
        _: bool,
    ) -> wasmtime::Result<Result<(), ErrorCode>> {
        Ok(Ok(()))
    }

    fn keep_alive_idle_time(
        &mut self,
        _: Resource<Socket>,
    ) -> wasmtime::Result<Result<Duration, ErrorCode>> {
        Ok(Ok(7_200_000_000_000))
    }

    fn set_keep_alive_idle_time(
        &mut self,
        _: Resource<Socket>,
        value: Duration,
    ) -> wasmtime::Result<Result<(), ErrorCode>> {
        Ok(positive(value))
    }

    fn keep_alive_interval(
        &mut self,
        _: Resource<Socket>,
    ) -> wasmtime::Result<Result<Duration, ErrorCode>> {
        Ok(Ok(75_000_000_000))
    }

    fn set_keep_alive_interval(
        &mut self,
        _: Resource<Socket>,
        value: Duration,
    ) -> wasmtime::Result<Result<(), ErrorCode>> {
        Ok(positive(value))
    }

    fn keep_alive_count(
        &mut self,
        _: Resource<Socket>,
    ) -> wasmtime::Result<Result<u32, ErrorCode>> {
        Ok(Ok(9))
    }

    fn set_keep_alive_count(
        &mut self,
        _: Resource<Socket>,
        value: u32,
    ) -> wasmtime::Result<Result<(), ErrorCode>> {
        Ok(positive(value.into()))
    }

    fn hop_limit(&mut self, _: Resource<Socket>) -> wasmtime::Result<Result<u8, ErrorCode>> {
        Ok(Ok(64))
    }

    fn set_hop_limit(
        &mut self,
        _: Resource<Socket>,
        value: u8,
    ) -> wasmtime::Result<Result<(), ErrorCode>> {
        Ok(positive(value.into()))
    }

    fn receive_buffer_size(
        &mut self,
        _: Resource<Socket>,
    ) -> wasmtime::Result<Result<u64, ErrorCode>> {
        Ok(Ok(128 << 10))
    }

    fn set_receive_buffer_size(
        &mut self,
        _: Resource<Socket>,
        value: u64,
    ) -> wasmtime::Result<Result<(), ErrorCode>> {
        Ok(positive(value))
    }

    fn send_buffer_size(
        &mut self,
        _: Resource<Socket>,
    ) -> wasmtime::Result<Result<u64, ErrorCode>> {
        Ok(Ok(128 << 10))
    }

    fn set_send_buffer_size(
        &mut self,
        _: Resource<Socket>,
        value: u64,
    ) -> wasmtime::Result<Result<(), ErrorCode>> {
        Ok(positive(value))
    }
}

/// The system no longer knows the addresses of a connection that has broken.
fn told(address: io::Result<SocketAddr>) -> Result<IpSocketAddress, ErrorCode> {
    address.map(IpSocketAddress::from).map_err(|_| ErrorCode::InvalidState)
}

/// WASI refuses 0 for all of these.
fn positive(value: u64) -> Result<(), ErrorCode> {
    if value == 0 { Err(ErrorCode::InvalidArgument) } else { Ok(()) }
}
