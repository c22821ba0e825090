//! `probehost grants`: what each check may reach, and why (contract G2).

use std::fmt::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use clap::Args;
use probehost_config::{Config, Grant};
use probehost_model::{Check, Endpoint, Outcome, Target};

use super::fail;
use crate::app::{AppError, Kinds, Planned, SandboxProber, Setup};

#[derive(Debug, Args)]
pub(crate) struct GrantsArgs {
    /// A target, or one of its checks: `shop` or `shop/http-head`. Without it, all.
    #[arg(value_name = "TARGET[/CHECK]")]
    wanted: Option<String>,
    /// The config file.
    #[arg(long, short, value_name = "FILE", default_value = "probehost.toml")]
    config: PathBuf,
}

pub(crate) async fn grants(args: GrantsArgs) -> ExitCode {
    match report(&args).await {
        Ok(Report { text, refused }) => {
            print!("{text}");
            if refused { ExitCode::FAILURE } else { ExitCode::SUCCESS }
        }
        Err(error) => fail(&error),
    }
}

#[derive(Default)]
struct Report {
    text: String,
    /// Some check wants what it is not granted.
    refused: bool,
}

async fn report(args: &GrantsArgs) -> Result<Report, String> {
    let text = |error: AppError| error.to_string();
    let config = Config::load(&args.config).map_err(|errors| errors.to_string())?;
    let setup = Setup::of(&config);
    let kinds = Arc::new(Kinds::load(&setup).await.map_err(text)?);
    let resolved = kinds.resolve(&config);
    if !resolved.errors.is_empty() {
        return Err(resolved.errors.to_string());
    }
    let prober = Arc::clone(&kinds).prober(&setup).map_err(text)?;
    let mut report = Report::default();
    let mut found = false;
    for target in &resolved.targets {
        for check in &target.checks {
            let id = target.check_id(check).to_string();
            if args.wanted.as_ref().is_none_or(|wanted| *wanted == id || *wanted == target.id) {
                found = true;
                report.check(&config, &prober, target, check).await;
            }
        }
    }
    match &args.wanted {
        Some(wanted) if !found => {
            let known: Vec<_> = resolved.targets.iter().map(|target| target.id.as_str()).collect();
            let (file, known) = (args.config.display(), known.join(", "));
            Err(format!("{file} has no target or check {wanted:?}; its targets are {known}"))
        }
        _ => Ok(report),
    }
}

impl Report {
    async fn check(
        &mut self,
        config: &Config,
        prober: &SandboxProber,
        target: &Target,
        check: &Check,
    ) {
        let kind = &check.kind;
        self.line(&format!("{}  {kind}", target.check_id(check)));
        let Some(planned) = prober.plan(kind, &check.config.to_string().into()).await else {
            let problem = prober.problem(kind).unwrap_or_default();
            return self.line(&format!("  nothing: it is not probed: {problem}"));
        };
        let allowed: &[Grant] =
            config.plugins.by_name.get(kind).map_or(&[], |settings| &settings.allow);
        match &*planned {
            Planned::Ready { plan, grants, .. } => {
                if plan.endpoints.is_empty() {
                    self.line("  nothing: its plan names no endpoint");
                }
                for endpoint in &plan.endpoints {
                    let why = if grants.is_named(endpoint) {
                        "its own config names it".to_owned()
                    } else {
                        allowed_by(kind, allowed, endpoint)
                    };
                    self.line(&format!("  {endpoint}  {why}"));
                }
            }
            Planned::Refused { outcome, denied, .. } => {
                self.refused = true;
                if denied.is_empty() {
                    self.line(&format!("  nothing: {}", outcome_text(outcome)));
                }
                for wish in denied {
                    self.line(&format!("  REFUSED  {wish}"));
                }
            }
        }
        for grant in allowed {
            let Grant { pattern, location } = grant;
            self.line(&format!(
                "  besides, whatever fits {pattern}  {location}: allow of [plugins.{kind}]"
            ));
        }
    }

    fn line(&mut self, text: &str) {
        // Writing to a String cannot fail.
        let _ = writeln!(self.text, "{text}");
    }
}

fn allowed_by(kind: &str, allowed: &[Grant], endpoint: &Endpoint) -> String {
    let grant = allowed.iter().find(|grant| grant.pattern.matches(endpoint));
    grant.map_or_else(String::new, |Grant { pattern, location }| {
        format!("{pattern} allows it, {location}: allow of [plugins.{kind}]")
    })
}

fn outcome_text(outcome: &Outcome) -> String {
    match outcome {
        Outcome::Pass => String::new(),
        Outcome::Fail(failure) => failure.message().to_owned(),
        Outcome::Inconclusive { error } => error.clone(),
    }
}
