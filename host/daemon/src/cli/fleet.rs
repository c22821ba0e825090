//! Every target of a running host, as a table.

use probehost_model::Status;

use super::client::Client;
use super::table::{Table, span};
use crate::api::{CheckView, TargetView, Targets};

/// Every target, page by page.
pub(crate) async fn fetch(client: &Client) -> Result<Vec<TargetView>, String> {
    let mut all = Vec::new();
    let mut after = None;
    loop {
        let path = match &after {
            Some(after) => format!("/targets?limit=1000&after={after}"),
            None => "/targets?limit=1000".to_owned(),
        };
        let page: Targets = client.get(&path).await?;
        all.extend(page.targets);
        match page.next_after {
            Some(next) => after = Some(next),
            None => return Ok(all),
        }
    }
}

pub(crate) fn render(targets: &[TargetView]) -> String {
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
