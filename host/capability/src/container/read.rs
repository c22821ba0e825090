//! From the engine's answer to a report, in Docker's and in podman's dialect.

use std::time::Duration;

use bollard::models::{
    ContainerInspectResponse, ContainerStateStatusEnum as Status, HealthStatusEnum,
};
use probehost_model::sanitize;
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use super::types::{Health, Report, State};

/// None: the answer says nothing of a state.
pub(super) fn report(answer: ContainerInspectResponse) -> Option<Report> {
    let found = answer.state?;
    let health = found.health.as_ref();
    let count = |number: Option<i64>| number.and_then(|n| u64::try_from(n).ok()).unwrap_or(0);
    let state = state(found.status, found.running)?;
    let never_started = state == State::Created;
    Some(Report {
        state,
        exit_code: found.exit_code.unwrap_or(0),
        oom_killed: found.oom_killed.unwrap_or(false),
        restarts: count(answer.restart_count),
        health: match health.and_then(|health| health.status) {
            // podman writes an empty text where there is no health check.
            None | Some(HealthStatusEnum::EMPTY | HealthStatusEnum::NONE) => Health::None,
            Some(HealthStatusEnum::STARTING) => Health::Starting,
            Some(HealthStatusEnum::HEALTHY) => Health::Healthy,
            Some(HealthStatusEnum::UNHEALTHY) => Health::Unhealthy,
        },
        health_failures: count(health.and_then(|health| health.failing_streak)),
        started_at: found.started_at.as_deref().and_then(seconds).filter(|_| !never_started),
        finished_at: found.finished_at.as_deref().and_then(seconds),
        error: found.error.filter(|text| !text.trim().is_empty()).map(|text| sanitize(&text)),
        total: Duration::ZERO,
    })
}

fn state(status: Option<Status>, running: Option<bool>) -> Option<State> {
    Some(match status {
        Some(Status::CREATED) => State::Created,
        Some(Status::RUNNING) => State::Running,
        Some(Status::PAUSED) => State::Paused,
        Some(Status::RESTARTING) => State::Restarting,
        Some(Status::REMOVING) => State::Removing,
        Some(Status::EXITED) => State::Exited,
        Some(Status::DEAD) => State::Dead,
        // podman: its main process was told to end, and has not yet.
        Some(Status::STOPPING) => State::Other,
        Some(Status::EMPTY) | None => match running? {
            true => State::Running,
            false => State::Other,
        },
    })
}

/// Seconds since the Unix epoch. An engine writes the year 1 for what has not happened.
fn seconds(text: &str) -> Option<f64> {
    let time = OffsetDateTime::parse(text, &Rfc3339).ok()?;
    let nanos = time.unix_timestamp_nanos();
    #[expect(clippy::cast_precision_loss, reason = "a fraction of a microsecond is no matter")]
    (nanos > 0).then(|| nanos as f64 / 1e9)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(json: &str) -> Option<Report> {
        report(serde_json::from_str(json).unwrap())
    }

    /// C1: what Docker says.
    #[test]
    fn dockers_dialect() {
        let found = read(
            r#"{"Id": "3f", "RestartCount": 2, "State": {"Status": "exited", "Running": false,
                "OOMKilled": true, "ExitCode": 137, "Error": "",
                "StartedAt": "2026-01-02T03:04:05.5Z", "FinishedAt": "2026-01-02T03:04:06.123456789Z",
                "Health": {"Status": "unhealthy", "FailingStreak": 3, "Log": []}}}"#,
        );
        let found = found.unwrap();
        assert_eq!((found.state, found.exit_code, found.oom_killed), (State::Exited, 137, true));
        assert_eq!((found.restarts, found.health), (2, Health::Unhealthy));
        assert_eq!((found.health_failures, found.error), (3, None));
        assert_eq!(found.started_at, Some(1_767_323_045.5));
        assert_eq!(found.finished_at.map(f64::floor), Some(1_767_323_046.0));
    }

    /// C1: what podman says: no flag, an empty health status, times with an offset.
    #[test]
    fn podmans_dialect() {
        let found = read(
            r#"{"State": {"Status": "running", "Running": true, "OOMKilled": false, "ExitCode": 0,
                "StartedAt": "2026-01-02T04:04:05+01:00", "FinishedAt": "0001-01-01T00:00:00Z",
                "Health": {"Status": "", "FailingStreak": 0, "Log": null}}}"#,
        );
        let found = found.unwrap();
        assert_eq!((found.state, found.health), (State::Running, Health::None));
        assert_eq!((found.started_at, found.finished_at), (Some(1_767_323_045.0), None));
    }

    #[test]
    fn an_answer_without_a_state_is_none() {
        assert_eq!(read("{}"), None);
        assert_eq!(read(r#"{"State": {}}"#), None);
    }

    /// P8: what an engine writes is made fit for people.
    #[test]
    fn an_error_is_made_fit() {
        let text = r#"{"State": {"Status": "created", "Error": "exec \u001b[31m\n",
            "StartedAt": "2026-01-02T03:04:05Z"}}"#;
        let found = read(text).unwrap();
        assert_eq!(found.error.as_deref(), Some(r"exec \u{1b}[31m\n"));
        assert_eq!(found.started_at, None);
    }
}
