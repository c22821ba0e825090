//! The plugin against a scripted capability.

use probehost_sdk::container::{Error, ErrorKind};
use probehost_sdk::{Endpoint, Outcome, native};

use super::*;

const CONFIG: &str = r#"{"container": "web"}"#;

fn probe_answered_by(result: Result<Report, Error>) -> Outcome {
    native::container::answer_with(result);
    native::check::<ContainerInspect>(CONFIG).outcome
}

/// The reason and the message of a failure.
fn failure(report: Report) -> (Reason, String) {
    match probe_answered_by(Ok(report)) {
        Outcome::Fail(failure) => (failure.reason, failure.message),
        other => panic!("{other:?}"),
    }
}

/// C2: threshold 1.
#[test]
fn it_describes_itself() {
    assert_eq!(native::describe::<ContainerInspect>().threshold, 1);
}

/// P2, G2: the plan names the container and nothing else.
#[test]
fn the_plan_names_the_container() {
    let plan = native::plan::<ContainerInspect>(CONFIG).unwrap();
    assert_eq!(plan.subject, "web");
    assert_eq!(plan.endpoints, [Endpoint::Container("web".to_owned())]);
    for bad in ["", "a/b", ".web", "a b", "../info"] {
        let config = format!(r#"{{"container": "{bad}"}}"#);
        let error = native::plan::<ContainerInspect>(&config).unwrap_err();
        assert_eq!(error.path, "container", "{bad}");
    }
}

/// C1: one look, at the one container.
#[test]
fn it_looks_once() {
    let running = Report { restarts: 3, total: 0.25, ..Report::new(State::Running) };
    native::container::answer_with(Ok(Report { started_at: Some(1.0), ..running }));
    let report = native::check::<ContainerInspect>(CONFIG);
    assert_eq!(native::container::names(), ["web"]);
    let names: Vec<_> = report.measurements.iter().map(|m| m.name.as_str()).collect();
    assert_eq!(names, ["restarts", "uptime", "total"]);
    assert_eq!((report.measurements[0].value, report.measurements[2].value), (3.0, 0.25));
    assert!(report.measurements[1].value > 1e9);
}

/// C2: running passes, whatever a health check says but `unhealthy`.
#[test]
fn a_running_container_is_well() {
    for health in [Health::None, Health::Starting, Health::Healthy] {
        let report = Report { health, ..Report::new(State::Running) };
        assert_eq!(probe_answered_by(Ok(report)), Outcome::Pass);
    }
    // A process in it was killed, and it runs on.
    let report = Report { oom_killed: true, ..Report::new(State::Running) };
    assert_eq!(probe_answered_by(Ok(report)), Outcome::Pass);
}

/// C2: unhealthy by its own health check.
#[test]
fn an_unhealthy_container_is_not() {
    let report =
        Report { health: Health::Unhealthy, health_failures: 4, ..Report::new(State::Running) };
    let message =
        "the container web runs, and fails its own health check (4 times in a row)".to_owned();
    assert_eq!(failure(report), (Reason::Answer, message));
}

/// C2: what does not run is `stopped`, and says how it ended.
#[test]
fn a_container_that_does_not_run_is_stopped() {
    let ended = |state, exit_code| Report { exit_code, ..Report::new(state) };
    let broken = Report { error: Some("no such file".to_owned()), ..ended(State::Exited, 127) };
    let rows = [
        (ended(State::Exited, 1), "does not run: it ended with exit code 1"),
        (ended(State::Exited, 137), "does not run: it ended with exit code 137 (SIGKILL)"),
        (broken, "does not run: it ended with exit code 127: no such file"),
        (ended(State::Dead, 0), "is dead, and could not be removed; it ended with exit code 0"),
        (
            ended(State::Restarting, 3),
            "waits for its restart by the engine, and ended with exit code 3",
        ),
        (ended(State::Paused, 0), "is paused"),
        (ended(State::Removing, 0), "is being removed"),
        (ended(State::Created, 0), "was made, and is not started"),
        (ended(State::Other, 0), "is neither running nor stopped; it ended with exit code 0"),
    ];
    for (report, words) in rows {
        let expected = (Reason::Stopped, format!("the container web {words}"));
        assert_eq!(failure(report), expected);
    }
}

/// C2: killed by the kernel for want of memory is `oom`, also while it waits to be restarted.
#[test]
fn out_of_memory_is_oom() {
    for state in [State::Exited, State::Restarting] {
        let report = Report { oom_killed: true, exit_code: 137, ..Report::new(state) };
        let (reason, message) = failure(report);
        assert_eq!(reason, Reason::Oom);
        assert!(message.ends_with("was killed for want of memory (exit code 137)"), "{message}");
    }
}

/// C3: an engine that can't be asked says nothing about its containers.
#[test]
fn an_engine_that_is_away_is_inconclusive() {
    for kind in [
        ErrorKind::Timeout,
        ErrorKind::Unreachable,
        ErrorKind::Forbidden,
        ErrorKind::Engine,
        ErrorKind::Protocol,
    ] {
        let outcome = probe_answered_by(Err(Error::new(kind, "the engine …")));
        assert_eq!(outcome, Outcome::Inconclusive("the engine …".to_owned()), "{kind:?}");
    }
}

/// C4: no such container is `stopped`, and says so.
#[test]
fn no_such_container_is_stopped() {
    let missing = Error::new(ErrorKind::NotFound, "there is no container web on unix:///x");
    let Outcome::Fail(failure) = probe_answered_by(Err(missing)) else { panic!() };
    assert_eq!(failure.reason, Reason::Stopped);
    assert!(failure.message.contains("there is no container web"));
}
