//! `probehost status`: what a running host knows, as a table.

use std::process::ExitCode;
use std::time::Duration;

use clap::Args;
use probehost_model::Status;
use serde::Deserialize;

use super::table::{Table, span};
use crate::api::{CheckView, TargetView};

#[derive(Debug, Args)]
pub(crate) struct StatusArgs {
    /// Where the host serves its API.
    #[arg(long, value_name = "URL", default_value = "http://127.0.0.1:9640")]
    url: String,
    /// Print the API's JSON instead of a table.
    #[arg(long)]
    json: bool,
}

#[derive(Deserialize)]
struct Answer {
    targets: Vec<TargetView>,
}

const UNKNOWN: u8 = 3;

pub(crate) async fn status(args: StatusArgs) -> ExitCode {
    let text = match fetch(&args.url).await {
        Ok(text) => text,
        Err(message) => {
            eprintln!("probehost: {message}");
            return ExitCode::from(UNKNOWN);
        }
    };
    let answer: Answer = match serde_json::from_str(&text) {
        Ok(answer) => answer,
        Err(error) => {
            eprintln!(
                "probehost: {} does not answer as this version's API does: {error}",
                args.url
            );
            return ExitCode::from(UNKNOWN);
        }
    };
    if args.json {
        println!("{text}");
    } else {
        print!("{}", render(&answer.targets));
    }
    exit_code(&answer.targets)
}

async fn fetch(url: &str) -> Result<String, String> {
    let path = format!("{}/api/v1/targets", url.trim_end_matches('/'));
    let client = reqwest::Client::builder()
        .no_proxy()
        .timeout(Duration::from_secs(10))
        .build()
        .map_err(|error| format!("the HTTP client could not start: {error}"))?;
    let answer = client.get(&path).send().await.map_err(|error| {
        // The innermost one is what the system said; those around it name layers of the client.
        let first = std::error::Error::source(&error);
        let cause = std::iter::successors(first, |error| error.source()).last();
        let cause = cause.map(ToString::to_string).unwrap_or_default();
        format!("no host answers at {url} ({cause}); is `probehost serve` running there? Give its address with --url")
    })?;
    let status = answer.status();
    let text = answer.text().await.map_err(|error| format!("{path}: {error}"))?;
    if status.is_success() { Ok(text) } else { Err(format!("{path} answered {status}: {text}")) }
}

fn render(targets: &[TargetView]) -> String {
    let mut table = Table::new(&["TARGET", "CHECK", "STATUS", "AGE", "SUBJECT", "WHY"]);
    for target in targets {
        for check in &target.checks {
            let status = match (target.enabled, check.stale) {
                (false, _) => format!("{} (disabled)", check.status),
                (true, true) => format!("{} (stale)", check.status),
                (true, false) => check.status.to_string(),
            };
            let age = check.age_seconds.map_or_else(|| "-".to_owned(), span);
            table.row([
                target.id.clone(),
                check.name.clone(),
                status,
                age,
                check.subject.clone(),
                why(check),
            ]);
        }
    }
    let checks = || targets.iter().flat_map(|target| &target.checks);
    let count = |status| checks().filter(|check| check.status == status).count();
    format!(
        "{table}\n{} healthy, {} unhealthy, {} unknown\n",
        count(Status::Healthy),
        count(Status::Unhealthy),
        count(Status::Unknown)
    )
}

/// Why the status is what it is: the failure with its count, or what keeps it from being known.
fn why(check: &CheckView) -> String {
    if let Some(problem) = &check.problem {
        return problem.clone();
    }
    if !check.last_error.is_empty() {
        return format!("inconclusive ×{}: {}", check.inconclusive_streak, check.last_error);
    }
    match check.reason {
        None => String::new(),
        Some(reason) if check.streak < check.failure_threshold => {
            format!("{reason} ({} of {}): {}", check.streak, check.failure_threshold, check.message)
        }
        Some(reason) => format!("{reason} ×{}: {}", check.streak, check.message),
    }
}

fn exit_code(targets: &[TargetView]) -> ExitCode {
    let enabled = targets.iter().filter(|target| target.enabled);
    let statuses = || enabled.clone().flat_map(|target| &target.checks).map(|check| check.status);
    if statuses().any(|status| status == Status::Unhealthy) {
        ExitCode::from(2)
    } else if statuses().any(|status| status == Status::Unknown) {
        ExitCode::from(UNKNOWN)
    } else {
        ExitCode::SUCCESS
    }
}
