//! Runs against servers that misbehave: each ends in time, as a failure with a reason that fits.

use std::collections::BTreeSet;
use std::time::Duration;

use probehost_model::{Endpoint, Outcome, Reason};
use probehost_sandbox::GRACE;
use serde_json::Value;

use super::aim::{aim, place};
use super::servers::{Manner, Server};
use super::{CheckArgs, Report};
use crate::cli::plugin::loaded::{Loaded, Tried};
use crate::cli::plugin::size;

/// What a busy machine may add to a deadline.
const SLACK: Duration = Duration::from_secs(1);

/// Aims the config at each server in turn. Gives the reasons that the plugin failed with.
pub(super) async fn check(
    loaded: &Loaded,
    config: &Value,
    args: &CheckArgs,
    report: &mut Report,
) -> BTreeSet<&'static str> {
    let mut reached = BTreeSet::new();
    let Ok(plan) = loaded.plugin.plan(&config.to_string()).await else { return reached };
    let manners = Manner::of(&plan.endpoints);
    let places: Vec<_> = plan.endpoints.iter().filter_map(place).collect();
    if manners.is_empty() {
        let dns = plan.endpoints.iter().any(|endpoint| matches!(endpoint, Endpoint::Dns(_)));
        report.note(match (places.is_empty(), dns) {
            (true, true) => "it asks this machine's name servers, so it was run against no server; give a config that names one",
            (true, false) => "it reaches no host, so it was run against no server",
            (false, _) => "it reaches hosts by streams and by datagrams, so it was run against no server; give a config for one of them",
        });
        return reached;
    }
    for manner in manners {
        let server = match Server::start(manner).await {
            Ok(server) => server,
            Err(error) => {
                report.note(&format!("{} could not be made on loopback: {error}", manner.words()));
                continue;
            }
        };
        let schema = &loaded.plugin.manifest().config_schema;
        let has_port = schema.get("properties").is_some_and(|all| all.get("port").is_some());
        let aimed = aim(config, &places, server.address(), has_port);
        if !reaches(loaded, &aimed, &server).await {
            report.note(
                "the host in the config can't be replaced by a server on loopback, so it was run \
                 against none; give a config that names the host as a URL, as host:port, or as host and port",
            );
            return reached;
        }
        match loaded.run(&aimed, args.timeout).await {
            Ok(tried) => {
                if let Outcome::Fail(failure) = &tried.evidence.outcome {
                    reached.insert(failure.reason.as_str());
                }
                judge(manner, &tried, args.timeout, report);
            }
            Err(message) => {
                report.wrong(&format!("against {}: {message}", manner.words()), "see there")
            }
        }
    }
    reached
}

/// Whether the plan of an aimed config leads to the server, and to nothing that is elsewhere.
async fn reaches(loaded: &Loaded, config: &Value, server: &Server) -> bool {
    let Ok(plan) = loaded.plugin.plan(&config.to_string()).await else { return false };
    let here = (server.address().ip().to_string(), server.address().port());
    let places: Vec<_> = plan.endpoints.iter().filter_map(place).collect();
    !places.is_empty() && places.iter().all(|place| *place == here)
}

fn judge(manner: Manner, tried: &Tried, timeout: Duration, report: &mut Report) {
    let against = format!("against {}", manner.words());
    let expected = manner.reasons().first().map_or("answer", |reason| reason.as_str());
    let fault = tried.usage.is_some_and(|usage| usage.fault);
    match &tried.evidence.outcome {
        // Its own judgement: an answer is an answer.
        Outcome::Pass if manner.reasons().is_empty() => {
            report.good(&format!("{against} it passes"))
        }
        Outcome::Fail(failure)
            if manner.reasons().contains(&failure.reason)
                || (manner.reasons().is_empty() && failure.reason != Reason::Config) =>
        {
            report.good(&format!("{against} it fails: {}: {}", failure.reason, failure.message()));
        }
        Outcome::Fail(failure) => report.wrong(
            &format!("{against} it fails with reason {}: {}", failure.reason, failure.message()),
            &format!("the reason is {expected}"),
        ),
        Outcome::Pass => report.wrong(
            &format!("{against} it passes"),
            &format!("only an answer that is well may pass: fail with reason {expected}"),
        ),
        Outcome::Inconclusive { error } if fault => {
            report.wrong(
                &format!("{against}: {error}"),
                &format!("report a failure with reason {expected}"),
            );
        }
        Outcome::Inconclusive { error } => report.wrong(
            &format!("{against} it is inconclusive: {error}"),
            &format!("the target is unwell here: fail with reason {expected}"),
        ),
    }
    if tried.took > timeout + GRACE + SLACK {
        report.wrong(
            &format!(
                "{against} it took {}, over its deadline of {}",
                size::time(tried.took),
                size::time(timeout)
            ),
            "give back what a call of the host returned",
        );
    }
    for line in &tried.evidence.log {
        if line.level == "warn"
            && (line.message.ends_with("were dropped") || line.message.ends_with("are not shown"))
        {
            report.wrong(
                &format!("{against}: {}", line.message),
                "write less: the host keeps 64 lines",
            );
        }
    }
    if let Outcome::Fail(failure) = &tried.evidence.outcome
        && failure.reason != Reason::Config
        && failure.message().trim().is_empty()
    {
        report.wrong(
            &format!("{against} it fails without a message"),
            "name host, port and what happened",
        );
    }
}
