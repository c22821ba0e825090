//! `wasi:sockets/ip-name-lookup`: the host resolves, and only names of what is granted.

use std::net::IpAddr;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};
use std::vec;

use probehost_capability::sockets::Error;
use wasmtime::component::Resource;
use wasmtime_wasi::p2::{DynPollable, Network, Pollable, subscribe};

use super::bindings::wasi::sockets::ip_name_lookup as wit;
use super::net::Net;
use super::tcp::code;
use crate::state::State;
use wit::{ErrorCode, IpAddress};

type Answer = Result<Vec<IpAddr>, Error>;

/// A name that is looked up while the guest waits for it.
#[allow(unreachable_pub, reason = "the generated code re-exports it")]
pub struct Lookup {
    net: Net,
    state: Answers,
}

enum Answers {
    Pending(Pin<Box<dyn Future<Output = Answer> + Send>>),
    Found(vec::IntoIter<IpAddr>),
    Failed(ErrorCode),
}

impl Lookup {
    fn arrived(&mut self, answer: Answer) {
        self.state = match answer {
            Ok(addresses) => {
                self.net.ended();
                Answers::Found(addresses.into_iter())
            }
            Err(error) => Answers::Failed(code(&self.net, &error)),
        };
    }
}

#[wasmtime_wasi::async_trait]
impl Pollable for Lookup {
    async fn ready(&mut self) {
        if let Answers::Pending(answer) = &mut self.state {
            let answer = answer.as_mut().await;
            self.arrived(answer);
        }
    }
}

impl wit::Host for State {
    fn resolve_addresses(
        &mut self,
        network: Resource<Network>,
        name: String,
    ) -> wasmtime::Result<Result<Resource<Lookup>, ErrorCode>> {
        self.table.get(&network)?;
        let Some(net) = self.net().cloned() else { return Ok(Err(ErrorCode::AccessDenied)) };
        let session = net.session().clone();
        let state = Answers::Pending(Box::pin(async move { session.lookup(&name).await }));
        Ok(Ok(self.table.push(Lookup { net, state })?))
    }
}

impl wit::HostResolveAddressStream for State {
    fn resolve_next_address(
        &mut self,
        this: Resource<Lookup>,
    ) -> wasmtime::Result<Result<Option<IpAddress>, ErrorCode>> {
        self.in_wasi();
        let lookup = self.table.get_mut(&this)?;
        if let Answers::Pending(answer) = &mut lookup.state
            && let Poll::Ready(answer) =
                answer.as_mut().poll(&mut Context::from_waker(Waker::noop()))
        {
            lookup.arrived(answer);
        }
        Ok(match &mut lookup.state {
            Answers::Pending(_) => Err(ErrorCode::WouldBlock),
            Answers::Found(addresses) => Ok(addresses.next().map(IpAddress::from)),
            Answers::Failed(code) => Err(*code),
        })
    }

    fn subscribe(&mut self, this: Resource<Lookup>) -> wasmtime::Result<Resource<DynPollable>> {
        subscribe(&mut self.table, this)
    }

    fn drop(&mut self, this: Resource<Lookup>) -> wasmtime::Result<()> {
        self.table.delete(this)?;
        Ok(())
    }
}
