//! What the host keeps of one run, in the store of its instance.

use probehost_capability::{Capabilities, Run};
use wasmtime::UpdateDeadline;
use wasmtime::component::ResourceTable;
use wasmtime_wasi::{WasiCtx, WasiCtxView, WasiView};
use wasmtime_wasi_http::{WasiHttpCtx, WasiHttpCtxView, WasiHttpView};

use crate::compute::Compute;
use crate::fault::Fault;
use crate::limits::Limiter;
use crate::options::{GRACE, HANDLES, RANDOM_BYTES};
use crate::stdio::Stdio;
use crate::wasi::{Hooks, Net};

/// What a run may use: the capabilities, and in `run` what of them is granted and until when.
#[derive(Debug, Clone)]
pub(crate) struct Granted {
    pub(crate) run: Run,
    pub(crate) capabilities: Capabilities,
}

/// Everything that belongs to one run. It goes when the run ends (contract P1).
pub(crate) struct State {
    pub(crate) limiter: Limiter,
    pub(crate) compute: Compute,
    /// None: nothing at all, as in `describe` and `plan`.
    pub(crate) granted: Option<Granted>,
    /// A call was cut at the deadline: the guest was waiting for its target.
    pub(crate) timed_out: bool,
    /// That was by WASI, whose errors don't say what the guest was waiting for; this does.
    pub(crate) cut_in_wasi: Option<String>,
    /// A call was cut at the deadline while it waited for a service of this host, such as the
    /// container engine: that says nothing about the target (contract C3).
    pub(crate) host_late: bool,
    /// How many programs it has started.
    pub(crate) children: u32,
    /// How many bodies of answers it has open.
    pub(crate) bodies: u32,
    pub(crate) table: ResourceTable,
    /// Made when the guest first asks for it, since many never do.
    wasi: Option<(WasiCtx, Stdio)>,
    /// As are the means to reach the network by it.
    hooks: Hooks,
    http: WasiHttpCtx,
}

impl State {
    pub(crate) fn new(limiter: Limiter, compute: Compute, granted: Option<Granted>) -> Self {
        let mut table = ResourceTable::new();
        table.set_max_capacity(HANDLES);
        Self {
            limiter,
            compute,
            granted,
            timed_out: false,
            cut_in_wasi: None,
            host_late: false,
            children: 0,
            bodies: 0,
            table,
            wasi: None,
            hooks: Hooks::default(),
            http: WasiHttpCtx::new(),
        }
    }

    /// The engine's epoch has advanced while the guest was computing: says how it goes on.
    pub(crate) fn tick(&mut self) -> Result<UpdateDeadline, Fault> {
        self.settle_network();
        self.compute.tick()
    }

    /// The guest has called WASI.
    pub(crate) fn in_wasi(&mut self) {
        self.settle_network();
        self.compute.wasi();
    }

    /// The network of WASI, of which the guest has called something. None: nothing is granted.
    pub(crate) fn net(&mut self) -> Option<&Net> {
        self.in_wasi();
        if self.hooks.0.is_none() {
            self.hooks.0 = self.granted.as_ref().map(Net::new);
        }
        self.hooks.0.as_ref()
    }

    /// Takes over what the guest met in the network of WASI, where the host does not stand beside it.
    pub(crate) fn settle_network(&mut self) {
        let Some(net) = &self.hooks.0 else { return };
        let met = net.take_met();
        if let Some(at) = met.served {
            self.compute.served(at);
        }
        if met.cut {
            // Before the guest tries something else, which comes too late as well.
            self.cut_in_wasi = self.granted.as_ref().and_then(|it| it.run.timeout_message());
            self.cut_at_deadline();
        }
    }

    /// Why nothing can be said of the target: this host could not make a call over WASI.
    pub(crate) fn network_fault(&self) -> Option<Fault> {
        self.hooks.0.as_ref()?.host_fault().map(Fault::Host)
    }

    /// A call was cut at the deadline: the guest was waiting for its target, and has the grace to say so.
    pub(crate) fn cut_at_deadline(&mut self) {
        self.timed_out = true;
        self.compute.extend(GRACE);
    }

    /// As [`cut_at_deadline`](Self::cut_at_deadline), where the guest was waiting for a service of
    /// this host.
    pub(crate) fn cut_by_host(&mut self) {
        self.host_late = true;
        self.compute.extend(GRACE);
    }

    /// The end of what the guest wrote to standard error.
    pub(crate) fn stderr_tail(&self) -> String {
        self.wasi.as_ref().map(|(_, stdio)| stdio.tail()).unwrap_or_default()
    }
}

/// WASI with nothing in it: no files, no environment. What reaches the network is in
/// [`wasi`](crate::wasi), and WASI's own means of that stay closed.
impl WasiView for State {
    fn ctx(&mut self) -> WasiCtxView<'_> {
        self.in_wasi();
        let granted = &self.granted;
        let (ctx, _) = self.wasi.get_or_insert_with(|| {
            let stdio = Stdio::new(granted.as_ref().map(|granted| granted.run.clone()));
            let ctx = WasiCtx::builder()
                .stdout(stdio.out())
                .stderr(stdio.err())
                .allow_tcp(false)
                .allow_udp(false)
                .allow_ip_name_lookup(false)
                .max_random_size(RANDOM_BYTES)
                .build();
            (ctx, stdio)
        });
        WasiCtxView { ctx, table: &mut self.table }
    }
}

impl WasiHttpView for State {
    fn http(&mut self) -> WasiHttpCtxView<'_> {
        self.net();
        WasiHttpCtxView { ctx: &mut self.http, table: &mut self.table, hooks: &mut self.hooks }
    }
}
