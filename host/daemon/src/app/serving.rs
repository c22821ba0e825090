//! A running host: started from a config, stopped without losing what it knows.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::Arc;

use probehost_config::{Config, Resolved, Synchronous};
use probehost_model::{SYSTEM_PRINCIPAL, Target};
use probehost_monitor::{Clock, Metrics, Monitor, Schedule, Settings};
use probehost_store::{Options as StoreOptions, SaveReport, Store};
use prometheus_client::registry::Registry;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use super::kinds::clamp_text;
use super::listing::StoreListing;
use super::{AppError, Kinds, Known, SandboxProber, Setup};
use crate::api::{self, Api};

type HostMonitor = Monitor<Arc<SandboxProber>, Store>;

/// A running host.
pub(crate) struct Host {
    store: Store,
    monitor: HostMonitor,
    schedule: Schedule<Arc<SandboxProber>, Store, StoreListing>,
    api: JoinHandle<std::io::Result<()>>,
    api_stop: CancellationToken,
    address: SocketAddr,
}

impl Host {
    /// Starts everything that the config asks for. Nothing is left running on an error.
    pub(crate) async fn start(config: &Config) -> Result<Self, AppError> {
        // First what needs no other: a second host on the same port changes nothing.
        let listen = config.server.listen;
        let taken = |error| AppError::Listen { address: listen, error };
        let listener = TcpListener::bind(listen).await.map_err(taken)?;
        let address = listener.local_addr().map_err(taken)?;

        let setup = Setup::of(config);
        let kinds = Arc::new(Kinds::load(&setup).await?);
        let resolved = kinds.resolve(config);
        if !resolved.errors.is_empty() {
            return Err(resolved.errors.into());
        }
        log_resolved(&resolved, &kinds);
        let catalog = Arc::clone(kinds.catalog());
        let prober = Arc::new(kinds.prober(&setup)?);

        let mut options = StoreOptions::new(&config.store.path);
        options.synchronous = match config.store.synchronous {
            Synchronous::Normal => probehost_store::Synchronous::Normal,
            Synchronous::Full => probehost_store::Synchronous::Full,
        };
        let store = Store::open(options).await?;
        let clock = Clock::System;
        let saved = match save(&store, &prober, resolved.targets, clock).await {
            Ok(saved) => saved,
            Err(error) => {
                store.close().await;
                return Err(error);
            }
        };
        let metrics = Metrics::default();
        metrics.records_reset(saved.reset.len());
        let mut registry = Registry::with_prefix("probehost");
        metrics.register(&mut registry);

        let concurrency = usize::try_from(config.probes.concurrency).unwrap_or(usize::MAX);
        let settings = Settings { concurrency, clock };
        let monitor = Monitor::new(prober, store.clone(), settings, metrics);
        let known = Known::default();
        let listing = StoreListing { store: store.clone(), known: known.clone() };
        let schedule = Schedule::new(monitor.clone(), listing);
        schedule.start().await;

        let api_stop = CancellationToken::new();
        let api = Api {
            store: store.clone(),
            monitor: monitor.clone(),
            catalog,
            known,
            registry: Arc::new(registry),
        };
        let api = tokio::spawn(api::serve(listener, api, api_stop.clone().cancelled_owned()));
        Ok(Self { store, monitor, schedule, api, api_stop, address })
    }

    /// Where the API is served.
    pub(crate) const fn address(&self) -> SocketAddr {
        self.address
    }

    /// Ends the schedule, cancels the probes that have no result yet, records those that have,
    /// finishes the answers of the API, and closes the store (contract S8).
    pub(crate) async fn stop(self) -> Result<(), AppError> {
        self.schedule.stop().await;
        self.monitor.stop().await;
        self.api_stop.cancel();
        let api = self.api.await;
        self.store.close().await;
        match api {
            Ok(ended) => ended.map_err(AppError::Api),
            Err(failed) => Err(AppError::Api(std::io::Error::other(failed))),
        }
    }
}

/// Makes the file's targets the stored ones. Each check's subject comes from its plan, so that
/// a record that is reset already tells what will be probed (contract T7).
async fn save(
    store: &Store,
    prober: &SandboxProber,
    targets: Vec<Target>,
    clock: Clock,
) -> Result<SaveReport, AppError> {
    let mut subjects = HashMap::new();
    for target in &targets {
        for check in &target.checks {
            let planned = prober.plan(&check.kind, &check.config.to_string().into()).await;
            let subject = planned.map(|planned| planned.subject().to_owned()).unwrap_or_default();
            subjects.insert(target.check_id(check), subject);
        }
    }
    let count = targets.len();
    let saved = store.sync_file_targets(targets, subjects, clock.now(), SYSTEM_PRINCIPAL).await?;
    let (created, changed) = (saved.created.len(), saved.changed.len());
    info!(targets = count, created, changed, deleted = saved.deleted.len(), "targets of the file");
    Ok(saved)
}

/// What an operator should know of the config: intervals that were changed, once each
/// (contract S6), and kinds that are not installed (P9).
fn log_resolved(resolved: &Resolved, kinds: &Kinds) {
    for clamp in &resolved.clamps {
        warn!("{}", clamp_text(clamp));
    }
    for missing in &resolved.missing_kinds {
        let problem = kinds.problem(&missing.kind).unwrap_or_default();
        warn!(check = %missing.check, at = %missing.location, problem, "not probed");
    }
}
