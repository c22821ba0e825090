//! A world, a store, and hosts that heal.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::time::Duration;

use probehost_healer::ports::Probing as _;
use probehost_healer::{Ask, AskError, Healer, Settings};
use probehost_model::lifecycle::{LifecycleRecord, LifecycleState, Policy};
use probehost_model::{Check, Managed, Role, Runtime, Source, Target, Thresholds, Timestamp};
use probehost_monitor::Clock;
use probehost_monitor::ports::CheckSeen;
use probehost_store::{StoreError, StoredTarget};
use tokio::task::JoinHandle;
use tokio::time::sleep;

use crate::fakes::{BASE, Eyes, Hands, SECOND, World, millis};
use crate::shelf::{Death, Desk, Life, Shelf};

/// How often each check is probed.
pub const EVERY: Duration = Duration::from_secs(10);

pub struct Scene {
    pub world: World,
    pub shelf: Shelf,
    pub clock: Clock,
    /// For hosts that are started from now on.
    pub chance: fn() -> f64,
}

/// One host.
pub struct Host {
    pub healer: Healer<Desk, Hands, Eyes>,
    pub life: Life,
    pub eyes: Eyes,
    shelf: Shelf,
    schedule: JoinHandle<()>,
}

/// A policy without jitter.
pub fn plain() -> Policy {
    Policy { jitter: 0.0, ..Policy::default() }
}

/// A target with a liveness and a readiness check, in the container of its id.
pub fn target(id: &str, policy: Policy) -> Target {
    let check = |name: &str, role| Check {
        name: name.to_owned(),
        kind: "echo".to_owned(),
        role,
        config: Default::default(),
        interval: Some(EVERY),
        timeout: 5 * SECOND,
        thresholds: Thresholds { failure: 1, inconclusive: 1 },
    };
    Target {
        id: id.to_owned(),
        name: id.to_uppercase(),
        labels: BTreeMap::new(),
        enabled: true,
        source: Source::Api,
        updated_at: Timestamp::from_micros(1_000),
        managed: Some(Managed { runtime: Runtime::Container(id.to_owned()), policy }),
        checks: vec![check("live", Role::Liveness), check("ready", Role::Readiness)],
    }
}

pub fn seen(stored: &StoredTarget) -> Vec<CheckSeen> {
    let StoredTarget { target, records } = stored;
    let seen = |check: &Check| CheckSeen {
        id: target.check_id(check),
        target_name: target.name.clone(),
        kind: check.kind.clone(),
        config: "{}".into(),
        interval: check.interval,
        timeout: check.timeout,
        thresholds: check.thresholds,
        seen_updated_at: target.updated_at,
        managed: true,
        last_attempt_at: records.get(&check.name).and_then(|record| record.last_attempt_at),
    };
    target.checks.iter().map(seen).collect()
}

pub fn scene() -> Scene {
    let clock = Clock::driven(BASE);
    Scene { world: World::default(), shelf: Shelf::default(), clock, chance: || 0.0 }
}

/// A scene with one target, `a`, that a host has seen running.
pub async fn running(policy: Policy) -> (Scene, Host) {
    let scene = scene();
    scene.add("a", policy);
    let host = scene.host().await;
    host.until("a", LifecycleState::Running, SECOND).await;
    (scene, host)
}

impl Scene {
    /// A managed target that is up.
    pub fn add(&self, id: &str, policy: Policy) {
        self.world.add(id);
        self.shelf.add(target(id, policy));
    }

    /// A host that has taken up the targets, and probes them every [`EVERY`].
    pub async fn host(&self) -> Host {
        self.host_that(None).await
    }

    pub async fn host_that(&self, death: Option<Death>) -> Host {
        let (shelf, world, clock) = (self.shelf.clone(), self.world.clone(), self.clock);
        let life = Life::default();
        let landed = AtomicUsize::new(0);
        let desk = Desk { shelf: shelf.clone(), life: life.clone(), death, landed };
        let hands = Hands { world: world.clone(), life: life.clone() };
        let eyes = Eyes::new(world, shelf.clone(), clock, life.clone());
        let settings = Settings { clock, chance: self.chance };
        let healer = Healer::new(desk, hands, eyes.clone(), settings);
        eyes.follow(Arc::new(healer.clone()));
        let schedule = tokio::spawn(schedule(eyes.clone(), shelf.clone(), life.clone()));
        let host = Host { healer, life, eyes, shelf, schedule };
        host.sync().await.unwrap();
        host
    }

    /// The time of day, from [`BASE`].
    pub fn now(&self) -> Duration {
        self.clock.now().since(BASE)
    }

    /// Kills `a`, and waits until that is seen.
    pub async fn kill(&self, host: &Host) {
        self.world.kill("a");
        host.until("a", LifecycleState::Offline, EVERY + SECOND).await;
    }
}

async fn schedule(eyes: Eyes, shelf: Shelf, life: Life) {
    while !life.is_over() {
        let targets = shelf.targets();
        let enabled = targets.iter().filter(|stored| stored.target.enabled);
        enabled.flat_map(seen).for_each(|check| eyes.probe(Arc::new(check)));
        sleep(EVERY).await;
    }
}

impl Host {
    pub async fn sync(&self) -> Result<(), StoreError> {
        self.healer.sync(self.shelf.targets(), seen).await
    }

    pub async fn ask(&self, ask: Ask) -> Result<(), AskError> {
        self.healer.ask("a", ask, "alice").await
    }

    /// Its own view of the target.
    pub fn record(&self, target: &str) -> LifecycleRecord {
        self.healer.instance(target).expect("it is managed").record.clone()
    }

    pub fn state(&self, target: &str) -> LifecycleState {
        self.record(target).state
    }

    /// Waits until the target is in that state, at most so long.
    pub async fn until(&self, target: &str, state: LifecycleState, limit: Duration) {
        let told = || format!("{target} is not {state}: {:#?}", self.record(target));
        until(|| self.state(target) == state, limit, told).await;
    }

    /// Ends it as a crash does: whatever it is at goes no further.
    pub fn crash(self) {
        self.life.end();
        self.schedule.abort();
    }

    /// Ends its probes, and then the healer.
    pub async fn stop(&self) {
        self.schedule.abort();
        self.healer.stop().await;
    }
}

/// Waits for a condition, at most so long.
pub async fn until(is_so: impl Fn() -> bool, limit: Duration, told: impl Fn() -> String) {
    let step = millis(10);
    let mut waited = Duration::ZERO;
    while !is_so() {
        assert!(waited < limit, "after {limit:?}: {}", told());
        sleep(step).await;
        waited += step;
    }
}

/// That a wait was what it should be, but for the time that saves and timers take.
#[track_caller]
pub fn close(wait: Duration, should: Duration) {
    assert!(should <= wait && wait <= should + millis(6), "{wait:?} for {should:?}");
}
