//! What a check may reach, and why (contract G2).

use probehost_config::Grant;
use probehost_model::{Check, Endpoint, Outcome};
use serde::Serialize;

use super::{Planned, SandboxProber};

/// What one check may reach.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(crate) struct Reach {
    /// Name of the check, and its probe kind.
    pub(crate) check: String,
    pub(crate) kind: String,
    /// Why it reaches nothing at all: its plugin is missing, its config is wrong, or its plan
    /// names no endpoint. None: it reaches `endpoints`.
    pub(crate) nothing: Option<String>,
    /// What its plan names, all of it granted.
    pub(crate) endpoints: Vec<Reached>,
    /// Whether it is not probed for what its config or its plan says.
    pub(crate) is_refused: bool,
    /// What its plan names and nothing grants, each with the line that would.
    pub(crate) refused: Vec<String>,
    /// What it may reach besides, whatever its plan says.
    pub(crate) allowed: Vec<Allowed>,
}

/// An endpoint that is granted.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(crate) struct Reached {
    pub(crate) endpoint: String,
    /// The grant, and where it stands. None: the check's own config names the endpoint.
    pub(crate) by: Option<Allowed>,
}

/// A line of `allow`.
#[derive(Debug, Clone, Serialize, utoipa::ToSchema)]
pub(crate) struct Allowed {
    pub(crate) pattern: String,
    /// The file, with line and column.
    pub(crate) location: String,
}

/// What a check may reach; `allow` is what the operator grants its kind.
pub(crate) async fn reach(prober: &SandboxProber, allow: &[Grant], check: &Check) -> Reach {
    let kind = &check.kind;
    let mut reach = Reach {
        check: check.name.clone(),
        kind: kind.clone(),
        nothing: None,
        endpoints: Vec::new(),
        is_refused: false,
        refused: Vec::new(),
        allowed: Vec::new(),
    };
    let Some(planned) = prober.plan(kind, &check.config.to_string().into()).await else {
        let problem = prober.problem(kind).unwrap_or_default();
        reach.nothing = Some(format!("it is not probed: {problem}"));
        return reach;
    };
    match &*planned {
        Planned::Ready { plan, grants, .. } => {
            let by = |endpoint: &Endpoint| {
                let grant = allow.iter().find(|grant| grant.pattern.matches(endpoint));
                grant.filter(|_| !grants.is_named(endpoint)).map(Allowed::from)
            };
            let reached =
                |endpoint: &Endpoint| Reached { endpoint: endpoint.to_string(), by: by(endpoint) };
            reach.endpoints = plan.endpoints.iter().map(reached).collect();
            if reach.endpoints.is_empty() {
                reach.nothing = Some("its plan names no endpoint".to_owned());
            }
        }
        Planned::Refused { outcome, denied, .. } => {
            reach.is_refused = true;
            reach.refused.clone_from(denied);
            if denied.is_empty() {
                reach.nothing = Some(outcome_text(outcome));
            }
        }
    }
    reach.allowed = allow.iter().map(Allowed::from).collect();
    reach
}

impl From<&Grant> for Allowed {
    fn from(Grant { pattern, location }: &Grant) -> Self {
        Self { pattern: pattern.to_string(), location: location.to_string() }
    }
}

fn outcome_text(outcome: &Outcome) -> String {
    match outcome {
        Outcome::Pass => String::new(),
        Outcome::Fail(failure) => failure.message().to_owned(),
        Outcome::Inconclusive { error } => error.clone(),
    }
}
