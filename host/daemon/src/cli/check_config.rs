//! `probehost check-config`: everything that can be known of a config without starting.

use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use probehost_config::{Config, ConfigErrors};
use probehost_model::Endpoint;

use super::fail;
use super::table::Table;
use crate::app::{AppError, Kinds, Planned, Setup, clamp_text, store_options};

pub(crate) async fn check_config(path: &Path) -> ExitCode {
    match report(path).await {
        Ok(text) => {
            print!("{text}");
            ExitCode::SUCCESS
        }
        Err(error) => fail(&error.to_string()),
    }
}

async fn report(path: &Path) -> Result<String, AppError> {
    let config = Config::load(path)?;
    store_options(&config)?;
    let setup = Setup::of(&config);
    let kinds = Arc::new(Kinds::load(&setup).await?);
    let resolved = kinds.resolve(&config);
    let mut errors: ConfigErrors = resolved.errors;
    let mut notes: Vec<String> = resolved.clamps.iter().map(clamp_text).collect();
    for missing in &resolved.missing_kinds {
        let problem = kinds.problem(&missing.kind).unwrap_or_default();
        notes.push(format!("{}: {} is not probed: {problem}", missing.location, missing.check));
    }
    let mut table = Table::new(&["TARGET", "CHECK", "KIND", "INTERVAL", "SUBJECT", "REACHES"]);
    // A check whose config the schema refuses has been reported already.
    if errors.is_empty() {
        let prober = Arc::clone(&kinds).prober(&setup)?;
        for target in &resolved.targets {
            for check in &target.checks {
                let config_text = check.config.to_string().into();
                let Some(planned) = prober.plan(&check.kind, &config_text).await else { continue };
                let id = target.check_id(check);
                match &*planned {
                    Planned::Ready { subject, plan, .. } => table.row([
                        target.id.clone(),
                        check.name.clone(),
                        check.kind.clone(),
                        check
                            .interval
                            .map_or("off".to_owned(), |every| format!("{} s", every.as_secs())),
                        subject.clone(),
                        plan.endpoints
                            .iter()
                            .map(Endpoint::to_string)
                            .collect::<Vec<_>>()
                            .join(", "),
                    ]),
                    Planned::Refused { wrong: Some((path, message)), .. } => {
                        errors.extend([config.plan_error(&id, path, message)]);
                    }
                    Planned::Refused { outcome, .. } => notes.push(format!("{id}: {outcome:?}")),
                }
            }
        }
    }
    if !errors.is_empty() {
        return Err(errors.into());
    }
    let checks: usize = resolved.targets.iter().map(|target| target.checks.len()).sum();
    let mut text = table.to_string();
    for note in notes {
        text.push_str(&format!("note: {note}\n"));
    }
    text.push_str(&format!(
        "\n{} is fine: {} targets, {checks} checks\n",
        path.display(),
        resolved.targets.len()
    ));
    Ok(text)
}
