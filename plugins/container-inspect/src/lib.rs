//! The probe kind `container-inspect`: a container that runs, and is not unhealthy by its own
//! health check, is well.
//!
//! It looks once, and changes nothing. The engine's word needs no second opinion, so one failure
//! makes a check unhealthy. An engine that can't be asked says nothing about its containers.

use std::time::{SystemTime, UNIX_EPOCH};

use probehost_sdk::container::{self, Health, Report, State};
use probehost_sdk::{ConfigError, Interval, Plan, Probe, Problem, Reason, Run, Unit};

/// Config of a check of kind `container-inspect`.
#[probehost_sdk::config]
pub struct Config {
    /// The container: its name, or its id.
    #[schemars(length(min = 1, max = 255))]
    container: String,
}

/// The probe kind.
#[derive(Debug)]
pub struct ContainerInspect;

impl Probe for ContainerInspect {
    type Config = Config;
    const DESCRIPTION: &'static str =
        "Whether a container runs and is not unhealthy by its own health check.";
    const INTERVAL: Interval = Interval { default: 15, minimum: 1, maximum: 86_400 };
    const THRESHOLD: u32 = 1;

    fn plan(config: &Config) -> Result<Plan, ConfigError> {
        let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-');
        let name = &config.container;
        if !name.starts_with(|c: char| c.is_ascii_alphanumeric()) || !name.chars().all(fits) {
            let message = "is not the name or the id of a container, as `docker ps` shows it";
            return Err(ConfigError::at("container", message));
        }
        Ok(Plan::container(name))
    }

    fn check(config: &Config, run: &mut Run) -> Result<(), Problem> {
        let name = &config.container;
        let report = container::inspect(name)?;
        measure(run, &report);
        judge(name, &report)
    }
}

fn measure(run: &mut Run, report: &Report) {
    #[expect(clippy::cast_precision_loss, reason = "far from so many restarts")]
    run.measure("restarts", Unit::Number, report.restarts as f64);
    if report.state == State::Running {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        if let Some(started_at) = report.started_at {
            run.measure("uptime", Unit::Seconds, (now.as_secs_f64() - started_at).max(0.0));
        }
    } else if report.state != State::Created {
        #[expect(clippy::cast_precision_loss, reason = "exit codes are small")]
        run.measure("exit_code", Unit::Number, report.exit_code as f64);
    }
    run.measure("total", Unit::Seconds, report.total);
}

fn judge(name: &str, report: &Report) -> Result<(), Problem> {
    let fail = |reason, what: String| {
        Err(Problem::failure(reason, format!("the container {name} {what}")))
    };
    match report.state {
        State::Running if report.health == Health::Unhealthy => {
            let failures = report.health_failures;
            let what = format!("runs, and fails its own health check ({failures} times in a row)");
            return fail(Reason::Answer, what);
        }
        State::Running => return Ok(()),
        State::Created => {
            let why = because(report);
            return fail(Reason::Stopped, format!("was made, and is not started{why}"));
        }
        State::Paused => return fail(Reason::Stopped, "is paused".to_owned()),
        State::Removing => return fail(Reason::Stopped, "is being removed".to_owned()),
        State::Restarting | State::Exited | State::Dead | State::Other => {}
    }
    let now = match report.state {
        State::Restarting => "waits for its restart by the engine, and",
        State::Dead => "is dead, and could not be removed; it",
        State::Other => "is neither running nor stopped; it",
        _ => "does not run: it",
    };
    if report.oom_killed {
        let code = report.exit_code;
        return fail(
            Reason::Oom,
            format!("{now} was killed for want of memory (exit code {code})"),
        );
    }
    fail(Reason::Stopped, format!("{now} ended with exit code {}", ending(report)))
}

/// The exit code, with what stands behind it.
fn ending(report: &Report) -> String {
    let signal = match report.exit_code {
        129 => " (SIGHUP)",
        130 => " (SIGINT)",
        131 => " (SIGQUIT)",
        134 => " (SIGABRT)",
        137 => " (SIGKILL)",
        139 => " (SIGSEGV)",
        143 => " (SIGTERM)",
        _ => "",
    };
    format!("{}{signal}{}", report.exit_code, because(report))
}

fn because(report: &Report) -> String {
    report.error.as_ref().map(|error| format!(": {error}")).unwrap_or_default()
}

probehost_sdk::plugin!(ContainerInspect);

#[cfg(test)]
mod tests;
