//! HEAD probes on a connection each, 16 in flight: through the whole host, through parts of
//! it, and by native reqwest, in turns.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use probehost::{Kinds, Planned, SandboxProber, Setup};
use probehost_capability::http::Request;
use probehost_capability::resolve::Resolver;
use probehost_capability::{Capabilities, Options, Run};
use probehost_model::grant::Grants;
use probehost_monitor::ports::{CheckSeen, Prober, Recorder};
use probehost_monitor::{Clock, Launch, Metrics, Monitor, Settings};
use probehost_store::{Recorded, Store, StoreError, Write};
use tokio::runtime::Builder;
use tokio::sync::Semaphore;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::cost::{self, Meter};
use crate::fleet::{self, KIND, TARGETS};
use crate::upstream::Upstream;
use crate::{Failed, report};

/// Probes in flight.
pub(crate) const IN_FLIGHT: usize = 16;
/// Probes of one turn.
const PROBES: usize = 4_000;
/// Turns of each.
const ROUNDS: usize = 5;

const AIM_RATIO: f64 = 1.5;

/// How a probe is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Way {
    /// By reqwest, without any of the host.
    Native,
    /// By the http capability alone.
    Capability,
    /// In the sandbox, without a record.
    Sandbox,
    /// As the host does it: permit, sandbox, durable record.
    Host,
}

const WAYS: [Way; 4] = [Way::Native, Way::Capability, Way::Sandbox, Way::Host];

pub(crate) fn bench() -> Result<(), Failed> {
    report::part("HEAD probes, a new connection each, 16 in flight");
    let upstream = Upstream::start()?;
    Builder::new_multi_thread().enable_all().build()?.block_on(compare(&upstream.url()))
}

async fn compare(url: &str) -> Result<(), Failed> {
    let (store, _folder) = fleet::store(url).await?;
    let ways = Arc::new(Ways::new(url, &store).await?);
    for way in WAYS {
        // Every plan is made, and every record is there, as after the first minute of a host.
        ways.turn(way, TARGETS).await?;
    }
    let mut costs: HashMap<Way, Vec<f64>> = HashMap::new();
    let mut wall: HashMap<Way, Vec<f64>> = HashMap::new();
    for round in 0..ROUNDS {
        for step in 0..WAYS.len() {
            // Another one comes first in each round.
            let Some(way) = WAYS.get((step + round) % WAYS.len()) else { continue };
            let meter = Meter::start(cost::own)?;
            ways.turn(*way, PROBES).await?;
            let cost = meter.stop()?;
            costs.entry(*way).or_default().push(cost.micros_each(PROBES));
            wall.entry(*way).or_default().push(cost.a_second(PROBES));
        }
    }
    let of = |way| costs.get(&way).cloned().unwrap_or_default();
    let ratio = |way: Way| {
        report::median(
            of(way).iter().zip(of(Way::Native)).map(|(one, other)| one / other).collect(),
        )
    };
    for (way, what) in [
        (Way::Native, "native reqwest"),
        (Way::Capability, "the http capability alone"),
        (Way::Sandbox, "and the sandbox"),
        (Way::Host, "and the durable record: the whole host"),
    ] {
        let rate = report::median(wall.get(&way).cloned().unwrap_or_default());
        let (cpu, ratio) = (report::median(of(way)), ratio(way));
        let value = format!("{cpu:5.1} ms   {ratio:.2} ×   {rate:5.0} a second");
        report::figure(&format!("CPU of 1,000, {what}"), &value);
    }
    report::below("the whole host to native reqwest", ratio(Way::Host), AIM_RATIO, "×");
    ways.monitor.stop().await;
    store.close().await;
    Ok(())
}

/// All that the ways need.
struct Ways {
    client: reqwest::Client,
    url: String,
    capabilities: Capabilities,
    grants: Arc<Grants>,
    prober: Arc<SandboxProber>,
    monitor: Monitor<Arc<SandboxProber>, Landing>,
    places: Arc<Semaphore>,
    checks: Vec<Arc<CheckSeen>>,
}

impl Ways {
    async fn new(url: &str, store: &Store) -> Result<Self, Failed> {
        let client = reqwest::Client::builder().pool_max_idle_per_host(0).no_proxy().build()?;
        let setup = Setup { concurrency: 16, ..Setup::default() };
        let kinds = Arc::new(Kinds::load(&setup).await?);
        let prober = Arc::new(kinds.prober(&setup)?);
        let resolver = Resolver::with_servers(&[([127, 0, 0, 1], 53).into()])?;
        let options = Options { resolver, system_roots: false, root_files: Vec::new() };
        let checks = fleet::checks(store).await?;
        let config = &checks.first().ok_or("there is no check")?.config;
        let planned = prober.plan(KIND, config).await.ok_or("http-head did not load")?;
        let Planned::Ready { grants, .. } = &*planned else {
            return Err(format!("the plan came to {planned:?}").into());
        };
        let places = Arc::new(Semaphore::new(IN_FLIGHT));
        let landing = Landing { store: store.clone(), places: Arc::clone(&places) };
        let settings = Settings { concurrency: IN_FLIGHT, clock: Clock::System };
        let monitor = Monitor::new(Arc::clone(&prober), landing, settings, Metrics::default());
        Ok(Self {
            client,
            url: format!("{url}/health/0"),
            capabilities: Capabilities::new(options)?,
            grants: Arc::clone(grants),
            prober,
            monitor,
            places,
            checks,
        })
    }

    async fn turn(self: &Arc<Self>, way: Way, probes: usize) -> Result<(), Failed> {
        if way == Way::Host {
            return self.launch(probes).await;
        }
        let mut tasks = Vec::new();
        for first in 0..IN_FLIGHT {
            let ways = Arc::clone(self);
            tasks.push(tokio::spawn(async move {
                for number in (first..probes).step_by(IN_FLIGHT) {
                    match way {
                        Way::Native => ways.native().await?,
                        Way::Capability => ways.capability().await?,
                        Way::Sandbox | Way::Host => ways.sandbox(number).await?,
                    }
                }
                Ok::<(), Failed>(())
            }));
        }
        for task in tasks {
            task.await??;
        }
        Ok(())
    }

    async fn native(&self) -> Result<(), Failed> {
        let answer = self.client.head(&self.url).send().await?;
        answer.error_for_status()?;
        Ok(())
    }

    async fn capability(&self) -> Result<(), Failed> {
        let run = Run::new(KIND, Arc::clone(&self.grants), deadline());
        let request = Request {
            method: "HEAD".to_owned(),
            url: self.url.clone(),
            headers: Vec::new(),
            body: None,
            redirects: 0,
            body_limit: 0,
        };
        self.capabilities.http().send(&run, request).await.map_err(|error| error.message)?;
        Ok(())
    }

    async fn sandbox(&self, number: usize) -> Result<(), Failed> {
        let check = self.check(number)?;
        let evidence = self.prober.probe(check, deadline(), &CancellationToken::new()).await;
        match evidence {
            Ok(evidence) if evidence.outcome.as_str() == "pass" => Ok(()),
            other => Err(format!("a probe came to {other:?}").into()),
        }
    }

    /// Scheduled probes, as many at a time as the others have: the next when one is recorded.
    async fn launch(&self, probes: usize) -> Result<(), Failed> {
        for number in 0..probes {
            self.places.acquire().await?.forget();
            let check = Arc::clone(self.check(number)?);
            let launched = self.monitor.launch(check, Instant::now());
            if launched != Launch::Started {
                return Err(format!("a probe was not started: {launched:?}").into());
            }
        }
        let all = u32::try_from(IN_FLIGHT)?;
        drop(self.places.acquire_many(all).await?);
        Ok(())
    }

    fn check(&self, number: usize) -> Result<&Arc<CheckSeen>, Failed> {
        Ok(self.checks.get(number % TARGETS).ok_or("there are too few checks")?)
    }
}

fn deadline() -> Instant {
    Instant::now() + Duration::from_secs(10)
}

/// The store, telling when an observation has landed.
struct Landing {
    store: Store,
    places: Arc<Semaphore>,
}

impl Recorder for Landing {
    async fn record(&self, write: Write) -> Result<Recorded, StoreError> {
        let passed = write.observation.outcome.as_str() == "pass";
        let recorded = self.store.record(write).await?;
        if passed && matches!(recorded, Recorded::Applied { .. }) {
            self.places.add_permits(1);
        } else {
            // Whoever waits for it learns that way.
            self.places.close();
        }
        Ok(recorded)
    }
}
