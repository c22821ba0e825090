//! The network of WASI, so that ordinary client libraries work in a plugin: `wasi:http` requests
//! and the TCP sockets and name lookups of `wasi:sockets`, through the same egress and by the same
//! grants as the interfaces of the plugin contract (contract G2, G3).
//!
//! `wasmtime-wasi` could connect and look up by itself; here it may not. What reaches the network
//! is served by this module instead, on top of the host's capabilities.

mod address;
mod connection;
mod http;
mod lookup;
mod net;
mod tcp;

use wasmtime::component::{HasSelf, Linker};

use crate::state::State;

pub(crate) use http::Hooks;
pub(crate) use net::Net;

#[allow(
    missing_docs,
    unreachable_pub,
    unused_qualifications,
    clippy::all,
    reason = "generated from the WIT"
)]
mod bindings {
    wasmtime::component::bindgen!({
        path: "wit",
        world: "sockets",
        imports: { default: trappable },
        with: {
            "wasi:io": wasmtime_wasi::p2::bindings::io,
            "wasi:clocks": wasmtime_wasi::p2::bindings::clocks,
            "wasi:sockets/network.network": wasmtime_wasi::p2::Network,
            "wasi:sockets/ip-name-lookup.resolve-address-stream": super::lookup::Lookup,
            "wasi:sockets/tcp.tcp-socket": super::tcp::Socket,
        },
        require_store_data_send: true,
    });
}

/// All of WASI that a plugin can import.
pub(crate) fn add_to_linker(linker: &mut Linker<State>) -> wasmtime::Result<()> {
    use bindings::wasi::sockets;

    wasmtime_wasi::p2::add_to_linker_async(linker)?;
    wasmtime_wasi_http::p2::add_only_http_to_linker_async(linker)?;
    linker.allow_shadowing(true);
    sockets::ip_name_lookup::add_to_linker::<_, HasSelf<_>>(linker, |state| state)?;
    sockets::tcp::add_to_linker::<_, HasSelf<_>>(linker, |state| state)?;
    sockets::tcp_create_socket::add_to_linker::<_, HasSelf<_>>(linker, |state| state)?;
    linker.allow_shadowing(false);
    Ok(())
}
