//! What is told of which events, as tables: a line for each thing that happens, and what is told.

use std::time::Duration;

use probehost_model::lifecycle::Policy;
use probehost_model::notify::{
    Maintenance, MaintenanceTime, Rule, Selection, Sink, SinkKind, SinkText,
};
use probehost_model::{Check, CheckId, Managed, Role, Runtime, Source, Thresholds};
use serde_json::json;

use super::*;

fn at(second: i64) -> Timestamp {
    Timestamp::from_micros(second * 1_000_000)
}

fn target(id: &str) -> Target {
    let check = |name: &str, kind: &str| Check {
        name: name.into(),
        kind: kind.into(),
        role: Role::Liveness,
        config: json!({}),
        interval: None,
        timeout: Duration::from_secs(10),
        thresholds: Thresholds { failure: 2, inconclusive: 2 },
    };
    let runtime = Runtime::Container("c".into());
    Target {
        id: id.into(),
        name: format!("The {id}"),
        labels: BTreeMap::from([("team".into(), "sales".into())]),
        enabled: true,
        source: Source::File,
        updated_at: at(0),
        managed: Some(Managed { runtime, policy: Policy::default() }),
        checks: vec![check("head", "http-head"), check("ssh", "ssh-handshake")],
    }
}

fn sink(kind: SinkKind) -> Sink {
    let url = SinkText::Text("http://127.0.0.1:1/x".into());
    Sink { kind, url, signing_key: None, rate: 10.0, from: String::new(), to: Vec::new() }
}

fn rule(sinks: &[&str]) -> Rule {
    Rule {
        sinks: sinks.iter().map(|name| (*name).to_owned()).collect(),
        of: Selection::default(),
        kinds: Vec::new(),
        states: ProblemState::DEFAULT.to_vec(),
        repeat: None,
    }
}

fn settings(rules: Vec<Rule>) -> Settings {
    let sinks = ["chat", "mail"].map(|name| (name.to_owned(), sink(SinkKind::Webhook)));
    Settings { sinks: sinks.into(), rules, ..Settings::default() }
}

/// A planner and the world that it plans for.
struct World {
    planner: Planner,
    settings: Settings,
    detector: Detector,
    events: i64,
    now: i64,
    targets: BTreeMap<String, Target>,
}

impl World {
    fn new(settings: Settings) -> Self {
        let state = NotifyState { revision: 1, cursor: 0, problems: Vec::new() };
        Self {
            planner: Planner::load(state, at(0)),
            settings,
            detector: Detector::default(),
            events: 0,
            now: 100,
            targets: [("web", target("web")), ("db", target("db"))]
                .map(|(id, target)| (id.to_owned(), target))
                .into(),
        }
    }

    fn plain() -> Self {
        Self::new(settings(vec![rule(&["chat"])]))
    }

    /// One pass over these events; gives what is told, as `sink kind target/check from→to`.
    fn pass(&mut self, changes: Vec<(&str, Change)>) -> Vec<String> {
        let events: Vec<ChangeEvent> = changes
            .into_iter()
            .map(|(target, change)| {
                self.events += 1;
                let (id, target) = (self.events, target.to_owned());
                ChangeEvent { id, at: at(self.now), target, change }
            })
            .collect();
        let before = self.planner.cursor();
        self.planner.drop_sinks(&self.settings);
        for id in self.planner.unknown_of(&events) {
            let found = self.targets.get(&id).cloned();
            self.planner.know(id, found);
        }
        let context =
            Context { settings: &self.settings, detector: &self.detector, now: at(self.now) };
        self.planner.take_up(&events, &context);
        self.planner.settle(&context);
        let Some(plan) = self.planner.plan(before, at(self.now)) else { return Vec::new() };
        assert_eq!(plan.cursor, self.events);
        self.planner.landed();
        plan.deliveries.iter().map(shown).collect()
    }

    fn later(&mut self, seconds: i64) -> Vec<String> {
        self.now += seconds;
        self.pass(Vec::new())
    }

    /// As a host does that was killed: with what is stored alone.
    fn restart(&mut self) {
        let problems = self.planner.problems.iter().map(|(key, problem)| ProblemRow {
            key: key.clone(),
            data: serde_json::to_string(problem).unwrap(),
        });
        let state = NotifyState {
            revision: self.planner.revision,
            cursor: self.planner.cursor,
            problems: problems.collect(),
        };
        self.planner = Planner::load(state, at(self.now));
        self.detector = Detector::default();
    }

    fn saw(&mut self, target: &str, reason: Option<Reason>) {
        let check = CheckId::new(target, "head");
        let times = (at(self.now), at(self.now));
        self.detector.saw(&check, reason, times, Duration::from_secs(40));
    }
}

fn shown(new: &NewDelivery) -> String {
    let told: Notification = serde_json::from_str(&new.message).unwrap();
    assert_eq!(told.kind, new.kind);
    let target = told.target.unwrap_or_else(|| "many".into());
    let check = told.check.map(|check| format!("/{check}")).unwrap_or_default();
    format!("{} {} {target}{check} {}→{}", new.key.sink, told.kind, told.from, told.to)
}

fn status(from: Status, to: Status) -> Change {
    let failed = to == Status::Unhealthy;
    Change::Status {
        check: "head".into(),
        from,
        to,
        reason: failed.then_some(Reason::Network),
        message: if failed { "refused".into() } else { String::new() },
        streak: 2,
    }
}

fn lifecycle(from: LifecycleState, to: LifecycleState) -> Change {
    Change::Lifecycle { from, to, reason: None, message: String::new(), failures: 0, attempt: None }
}

const DOWN: fn() -> Change = || status(Status::Healthy, Status::Unhealthy);
const UP: fn() -> Change = || status(Status::Unhealthy, Status::Healthy);
const PROBLEM: &str = "chat problem web/head healthy→unhealthy";
const RECOVERY: &str = "chat recovery web/head unhealthy→healthy";

/// E5: a problem is told once, a recovery follows it, and what is well from the start is none.
#[test]
fn a_problem_and_its_recovery() {
    let mut world = World::plain();
    assert_eq!(world.pass(vec![("web", status(Status::Unknown, Status::Healthy))]), [""; 0]);
    assert_eq!(world.pass(vec![("web", DOWN())]), [PROBLEM]);
    assert_eq!(world.pass(vec![("web", status(Status::Unhealthy, Status::Unhealthy))]), [""; 0]);
    assert_eq!(world.later(86_400), [""; 0], "no reminders unless asked for");
    assert_eq!(world.pass(vec![("web", UP())]), [RECOVERY]);
    // All in one pass, as after a while without the store.
    let both = vec![("web", DOWN()), ("db", DOWN()), ("web", UP()), ("web", DOWN())];
    assert_eq!(
        world.pass(both),
        [PROBLEM, RECOVERY, "chat problem db/head healthy→unhealthy", PROBLEM]
    );
}

/// E5: what was planned before a crash is not planned again, and what was not, is.
#[test]
fn a_restart_tells_nothing_twice() {
    let mut world = World::plain();
    assert_eq!(world.pass(vec![("web", DOWN())]), [PROBLEM]);
    world.restart();
    assert_eq!(world.later(1), [""; 0]);
    assert_eq!(world.pass(vec![("web", UP())]), [RECOVERY]);
}

/// E5: labels, ids, kinds and states select; every rule that fits counts, each sink once.
#[test]
fn rules_select() {
    let unknown = status(Status::Healthy, Status::Unknown);
    let of = |labels: &[(&str, &str)], targets: &[&str]| Selection {
        labels: labels.iter().map(|(key, value)| ((*key).into(), (*value).into())).collect(),
        targets: targets.iter().map(|id| (*id).into()).collect(),
    };
    let plain = || rule(&["chat"]);
    for (name, rules, change, told) in [
        ("label", vec![Rule { of: of(&[("team", "sales")], &[]), ..plain() }], DOWN(), 1),
        ("other label", vec![Rule { of: of(&[("team", "x")], &[]), ..plain() }], DOWN(), 0),
        ("id", vec![Rule { of: of(&[], &["web"]), ..plain() }], DOWN(), 1),
        ("other id", vec![Rule { of: of(&[], &["db"]), ..plain() }], DOWN(), 0),
        ("kind", vec![Rule { kinds: vec!["http-head".into()], ..plain() }], DOWN(), 1),
        ("other kind", vec![Rule { kinds: vec!["ssh-handshake".into()], ..plain() }], DOWN(), 0),
        ("state", vec![plain()], unknown.clone(), 0),
        ("asked state", vec![Rule { states: vec![ProblemState::Unknown], ..plain() }], unknown, 1),
        ("twice", vec![plain(), rule(&["chat", "mail"])], DOWN(), 2),
        ("no such sink", vec![rule(&["gone"])], DOWN(), 0),
        (
            "lifecycle by kind",
            vec![Rule { kinds: vec!["ssh-handshake".into()], ..plain() }],
            lifecycle(LifecycleState::Running, LifecycleState::Offline),
            1,
        ),
    ] {
        let mut world = World::new(settings(rules));
        assert_eq!(world.pass(vec![("web", change)]).len(), told, "{name}");
    }
}

/// E5: a managed target is offline until it runs again, whatever comes between.
#[test]
fn a_lifecycle() {
    use LifecycleState::{Offline, Quarantined, Restarting, Running};
    let mut world = World::plain();
    let told = world.pass(vec![
        ("web", lifecycle(Running, Offline)),
        ("web", lifecycle(Offline, Restarting)),
        ("web", lifecycle(Restarting, Offline)),
        ("web", lifecycle(Offline, Restarting)),
    ]);
    assert_eq!(told, ["chat problem web running→offline"]);
    let told = world.pass(vec![("web", lifecycle(Restarting, Quarantined))]);
    assert_eq!(told, ["chat problem web offline→quarantined"]);
    let released = vec![("web", lifecycle(Quarantined, Restarting))];
    assert_eq!(world.pass(released), [""; 0]);
    let told = world.pass(vec![("web", lifecycle(Restarting, Running))]);
    assert_eq!(told, ["chat recovery web quarantined→running"]);
}

/// E5: reminders while it lasts; the more often of two rules.
#[test]
fn reminders() {
    let every = |seconds| Rule { repeat: Some(Duration::from_secs(seconds)), ..rule(&["chat"]) };
    let mut world = World::new(settings(vec![every(600), every(300)]));
    assert_eq!(world.pass(vec![("web", DOWN())]), [PROBLEM]);
    assert_eq!(world.later(299), [""; 0]);
    let reminder = "chat reminder web/head healthy→unhealthy";
    assert_eq!(world.later(1), [reminder]);
    world.restart();
    assert_eq!(world.later(299), [""; 0]);
    assert_eq!(world.later(1), [reminder]);
    assert_eq!(world.pass(vec![("web", UP())]), [RECOVERY]);
    assert_eq!(world.later(3000), [""; 0]);
}

/// E5: what is not watched any more is not told of.
#[test]
fn what_is_gone() {
    let changed = |outcome: &str| Change::Target { outcome: outcome.into() };
    let mut world = World::plain();
    assert_eq!(world.pass(vec![("web", DOWN())]), [PROBLEM]);
    world.targets.get_mut("web").unwrap().checks.retain(|check| check.name != "head");
    assert_eq!(world.pass(vec![("web", changed("changed"))]), [""; 0]);
    assert!(world.planner.problems.is_empty());
    assert_eq!(world.pass(vec![("db", DOWN())]).len(), 1);
    world.targets.remove("db");
    assert_eq!(world.pass(vec![("db", changed("deleted"))]), [""; 0]);
    assert!(world.planner.problems.is_empty());

    // A sink that is taken out, and comes back.
    let mut world = World::plain();
    world.pass(vec![("web", DOWN())]);
    let kept = world.settings.sinks.remove("chat").unwrap();
    assert_eq!(world.later(1), [""; 0]);
    world.settings.sinks.insert("chat".into(), kept);
    assert_eq!(world.pass(vec![("web", UP())]), [""; 0], "it was told of no problem");
}

/// E5: in a maintenance window problems are not told; one that still stands at its end is, one
/// that is over is not, and one that was told before has its recovery.
#[test]
fn maintenance() {
    let window = Maintenance {
        name: "patching".into(),
        of: Selection { targets: vec!["web".into()], ..Selection::default() },
        when: MaintenanceTime::Once { from: at(1000), until: at(2000) },
    };
    let mut world = World::plain();
    world.settings.maintenance = vec![window];
    assert_eq!(world.pass(vec![("web", DOWN())]), [PROBLEM]);
    world.now = 1000;
    assert_eq!(world.pass(vec![("web", UP())]), [RECOVERY]);
    assert_eq!(world.pass(vec![("db", DOWN())]).len(), 1, "another target");
    assert_eq!(world.pass(vec![("web", DOWN())]), [""; 0]);
    assert_eq!(world.later(100), [""; 0]);
    assert_eq!(world.pass(vec![("web", UP()), ("web", DOWN()), ("web", UP())]), [""; 0]);
    assert_eq!(world.pass(vec![("web", DOWN())]), [""; 0]);
    world.restart();
    assert_eq!(world.later(899), [""; 0]);
    assert_eq!(world.later(1), [PROBLEM]);
}

/// A fleet of ten targets that all fail with `network` from now on.
fn fleet(world: &mut World) -> Vec<String> {
    let ids: Vec<String> = (0..10).map(|n| format!("t{n}")).collect();
    for id in &ids {
        world.targets.insert(id.clone(), target(id));
    }
    ids
}

/// E5: all fail at once: told as one, nothing of each; when all are well again: once.
#[test]
fn an_own_fault() {
    let mut world = World::plain();
    let ids = fleet(&mut world);
    ids.iter().for_each(|id| world.saw(id, None));
    world.now += 30;
    ids.iter().for_each(|id| world.saw(id, Some(Reason::Network)));
    assert_eq!(world.later(1), [""; 0]);
    world.now += 29;
    ids.iter().for_each(|id| world.saw(id, Some(Reason::Network)));
    let down: Vec<_> = ids.iter().map(|id| (id.as_str(), DOWN())).collect();
    assert_eq!(world.pass(down), ["chat group many healthy→unhealthy"]);
    assert_eq!(world.later(5), [""; 0]);
    // The host is killed, and goes on.
    world.restart();
    assert_eq!(world.later(5), [""; 0]);
    ids.iter().for_each(|id| world.saw(id, Some(Reason::Network)));
    assert_eq!(world.later(30), [""; 0]);
    // They recover, one after the other.
    let mut told = Vec::new();
    for id in &ids {
        world.saw(id, None);
        told.extend(world.pass(vec![(id, UP())]));
        told.extend(world.later(1));
    }
    assert_eq!(told, ["chat recovery many unhealthy→healthy"]);
    assert!(world.planner.problems.is_empty() && world.planner.faults.is_empty());
}

/// E5: what still fails when the rest is well is told alone then, and not before.
#[test]
fn one_that_stays_down() {
    let mut world = World::plain();
    let ids = fleet(&mut world);
    ids.iter().for_each(|id| world.saw(id, Some(Reason::Network)));
    world.now += 30;
    ids.iter().for_each(|id| world.saw(id, Some(Reason::Network)));
    let down: Vec<_> = ids.iter().map(|id| (id.as_str(), DOWN())).collect();
    assert_eq!(world.pass(down), ["chat group many healthy→unhealthy"]);
    for id in &ids[1..] {
        world.now += 1;
        world.saw(id, None);
        assert_eq!(world.pass(vec![(id, UP())]), [""; 0], "{id}");
    }
    world.now += 1;
    world.saw("t0", Some(Reason::Network));
    let mut told = world.later(0);
    told.extend(world.later(1));
    told.extend(world.later(1));
    told.sort();
    assert_eq!(
        told,
        ["chat problem t0/head healthy→unhealthy", "chat recovery many unhealthy→healthy"]
    );
    world.saw("t0", None);
    assert_eq!(world.pass(vec![("t0", UP())]), ["chat recovery t0/head unhealthy→healthy"]);
}

/// E5: with a threshold of 1 nothing is known beforehand, so alerts wait a little; one that is
/// alone is told then, and one that is over by then is told with its recovery.
#[test]
fn waiting_to_see() {
    let mut world = World::plain();
    let ids = fleet(&mut world);
    ids.iter().for_each(|id| world.saw(id, None));
    world.now += 30;
    world.saw("t0", Some(Reason::Network));
    assert_eq!(world.pass(vec![("t0", DOWN())]), [""; 0]);
    assert_eq!(world.later(9), [""; 0]);
    assert_eq!(world.later(1), ["chat problem t0/head healthy→unhealthy"]);
    world.saw("t1", Some(Reason::Network));
    assert_eq!(world.pass(vec![("t1", DOWN())]), [""; 0]);
    world.now += 2;
    world.saw("t1", None);
    assert_eq!(
        world.pass(vec![("t1", UP())]),
        ["chat problem t1/head healthy→unhealthy", "chat recovery t1/head unhealthy→healthy"]
    );

    let mut world = World::plain();
    let ids = fleet(&mut world);
    ids.iter().for_each(|id| world.saw(id, None));
    world.now += 30;
    let mut told = Vec::new();
    for id in &ids {
        world.saw(id, Some(Reason::Network));
        told.extend(world.pass(vec![(id, DOWN())]));
        told.extend(world.later(1));
    }
    told.extend(world.later(1));
    assert_eq!(told, ["chat group many healthy→unhealthy"]);
}
