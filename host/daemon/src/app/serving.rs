//! A running host: started from a config, stopped without losing what it knows.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use probehost_config::{Config, Database, Synchronous};
use probehost_healer::{Healer, Settings as HealerSettings};
use probehost_model::SYSTEM_PRINCIPAL;
use probehost_monitor::{Clock, Metrics, Monitor, Schedule, Settings};
use probehost_notify::{HttpWire, Metrics as NotifyMetrics, Notifier, Options as NotifyOptions};
use probehost_store::{Location, Options as StoreOptions, Store, StoreError};
use prometheus_client::registry::Registry;
use tokio::net::TcpListener;
use tokio::sync::{Mutex, Notify};
use tokio::task::JoinHandle;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tracing::warn;

use super::healing::{Restarts, take_up};
use super::housekeeping::{Keep, tidy_up};
use super::listing::StoreListing;
use super::notifying::{Followers, HostNotifier, host_name};
use super::parts::{HostHealer, HostMonitor, HostSchedule};
use super::reloading::{Look, ReloadState, Reloader};
use super::rolling::{keep_rollups, write_down};
use super::saving::{log_resolved, save};
use super::set_back::bring_back;
use super::{AppError, Kinds, Known, SandboxProber, Saver, Setup};
use crate::api::access::Gate;
use crate::api::{self, Api, Streams};
use crate::server::{self, Certificates};

/// How long a client may take to read its last answer when the host stops.
const LAST_ANSWERS: Duration = Duration::from_secs(5);

/// A running host.
pub(crate) struct Host {
    store: Store,
    monitor: HostMonitor,
    schedule: Arc<HostSchedule>,
    healer: HostHealer,
    notifier: HostNotifier,
    saver: Arc<Saver>,
    reloader: Arc<Reloader>,
    reloading: JoinHandle<()>,
    housekeeping: JoinHandle<()>,
    /// Takes up a renewed certificate.
    watching: Option<JoinHandle<()>>,
    rolling: JoinHandle<()>,
    api: JoinHandle<()>,
    /// Ends the reloading first, and the API when nothing is left to answer.
    stop: CancellationToken,
    api_stop: CancellationToken,
    address: SocketAddr,
    tls: bool,
}

impl Host {
    /// Starts everything that the config of `path` asks for, and takes up later changes of it.
    /// Nothing is left running on an error.
    pub(crate) async fn start(path: &Path, config: Config) -> Result<Self, AppError> {
        // Compiling plugins takes a while, and the files can change meanwhile.
        let taken_up = Look::at(path, config.plugins.directory.as_deref());
        // First what needs no other: a second host on the same port changes nothing.
        let listen = config.server.listen;
        let taken = |error| AppError::Listen { address: listen, error };
        let listener = TcpListener::bind(listen).await.map_err(taken)?;
        let address = listener.local_addr().map_err(taken)?;

        let certificates = config.server.tls.as_ref().map(Certificates::load).transpose()?;
        let acceptor = certificates.as_ref().map(Certificates::acceptor).transpose()?;
        let setup = Setup::of(&config);
        let kinds = Arc::new(Kinds::load(&setup).await?);
        let resolved = kinds.resolve(&config);
        if !resolved.errors.is_empty() {
            return Err(resolved.errors.into());
        }
        log_resolved(&resolved, &kinds);
        let catalog = Arc::clone(kinds.catalog());
        let capabilities = setup.capabilities()?;
        let prober = Arc::new(SandboxProber::new(Arc::clone(&kinds), capabilities.clone()));
        let runtimes = setup.runtimes()?;
        let pool_ttl = config.lifecycle.pool_ttl;
        let keep = Keep::of(&config.history);

        let store = Store::open(store_options(&config)?).await?;
        let clock = Clock::System;
        // Before anything is written: a host that may not serve leaves the database as it was.
        let opened = async {
            let gate = Gate::open(store.clone(), clock, address).await?;
            if address.ip().is_loopback() || gate.has_active_token() {
                return Ok(gate);
            }
            Err(AppError::NoTokens { address })
        };
        let gate = match opened.await {
            Ok(gate) => gate,
            Err(error) => {
                store.close().await;
                return Err(error);
            }
        };
        let saved = async {
            bring_back(&store, clock).await?;
            save(&store, &prober, resolved.targets, clock, SYSTEM_PRINCIPAL).await
        };
        let saved = match saved.await {
            Ok(saved) => saved,
            Err(error) => {
                store.close().await;
                return Err(error.into());
            }
        };
        if certificates.is_none() && !address.ip().is_loopback() {
            warn!(%address, "the API is served without TLS: whoever is on the way reads tokens along; set [server.tls], or let a proxy that speaks TLS stand before it");
        }
        let metrics = Metrics::default();
        metrics.records_reset(saved.reset.len());
        let mut registry = Registry::with_prefix("probehost");
        metrics.register(&mut registry);
        gate.register(&mut registry);
        let notify_metrics = NotifyMetrics::default();
        notify_metrics.register(&mut registry);

        let concurrency = usize::try_from(config.probes.concurrency).unwrap_or(usize::MAX);
        let settings = Settings { concurrency, clock };
        let monitor = Monitor::new(prober, store.clone(), settings, metrics.clone());
        let known = Known::default();
        let windows = monitor.windows().clone();
        let rollups = monitor.rollups().clone();
        let listing =
            StoreListing { store: store.clone(), known: known.clone(), windows, rollups, clock };
        let restarts = Restarts(runtimes);
        let healer =
            Healer::new(store.clone(), restarts, monitor.clone(), HealerSettings::new(clock));
        let options = NotifyOptions { clock, metrics: notify_metrics, host: host_name() };
        let wire = HttpWire::new(capabilities, setup.secrets(), setup.root_files.clone());
        let notifier = Notifier::new(store.clone(), wire, config.notify.clone(), options);
        // Before the first probe, so that none of its results is missed.
        let followers = Followers { healer: healer.clone(), notifier: notifier.clone() };
        monitor.follow(Arc::new(followers));
        let taken_up_targets = async { take_up(&healer, store.targets().await?).await };
        if let Err(error) = taken_up_targets.await {
            store.close().await;
            return Err(error.into());
        }
        notifier.start();
        let schedule = Arc::new(Schedule::new(monitor.clone(), listing));
        schedule.start().await;

        let saver = Arc::new(Saver {
            current: Mutex::new(config),
            kinds,
            store: store.clone(),
            monitor: monitor.clone(),
            schedule: Arc::clone(&schedule),
            healer: healer.clone(),
            tasks: TaskTracker::new(),
            metrics,
        });
        let state = ReloadState::default();
        let reloader = Arc::new(Reloader {
            path: path.to_owned(),
            saver: Arc::clone(&saver),
            notifier: notifier.clone(),
            asked: Notify::new(),
            state: state.clone(),
        });
        let stop = CancellationToken::new();
        let reloading = tokio::spawn(Arc::clone(&reloader).watch(taken_up, stop.clone()));

        let rollups = monitor.rollups().clone();
        let rolling = tokio::spawn(keep_rollups(rollups, store.clone(), clock, stop.clone()));
        let housekeeping = tokio::spawn(tidy_up(store.clone(), clock, keep, stop.clone()));

        let api_stop = CancellationToken::new();
        let watching =
            certificates.clone().map(|certificates| tokio::spawn(certificates.watch(stop.clone())));
        let tls = acceptor.is_some();
        let api = Api {
            gate,
            tls,
            store: store.clone(),
            monitor: monitor.clone(),
            catalog,
            saver: Arc::clone(&saver),
            healer: healer.clone(),
            notifier: notifier.clone(),
            pool_ttl,
            streams: Streams::new(api_stop.clone()),
            known,
            reload: state,
            registry: Arc::new(registry),
        };
        let router = api::router(api);
        let api = tokio::spawn(server::serve(listener, acceptor, router, api_stop.clone()));
        Ok(Self {
            store,
            monitor,
            schedule,
            healer,
            notifier,
            saver,
            reloader,
            reloading,
            housekeeping,
            watching,
            rolling,
            api,
            stop,
            api_stop,
            address,
            tls,
        })
    }

    /// Where the page and the API are served.
    pub(crate) fn url(&self) -> String {
        format!("{}://{}", if self.tls { "https" } else { "http" }, self.address)
    }

    /// Takes up the config file and the plugin files as they are now.
    pub(crate) fn reload(&self) {
        self.reloader.asked.notify_one();
    }

    /// Ends the schedule, waits for restarts that are under way, cancels the probes that have no
    /// result yet, records those that have, finishes the answers of the API, and closes the store
    /// (contract S8).
    pub(crate) async fn stop(self) -> Result<(), AppError> {
        self.stop.cancel();
        let reloading = self.reloading.await;
        let housekeeping = self.housekeeping.await;
        let watching = match self.watching {
            Some(task) => task.await,
            None => Ok(()),
        };
        let rolling = self.rolling.await;
        self.saver.tasks.close();
        self.saver.tasks.wait().await;
        self.schedule.stop().await;
        self.healer.stop().await;
        self.monitor.stop().await;
        write_down(self.monitor.rollups(), &self.store).await;
        // The last: what was just recorded is told, now or after the next start.
        self.notifier.stop().await;
        self.api_stop.cancel();
        let mut api = self.api;
        let ended = timeout(LAST_ANSWERS, &mut api).await;
        api.abort();
        self.store.close().await;
        let failed = |error| AppError::Api(std::io::Error::other(error));
        reloading.map_err(failed)?;
        housekeeping.map_err(failed)?;
        watching.map_err(failed)?;
        rolling.map_err(failed)?;
        match ended {
            Ok(ended) => ended.map_err(failed),
            // A client that does not read is no reason to stay.
            Err(_) => Ok(()),
        }
    }
}

/// Where the records are and how they are kept.
pub(crate) fn store_options(config: &Config) -> Result<StoreOptions, StoreError> {
    let location = match &config.store.database {
        Database::File(path) => Location::file(path),
        Database::Server(url) => url.expose().parse()?,
    };
    let mut options = StoreOptions::at(location);
    options.synchronous = match config.store.synchronous {
        Synchronous::Normal => probehost_store::Synchronous::Normal,
        Synchronous::Full => probehost_store::Synchronous::Full,
    };
    Ok(options)
}
