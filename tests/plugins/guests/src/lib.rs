//! What the hostile and odd plugins share.
//!
//! Those that an author could have written use the SDK as authors do. The others implement
//! [`Odd`], which is the bare contract, so that they can break it; they are small, too.

pub use probehost_sdk::__private::{ConfigError, Context, Guest, Manifest, Plan, Report};
use probehost_sdk::{Interval, Outcome};

/// The contract, with defaults that are well-behaved: a check passes and reaches nothing.
pub trait Odd {
    /// Says what the plugin is. `krate` is the name of its crate.
    #[must_use]
    fn describe(krate: &str) -> Manifest {
        manifest(krate)
    }

    /// Reads a config and plans.
    ///
    /// # Errors
    ///
    /// What is wrong with the config.
    fn plan(config: String) -> Result<Plan, ConfigError> {
        let _ = config;
        Ok(Plan { subject: "nothing:0".to_owned(), endpoints: Vec::new() })
    }

    /// Runs one probe.
    #[must_use]
    fn check(config: String, context: Context) -> Report {
        let _ = (config, context);
        pass()
    }
}

/// A good manifest for a plugin that takes any config.
#[must_use]
pub fn manifest(krate: &str) -> Manifest {
    Manifest {
        name: krate.replace('_', "-"),
        version: "0.1.0".to_owned(),
        description: "A plugin for tests.".to_owned(),
        config_schema: r#"{"type":"object"}"#.to_owned(),
        interval: Interval { default: 30, minimum: 1, maximum: 86_400 },
        timeout_ms: 1_000,
        threshold: 2,
        concurrency: None,
    }
}

/// A report that the target is well.
#[must_use]
pub fn pass() -> Report {
    Report { outcome: Outcome::Pass, measurements: Vec::new() }
}

/// Exports an [`Odd`] as the plugin that the crate is.
#[macro_export]
macro_rules! odd {
    ($odd:ty) => {
        const _: () = {
            struct Exports;

            impl $crate::Guest for Exports {
                fn describe() -> $crate::Manifest {
                    <$odd as $crate::Odd>::describe(env!("CARGO_CRATE_NAME"))
                }

                fn plan(config: String) -> Result<$crate::Plan, $crate::ConfigError> {
                    <$odd as $crate::Odd>::plan(config)
                }

                fn check(config: String, context: $crate::Context) -> $crate::Report {
                    <$odd as $crate::Odd>::check(config, context)
                }
            }

    probehost_sdk::bindings::export!(Exports with_types_in probehost_sdk::bindings);
        };
    };
}
