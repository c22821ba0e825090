//! Version 1 of the plugin contract: bindings, and what stands behind the imports.

mod container;
mod convert;
mod dns;
mod http;
mod log;
mod process;
mod ssh;
mod tcp;
mod udp;

use wasmtime::component::{
    Component, ComponentExportIndex, ComponentNamedList, HasSelf, InstancePre, Lift, Linker, Lower,
};
use wasmtime::{Engine, Store};

use crate::interfaces::{CONTRACT_VERSION, PROBE};
use crate::state::State;

#[allow(
    missing_docs,
    unreachable_pub,
    unused_qualifications,
    clippy::all,
    reason = "generated from the WIT"
)]
mod bindings {
    wasmtime::component::bindgen!({
        path: "../../wit/v1",
        world: "plugin",
        imports: {
            "probehost:plugin/container.inspect": async,
            "probehost:plugin/dns.query": async,
            "probehost:plugin/http": async,
            "probehost:plugin/process": async,
            "probehost:plugin/ssh.handshake": async,
            "probehost:plugin/tcp": async,
            "probehost:plugin/udp.exchange": async,
        },
        exports: { default: async },
        with: {
            "probehost:plugin/http.body": probehost_capability::http::Body,
            "probehost:plugin/process.child": probehost_capability::process::Child,
            "probehost:plugin/tcp.connection": probehost_capability::tcp::Connection,
        },
    });
}

use bindings::probehost::plugin::types as wit;

pub(crate) use bindings::probehost::plugin::types::Context;
pub(crate) use convert::{config_error, manifest, plan, report};

/// The `types` interface has nothing to call.
impl bindings::probehost::plugin::types::Host for State {}

/// A linker with everything that a plugin of this version can import.
pub(crate) fn linker(engine: &Engine) -> wasmtime::Result<Linker<State>> {
    let mut linker = Linker::new(engine);
    crate::wasi::add_to_linker(&mut linker)?;
    bindings::Plugin::add_to_linker::<_, HasSelf<_>>(&mut linker, |state| state)?;
    Ok(linker)
}

/// A plugin that is compiled and linked: all that a run still needs is an instance.
#[derive(Clone)]
pub(crate) struct Ready {
    instances: InstancePre<State>,
    describe: ComponentExportIndex,
    plan: ComponentExportIndex,
    check: ComponentExportIndex,
}

impl Ready {
    /// Links a component; fails when it needs a function that the host lacks, or when one of its
    /// own has other types than the contract's.
    pub(crate) fn link(linker: &Linker<State>, component: &Component) -> wasmtime::Result<Self> {
        let instances = linker.instantiate_pre(component)?;
        // Compares the types of all functions, so that it shows now.
        bindings::PluginPre::new(instances.clone())?;
        let interface = format!("{PROBE}@{CONTRACT_VERSION}");
        let probe = component.get_export_index(None, &interface);
        let function = |name| {
            component
                .get_export_index(probe.as_ref(), name)
                .ok_or_else(|| wasmtime::format_err!("{interface} has no function {name}"))
        };
        Ok(Self {
            instances,
            describe: function("describe")?,
            plan: function("plan")?,
            check: function("check")?,
        })
    }

    /// Makes an instance and asks it what it is.
    pub(crate) async fn describe(
        &self,
        store: &mut Store<State>,
    ) -> wasmtime::Result<wit::Manifest> {
        let (manifest,) = self.call::<_, (wit::Manifest,)>(store, &self.describe, ()).await?;
        Ok(manifest)
    }

    /// Makes an instance and asks it what it will reach.
    pub(crate) async fn plan(
        &self,
        store: &mut Store<State>,
        config: &str,
    ) -> wasmtime::Result<Result<wit::Plan, wit::ConfigError>> {
        let (plan,) = self.call(store, &self.plan, (config,)).await?;
        Ok(plan)
    }

    /// Makes an instance and lets it probe.
    pub(crate) async fn check(
        &self,
        store: &mut Store<State>,
        config: &str,
        context: &Context,
    ) -> wasmtime::Result<wit::Report> {
        let (report,) = self.call(store, &self.check, (config, context)).await?;
        Ok(report)
    }

    /// The generated bindings would look up all three functions in every instance; a run calls one.
    async fn call<Params, Return>(
        &self,
        store: &mut Store<State>,
        function: &ComponentExportIndex,
        params: Params,
    ) -> wasmtime::Result<Return>
    where
        Params: ComponentNamedList + Lower,
        Return: ComponentNamedList + Lift + 'static,
    {
        let instance = self.instances.instantiate_async(&mut *store).await?;
        let function = instance.get_typed_func::<Params, Return>(&mut *store, function)?;
        function.call_async(store, params).await
    }
}
