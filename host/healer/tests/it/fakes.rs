//! A world of targets, and the hands and eyes that a host has in it.

use std::collections::{BTreeMap, HashSet};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use probehost_healer::ports::{Probing, Restarter};
use probehost_model::{CheckId, Observation, Outcome, Reason, Runtime, Timestamp};
use probehost_monitor::Clock;
use probehost_monitor::ports::{CheckSeen, Follower, Landed};
use tokio::time::{Instant, sleep};

use crate::shelf::{Life, Shelf};

/// 2025-11-29, somewhere in the evening.
pub const BASE: Timestamp = Timestamp::from_micros(1_764_456_769_000_000);
pub const SECOND: Duration = Duration::from_secs(1);
/// How long a probe takes.
pub const LOOK: Duration = Duration::from_millis(5);

pub const fn millis(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

/// What a restart of a target does.
#[derive(Debug, Clone)]
pub struct Habits {
    /// How long the call takes.
    pub takes: Duration,
    /// The call never answers.
    pub hangs: bool,
    /// The call answers with this.
    pub fails: Option<&'static str>,
    /// From the end of the call until it is live; none: it stays down.
    pub live_in: Option<Duration>,
    /// From the end of the call until it is ready.
    pub ready_in: Duration,
    /// From when it is live until it dies again; none: it lives.
    pub lives: Option<Duration>,
}

impl Default for Habits {
    fn default() -> Self {
        Self {
            takes: millis(300),
            hangs: false,
            fails: None,
            live_in: Some(millis(500)),
            ready_in: millis(700),
            lives: None,
        }
    }
}

/// A target in the world.
#[derive(Debug, Clone)]
struct Thing {
    live_from: Option<Instant>,
    ready_from: Option<Instant>,
    dies_at: Option<Instant>,
    habits: Habits,
}

#[derive(Default)]
struct Things {
    things: BTreeMap<String, Thing>,
    /// Nothing can be seen.
    fog: bool,
    calls: Vec<(String, Instant)>,
    given_up: usize,
    under_way: usize,
    probes: Vec<(CheckId, Instant)>,
}

/// Every target by the name of its container, and what was done to it.
#[derive(Clone)]
pub struct World(Arc<Mutex<Things>>, Instant);

impl Default for World {
    fn default() -> Self {
        Self(Arc::default(), Instant::now())
    }
}

impl World {
    fn with<T>(&self, change: impl FnOnce(&mut Things) -> T) -> T {
        change(&mut self.0.lock().unwrap())
    }

    fn thing<T>(&self, name: &str, change: impl FnOnce(&mut Thing) -> T) -> T {
        self.with(|all| change(all.things.get_mut(name).expect("a thing of that name")))
    }

    /// One that is live and ready.
    pub fn add(&self, name: &str) {
        let now = Some(Instant::now());
        let habits = Habits::default();
        let thing = Thing { live_from: now, ready_from: now, dies_at: None, habits };
        self.with(|all| all.things.insert(name.to_owned(), thing));
    }

    pub fn habits(&self, name: &str, habits: Habits) {
        self.thing(name, |thing| thing.habits = habits);
    }

    pub fn kill(&self, name: &str) {
        self.thing(name, |thing| (thing.live_from, thing.ready_from) = (None, None));
    }

    pub fn revive(&self, name: &str) {
        let now = Some(Instant::now());
        self.thing(name, |t| (t.live_from, t.ready_from, t.dies_at) = (now, now, None));
    }

    pub fn unready(&self, name: &str) {
        self.thing(name, |thing| thing.ready_from = None);
    }

    pub fn fog(&self, fog: bool) {
        self.with(|all| all.fog = fog);
    }

    /// When it was restarted, from the start of the world.
    pub fn calls(&self, name: &str) -> Vec<Duration> {
        let of = |all: &mut Things| {
            let mine = all.calls.iter().filter(|(called, _)| called == name);
            mine.map(|(_, at)| at.duration_since(self.1)).collect()
        };
        self.with(of)
    }

    pub fn all_calls(&self) -> usize {
        self.with(|all| all.calls.len())
    }

    /// Calls that were dropped before they answered.
    pub fn given_up(&self) -> usize {
        self.with(|all| all.given_up)
    }

    pub fn under_way(&self) -> usize {
        self.with(|all| all.under_way)
    }

    /// When a check was probed, from the start of the world.
    pub fn probes(&self, target: &str, check: &str) -> Vec<Duration> {
        let id = CheckId::new(target, check);
        self.with(|all| {
            let mine = all.probes.iter().filter(|(probed, _)| *probed == id);
            mine.map(|(_, at)| at.duration_since(self.1)).collect()
        })
    }

    pub fn is_live(&self, name: &str) -> bool {
        self.look(name, false) == Outcome::Pass
    }

    fn look(&self, name: &str, readiness: bool) -> Outcome {
        let now = Instant::now();
        self.with(|all| {
            if all.fog {
                return Outcome::inconclusive("the engine is gone");
            }
            let Some(thing) = all.things.get(name) else {
                return Outcome::fail(Reason::Stopped, "no such thing");
            };
            let dead = thing.dies_at.is_some_and(|at| at <= now);
            let from = if readiness { thing.ready_from } else { thing.live_from };
            match from.filter(|from| *from <= now && !dead) {
                Some(_) => Outcome::Pass,
                None if readiness => Outcome::fail(Reason::Answer, "not ready"),
                None => Outcome::fail(Reason::Stopped, "exited"),
            }
        })
    }

    /// What a call does to the target. It does it also when nobody waits for the answer.
    fn shake(&self, name: &str) -> Habits {
        let now = Instant::now();
        self.with(|all| {
            all.calls.push((name.to_owned(), now));
            let thing = all.things.get_mut(name).expect("a thing of that name");
            let habits = thing.habits.clone();
            let works = habits.fails.is_none() && !habits.hangs;
            let end = now + habits.takes;
            let live = habits.live_in.filter(|_| works).map(|after| end + after);
            thing.live_from = live;
            thing.ready_from = live.map(|_| end + habits.ready_in);
            thing.dies_at = live.and_then(|live| habits.lives.map(|lives| live + lives));
            habits
        })
    }
}

/// The hands of one host.
pub struct Hands {
    pub world: World,
    pub life: Life,
}

/// Notes a call that is dropped without an answer.
struct Hold(World, bool);

impl Drop for Hold {
    fn drop(&mut self) {
        self.0.with(|all| {
            all.under_way -= 1;
            all.given_up += usize::from(!self.1);
        });
    }
}

impl Restarter for Hands {
    async fn restart(&self, runtime: &Runtime, _limit: Duration) -> Result<(), String> {
        let (Runtime::Container(name) | Runtime::Command(name)) = runtime;
        self.life.or_dead().await;
        let habits = self.world.shake(name);
        self.world.with(|all| all.under_way += 1);
        let mut hold = Hold(self.world.clone(), false);
        if habits.hangs {
            std::future::pending::<()>().await;
        }
        sleep(habits.takes).await;
        hold.1 = true;
        habits.fails.map_or(Ok(()), |text| Err(text.to_owned()))
    }
}

/// The eyes of one host: probes, records, and tells who follows, as the monitor does.
#[derive(Clone)]
pub struct Eyes(Arc<Sight>);

pub struct Sight {
    pub world: World,
    pub shelf: Shelf,
    pub clock: Clock,
    pub life: Life,
    pub flights: Mutex<HashSet<CheckId>>,
    pub follower: OnceLock<Arc<dyn Follower>>,
}

impl Eyes {
    pub fn new(world: World, shelf: Shelf, clock: Clock, life: Life) -> Self {
        let (flights, follower) = (Mutex::default(), OnceLock::new());
        Self(Arc::new(Sight { world, shelf, clock, life, flights, follower }))
    }

    pub fn follow(&self, follower: Arc<dyn Follower>) {
        assert!(self.0.follower.set(follower).is_ok());
    }

    /// How many probes are under way.
    pub fn in_flight(&self) -> usize {
        self.0.flights.lock().unwrap().len()
    }

    async fn look(&self, check: Arc<CheckSeen>) {
        let Sight { world, shelf, clock, life, flights, follower } = &*self.0;
        // It has to be admitted first.
        sleep(millis(1)).await;
        let began = clock.now();
        sleep(LOOK).await;
        flights.lock().unwrap().remove(&check.id);
        if life.is_over() {
            return;
        }
        let outcome = world.look(&check.id.target, check.id.check == "ready");
        let seen = Observation {
            at: clock.now(),
            subject: check.id.target.clone(),
            outcome: outcome.clone(),
        };
        let landed = shelf.observe(&check, &seen);
        if let (Some(record), Some(follower)) = (landed, follower.get()) {
            follower.landed(Landed { check, began, outcome, record });
        }
    }
}

impl Probing for Eyes {
    fn probe(&self, check: Arc<CheckSeen>) {
        if self.0.life.is_over() || !self.0.flights.lock().unwrap().insert(check.id.clone()) {
            return;
        }
        self.0.world.with(|all| all.probes.push((check.id.clone(), Instant::now())));
        let eyes = self.clone();
        tokio::spawn(async move { eyes.look(check).await });
    }
}
