//! Write probes for probehost.
//!
//! A plugin is a config struct, an impl of [`Probe`] and [`plugin!`]; it becomes one Wasm
//! component. This is a whole one, but for the two lines
//! `[lib] crate-type = ["cdylib", "rlib"]` and the dependency on this crate in its Cargo.toml:
//!
//! ```
//! use probehost_sdk::http::Request;
//! use probehost_sdk::{ConfigError, Plan, Probe, Problem, Reason, Run, Url};
//!
//! /// What a check of this kind is configured with.
//! #[probehost_sdk::config]
//! struct Config {
//!     /// The page to read.
//!     url: Url,
//!     /// A word that must be on it.
//!     word: String,
//! }
//!
//! struct PageHasWord;
//!
//! impl Probe for PageHasWord {
//!     type Config = Config;
//!     const DESCRIPTION: &'static str = "Whether a page holds a word.";
//!
//!     fn plan(config: &Config) -> Result<Plan, ConfigError> {
//!         if config.word.is_empty() {
//!             return Err(ConfigError::at("word", "is empty; name the word to look for"));
//!         }
//!         Ok(Plan::http(&config.url))
//!     }
//!
//!     fn check(config: &Config, run: &mut Run) -> Result<(), Problem> {
//!         let answer = run.record(Request::get(&config.url).send())?;
//!         if String::from_utf8_lossy(&answer.body).contains(&config.word) {
//!             return Ok(());
//!         }
//!         let page = config.url.origin().authority();
//!         Err(Problem::failure(Reason::Answer, format!("{page}: the word is not on the page")))
//!     }
//! }
//!
//! probehost_sdk::plugin!(PageHasWord);
//! # fn main() {}
//! ```
//!
//! `cargo build --target wasm32-wasip2 --release` makes the component, and `cargo test` runs
//! the author's tests natively, against the stubs in `native`.
//!
//! # What `?` does
//!
//! The error of a capability says what happened; [`Problem`] says what that means for the
//! target. `?` turns the one into the other: a refused connection is a failure with the reason
//! `network`, an expired deadline one with `timeout`, and a call that the host itself could
//! not make is inconclusive. What was measured until then is reported too.

// The macros name this crate from without; its own tests use them from within.
extern crate self as probehost_sdk;

#[doc(hidden)]
pub mod bindings;
mod config;
pub mod container;
pub mod dns;
mod guest;
mod headers;
pub mod http;
pub mod log;
#[cfg(not(target_arch = "wasm32"))]
pub mod native;
mod plan;
mod probe;
mod problem;
pub mod process;
mod run;
mod secret;
pub mod section;
pub mod ssh;
pub mod tcp;
pub mod udp;
mod url;

pub use bindings::probehost::plugin::types::{
    Address, Endpoint, Failure, Interval, Measurement, Origin, Outcome, Plan, Reason, Report,
    Scheme, Unit,
};
pub use config::ConfigError;
pub use headers::{HeaderValue, Headers};
pub use probe::Probe;
pub use probehost_sdk_macros::config;
pub use problem::Problem;
pub use run::Run;
pub use schemars;
pub use secret::Secret;
pub use serde;
pub use url::{Url, UrlError};

/// What the macros expand to; no part of the interface.
#[doc(hidden)]
pub mod __private {
    pub use crate::bindings::exports::probehost::plugin::probe::Guest;
    pub use crate::bindings::probehost::plugin::types::{
        ConfigError, Context, Manifest, Plan, Report,
    };
    pub use crate::guest::{check, describe, plan};

    /// Only something that is a probe can be exported.
    pub const fn is_probe<P: crate::Probe>() {}
}

/// Exports a [`Probe`] as the plugin that this crate is. Once in a crate.
///
/// For a target that is not Wasm it only makes sure that the type is a probe.
#[macro_export]
macro_rules! plugin {
    ($probe:ty) => {
        const _: () = {
            $crate::__private::is_probe::<$probe>();

            #[cfg(target_arch = "wasm32")]
            struct Exports;

            #[cfg(target_arch = "wasm32")]
            impl $crate::__private::Guest for Exports {
                fn describe() -> $crate::__private::Manifest {
                    $crate::__private::describe::<$probe>(
                        env!("CARGO_CRATE_NAME"),
                        env!("CARGO_PKG_VERSION"),
                    )
                }

                fn plan(
                    config: String,
                ) -> Result<$crate::__private::Plan, $crate::__private::ConfigError> {
                    $crate::__private::plan::<$probe>(&config)
                }

                fn check(
                    config: String,
                    context: $crate::__private::Context,
                ) -> $crate::__private::Report {
                    $crate::__private::check::<$probe>(&config, context)
                }
            }

            #[cfg(target_arch = "wasm32")]
    $crate::bindings::export!(Exports with_types_in $crate::bindings);
        };
    };
}
