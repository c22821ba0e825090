//! Every state × event, held against the table that operators read.

use std::time::Duration;

use super::*;
use crate::Timestamp;

const PAGE: &str = include_str!("../../../../docs/lifecycle.md");

/// The page of the configuration file.
const CONFIG: &str = include_str!("../../../../docs/config.md");

fn at(second: i64) -> Timestamp {
    Timestamp::from_micros(second * 1_000_000)
}

fn policy() -> Policy {
    Policy { jitter: 0.0, ..Policy::default() }
}

fn live(verdict: Verdict, second: i64) -> Event {
    Event::Liveness(Sighting::new(verdict, at(second), None, ""))
}

fn ready(verdict: Verdict, second: i64) -> Event {
    Event::Readiness(Sighting::new(verdict, at(second), None, ""))
}

fn after(record: &LifecycleRecord, events: &[Event], second: i64) -> LifecycleRecord {
    events.iter().fold(record.clone(), |record, event| {
        step(&record, event, &policy(), at(second), 0.0).unwrap().record
    })
}

/// One record for each column, all at the second 100.
fn columns() -> Vec<(&'static str, LifecycleRecord)> {
    use Verdict::{Healthy, Unhealthy};
    let unknown = LifecycleRecord::new(at(0));
    let well = [live(Healthy, 90), ready(Healthy, 90)];
    let running = after(&unknown, &well, 100);
    let offline = after(&running, &[live(Unhealthy, 95)], 100);
    let decided = after(&running, &[Event::OperatorRestart], 100);
    let issued = after(&decided, &[Event::Issue { attempt: 1 }], 100);
    let started = after(&issued, &[Event::RestartSucceeded { attempt: 1 }], 100);
    // One that has been restarted, and is running for less than `healthy_reset`.
    let proving = after(&started, &[live(Healthy, 101), ready(Healthy, 101)], 101);
    let quarantined = after(&running, &[Event::OperatorQuarantine { message: "x".into() }], 100);
    let updating = after(&running, &[Event::UpdateBegin], 100);
    vec![
        ("unknown", unknown),
        ("running", proving),
        ("offline", offline),
        ("restarting: decided", decided),
        ("issued", issued),
        ("started", started),
        ("quarantined", quarantined),
        ("updating", updating),
    ]
}

fn rows() -> Vec<(&'static str, Event, i64)> {
    use Verdict::{Healthy, Unhealthy, Unknown};
    const FAR: i64 = 100_000;
    vec![
        ("liveness healthy", live(Healthy, 102), 102),
        ("liveness unhealthy", live(Unhealthy, 102), 102),
        ("liveness unknown", live(Unknown, 102), 102),
        ("readiness healthy", ready(Healthy, 102), 102),
        ("readiness unhealthy", ready(Unhealthy, 102), 102),
        ("readiness unknown", ready(Unknown, 102), 102),
        ("time passes, nothing due", Event::Tick, 100),
        ("time is up", Event::Tick, FAR),
        ("host comes back", Event::Resumed, 102),
        ("runtime is about to be called", Event::Issue { attempt: 1 }, 102),
        ("runtime has restarted it", Event::RestartSucceeded { attempt: 1 }, 102),
        ("runtime could not", Event::RestartFailed { attempt: 1, message: String::new() }, 102),
        ("operator: restart", Event::OperatorRestart, 102),
        ("operator: quarantine", Event::OperatorQuarantine { message: String::new() }, 102),
        ("operator: release", Event::OperatorRelease, 102),
        ("update begins", Event::UpdateBegin, 102),
        ("update promoted", Event::UpdatePromoted, 102),
        ("update rolled back", Event::UpdateRolledBack, 102),
    ]
}

fn cell(record: &LifecycleRecord, event: &Event, second: i64) -> String {
    let Ok(step) = step(record, event, &policy(), at(second), 0.0) else {
        return "refused".into();
    };
    let mut words = Vec::new();
    for effect in &step.effects {
        match effect {
            Effect::Transition(transition) => words.push(format!("→ {}", transition.to)),
            Effect::Restart { .. } => words.push("**restart**".into()),
            Effect::Probe => words.push("probe".into()),
            Effect::Issue { .. } => words.push("issue".into()),
            Effect::Audit { .. } | Effect::Pool { .. } => {}
        }
    }
    match (words.is_empty(), step.save) {
        (false, _) => words.join(", "),
        (true, true) => "noted".into(),
        (true, false) => "–".into(),
    }
}

fn rendered() -> String {
    let columns = columns();
    let mut text = String::from("| |");
    columns.iter().for_each(|(name, _)| text += &format!(" {name} |"));
    text += "\n|---|";
    columns.iter().for_each(|_| text += "---|");
    for (name, event, second) in rows() {
        text += &format!("\n| {name} |");
        for (_, record) in &columns {
            text += &format!(" {} |", cell(record, &event, second));
        }
    }
    text
}

/// L1–L8: each cell of the page's table is what `step` does.
#[test]
fn the_page_shows_the_table() {
    let table = rendered();
    assert!(PAGE.contains(&table), "docs/lifecycle.md should hold this table:\n\n{table}\n");
}

/// L3–L7: the defaults that the page of the configuration has are those of `Policy`.
#[test]
fn the_page_shows_the_defaults() {
    let plain = Policy::default();
    let seconds = |span: Duration| span.as_secs_f64().to_string();
    for (key, value) in [
        ("base", seconds(plain.base)),
        ("multiplier", plain.multiplier.to_string()),
        ("cap", seconds(plain.cap)),
        ("jitter", plain.jitter.to_string()),
        ("max_restarts", plain.max_restarts.to_string()),
        ("healthy_reset", seconds(plain.healthy_reset)),
        ("start_budget", seconds(plain.start_budget)),
        ("quarantine_retry", "0".to_owned()),
    ] {
        let row = CONFIG.lines().find(|line| line.starts_with(&format!("| `{key}` | ")));
        let default = row.and_then(|row| row.split('|').nth(5)).map(str::trim);
        let default = default.map(|text| text.trim_matches('`').to_owned());
        assert_eq!(default, Some(value), "{key} of [lifecycle] in docs/config.md");
    }
}

/// L1: the columns are in the states that they are named for.
#[test]
fn every_state_has_a_column() {
    let mut states: Vec<_> = columns().iter().map(|(_, record)| record.state).collect();
    states.dedup();
    assert_eq!(states, LifecycleState::ALL);
    let phases: Vec<_> = columns().iter().filter_map(|(_, record)| record.phase()).collect();
    use AttemptPhase::{Decided, Issued, Ready, Started};
    assert_eq!(phases, [Ready, Decided, Issued, Started]);
}
