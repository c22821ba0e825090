//! What [`plugin!`](crate::plugin!) exports, in terms of a [`Probe`].

use crate::bindings::probehost::plugin::types;
use crate::config::parse;
use crate::{Plan, Probe, Run};

/// Says what the plugin is. `krate` is the name of its crate.
#[must_use]
pub fn describe<P: Probe>(krate: &str, version: &str) -> types::Manifest {
    let schema = schemars::SchemaGenerator::default().into_root_schema_for::<P::Config>();
    types::Manifest {
        name: krate.replace('_', "-"),
        version: version.to_owned(),
        description: P::DESCRIPTION.to_owned(),
        config_schema: schema.as_value().to_string(),
        interval: P::INTERVAL,
        timeout_ms: P::TIMEOUT.as_millis().try_into().unwrap_or(u32::MAX),
        threshold: P::THRESHOLD,
        concurrency: P::CONCURRENCY,
    }
}

/// Reads a config and plans.
///
/// # Errors
///
/// What is wrong with the config.
pub fn plan<P: Probe>(config: &str) -> Result<Plan, types::ConfigError> {
    parse(config)
        .and_then(|config| P::plan(&config))
        .map_err(|error| types::ConfigError { path: error.path, message: error.message })
}

/// Reads a config and runs one probe.
#[must_use]
pub fn check<P: Probe>(config: &str, context: types::Context) -> types::Report {
    let mut run = Run::new(context);
    let result = match parse(config) {
        Ok(config) => P::check(&config, &mut run),
        Err(error) => Err(error.into()),
    };
    types::Report {
        outcome: result.map_or_else(types::Outcome::from, |()| types::Outcome::Pass),
        measurements: run.into_measurements(),
    }
}
