//! What the host keeps of one run, in the store of its instance.

use probehost_capability::{Capabilities, Run};
use wasmtime::component::ResourceTable;
use wasmtime_wasi::{WasiCtx, WasiCtxView, WasiView};

use crate::compute::Compute;
use crate::limits::Limiter;
use crate::options::{GRACE, HANDLES, RANDOM_BYTES};
use crate::stdio::Stdio;

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
            host_late: false,
            children: 0,
            bodies: 0,
            table,
            wasi: None,
        }
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

/// WASI with nothing in it: no files, no environment, no network, not even names.
impl WasiView for State {
    fn ctx(&mut self) -> WasiCtxView<'_> {
        self.compute.wasi();
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
