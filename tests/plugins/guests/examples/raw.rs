//! Is made from `wit/v1` with wit-bindgen alone, without the SDK: it has no section that names
//! one.

#![allow(unsafe_code, missing_docs, unreachable_pub, reason = "the bindings are generated")]

mod bindings {
    wit_bindgen::generate!({ path: "../../../wit/v1", world: "plugin" });
}

use bindings::exports::probehost::plugin::probe::{ConfigError, Context, Guest, Manifest, Report};
use bindings::probehost::plugin::types::{Interval, Outcome, Plan};

struct Raw;

impl Guest for Raw {
    fn describe() -> Manifest {
        Manifest {
            name: "raw".to_owned(),
            version: "0.1.0".to_owned(),
            description: "A plugin for tests.".to_owned(),
            config_schema: r#"{"type":"object"}"#.to_owned(),
            interval: Interval { default: 30, minimum: 1, maximum: 86_400 },
            timeout_ms: 1_000,
            threshold: 2,
            concurrency: None,
        }
    }

    fn plan(_: String) -> Result<Plan, ConfigError> {
        Ok(Plan { subject: "nothing:0".to_owned(), endpoints: Vec::new() })
    }

    fn check(_: String, _: Context) -> Report {
        Report { outcome: Outcome::Pass, measurements: Vec::new() }
    }
}

bindings::export!(Raw with_types_in bindings);
