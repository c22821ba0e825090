//! The `container` interface, served by the container capability.

use std::time::Duration;

use probehost_capability::container as cap;

use super::bindings::probehost::plugin::container as wit;
use crate::state::State;

impl wit::Host for State {
    async fn inspect(&mut self, name: String) -> Result<wit::Report, wit::Error> {
        let Some(granted) = &self.granted else { return Err(ungranted()) };
        self.compute.call();
        let answer = granted.capabilities.containers().inspect(&granted.run, &name).await;
        self.compute.returned();
        if matches!(&answer, Err(error) if error.kind == cap::ErrorKind::Timeout) {
            self.cut_by_host();
        }
        answer.map(report).map_err(error)
    }
}

/// What a call gets that comes from `describe` or `plan`.
fn ungranted() -> wit::Error {
    wit::Error {
        kind: wit::ErrorKind::Denied,
        message: "nothing is granted while a plugin describes itself or plans; look at containers \
                  in check"
            .to_owned(),
        total: Duration::ZERO.as_secs_f64(),
    }
}

fn report(report: cap::Report) -> wit::Report {
    let cap::Report {
        state,
        exit_code,
        oom_killed,
        restarts,
        health,
        health_failures,
        started_at,
        finished_at,
        error,
        total,
    } = report;
    wit::Report {
        state: match state {
            cap::State::Created => wit::State::Created,
            cap::State::Running => wit::State::Running,
            cap::State::Paused => wit::State::Paused,
            cap::State::Restarting => wit::State::Restarting,
            cap::State::Removing => wit::State::Removing,
            cap::State::Exited => wit::State::Exited,
            cap::State::Dead => wit::State::Dead,
            cap::State::Other => wit::State::Other,
        },
        exit_code,
        oom_killed,
        restarts,
        health: match health {
            cap::Health::None => wit::Health::None,
            cap::Health::Starting => wit::Health::Starting,
            cap::Health::Healthy => wit::Health::Healthy,
            cap::Health::Unhealthy => wit::Health::Unhealthy,
        },
        health_failures,
        started_at,
        finished_at,
        error,
        total: total.as_secs_f64(),
    }
}

fn error(error: cap::Error) -> wit::Error {
    let cap::Error { kind, message, total } = error;
    let kind = match kind {
        cap::ErrorKind::Denied => wit::ErrorKind::Denied,
        cap::ErrorKind::Invalid => wit::ErrorKind::Invalid,
        cap::ErrorKind::NotFound => wit::ErrorKind::NotFound,
        cap::ErrorKind::Timeout => wit::ErrorKind::Timeout,
        cap::ErrorKind::Unreachable => wit::ErrorKind::Unreachable,
        cap::ErrorKind::Forbidden => wit::ErrorKind::Forbidden,
        cap::ErrorKind::Engine => wit::ErrorKind::Engine,
        cap::ErrorKind::Protocol => wit::ErrorKind::Protocol,
    };
    wit::Error { kind, message, total: total.as_secs_f64() }
}
