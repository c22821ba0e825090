//! Version 1 of the plugin contract: bindings, and what stands behind the imports.

mod convert;
mod http;
mod log;

use wasmtime::component::{Component, HasSelf, Linker};
use wasmtime::{Engine, Store};

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
            "probehost:plugin/http.send": async,
        },
        exports: { default: async },
    });
}

pub(crate) use bindings::probehost::plugin::types::Context;
pub(crate) use convert::{config_error, manifest, plan, report};

/// The `types` interface has nothing to call.
impl bindings::probehost::plugin::types::Host for State {}

/// A linker with everything that a plugin of this version can import.
pub(crate) fn linker(engine: &Engine) -> wasmtime::Result<Linker<State>> {
    let mut linker = Linker::new(engine);
    wasmtime_wasi::p2::add_to_linker_async(&mut linker)?;
    bindings::Plugin::add_to_linker::<_, HasSelf<_>>(&mut linker, |state| state)?;
    Ok(linker)
}

/// A plugin that is compiled and linked: all that a run still needs is an instance.
#[derive(Clone)]
pub(crate) struct Ready(bindings::PluginPre<State>);

impl Ready {
    /// Links a component; fails when it needs a function that the host lacks.
    pub(crate) fn link(linker: &Linker<State>, component: &Component) -> wasmtime::Result<Self> {
        bindings::PluginPre::new(linker.instantiate_pre(component)?).map(Self)
    }

    pub(crate) async fn instantiate(&self, store: &mut Store<State>) -> wasmtime::Result<Instance> {
        self.0.instantiate_async(store).await.map(Instance)
    }
}

/// A plugin's instance, for one run.
pub(crate) struct Instance(bindings::Plugin);

/// The plugin's answers as the contract's types; `convert` makes the product's of them.
impl Instance {
    pub(crate) async fn describe(
        &self,
        store: &mut Store<State>,
    ) -> wasmtime::Result<bindings::probehost::plugin::types::Manifest> {
        self.0.probehost_plugin_probe().call_describe(store).await
    }

    pub(crate) async fn plan(
        &self,
        store: &mut Store<State>,
        config: &str,
    ) -> wasmtime::Result<
        Result<
            bindings::probehost::plugin::types::Plan,
            bindings::probehost::plugin::types::ConfigError,
        >,
    > {
        self.0.probehost_plugin_probe().call_plan(store, config).await
    }

    pub(crate) async fn check(
        &self,
        store: &mut Store<State>,
        config: &str,
        context: &Context,
    ) -> wasmtime::Result<bindings::probehost::plugin::types::Report> {
        self.0.probehost_plugin_probe().call_check(store, config, context).await
    }
}
