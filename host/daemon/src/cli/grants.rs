//! `probehost grants`: what each check may reach, and why (contract G2).

use std::fmt::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use clap::Args;
use probehost_config::{Config, Grant};
use probehost_model::{Check, Target};

use super::fail;
use crate::app::{Allowed, AppError, Kinds, Reached, SandboxProber, Setup, reach};

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
        let allow: &[Grant] =
            config.plugins.by_name.get(kind).map_or(&[], |settings| &settings.allow);
        let reach = reach(prober, allow, check).await;
        self.refused |= reach.is_refused;
        self.line(&format!("{}  {kind}", target.check_id(check)));
        if let Some(why) = &reach.nothing {
            self.line(&format!("  nothing: {why}"));
        }
        for Reached { endpoint, by } in &reach.endpoints {
            let why = match by {
                None => "its own config names it".to_owned(),
                Some(Allowed { pattern, location }) => {
                    format!("{pattern} allows it, {location}: allow of [plugins.{kind}]")
                }
            };
            self.line(&format!("  {endpoint}  {why}"));
        }
        for wish in &reach.refused {
            self.line(&format!("  REFUSED  {wish}"));
        }
        for Allowed { pattern, location } in &reach.allowed {
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
