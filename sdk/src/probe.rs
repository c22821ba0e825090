//! The trait that a plugin implements.

use std::time::Duration;

use schemars::JsonSchema;
use serde::de::DeserializeOwned;

use crate::{ConfigError, Interval, Plan, Problem, Run};

/// A probe kind: what a plugin knows of itself, and its two functions.
///
/// The kind's name and version are those of the crate: `http-head` for a crate `http-head`
/// or `http_head`. Hand the type to [`plugin!`](crate::plugin!) to export it.
pub trait Probe {
    /// A check's config, made with [`config`](macro@crate::config).
    type Config: DeserializeOwned + JsonSchema;

    /// One sentence for people: what a check of this kind tells.
    const DESCRIPTION: &'static str;

    /// How often checks of this kind run, in seconds; every 30 s when a check names no
    /// interval, and any from 5 s to a day when it does.
    const INTERVAL: Interval = Interval { default: 30, minimum: 5, maximum: 86_400 };

    /// The deadline of one probe when a check names none. It counts in whole milliseconds.
    const TIMEOUT: Duration = Duration::from_secs(10);

    /// Consecutive failures until `unhealthy` when a check names no threshold. Never 0.
    const THRESHOLD: u32 = 2;

    /// How many probes of this kind may run at once. None: as many as the host runs at all.
    const CONCURRENCY: Option<u32> = None;

    /// Says what a check is about and what it will reach. It has no capability: a call of
    /// one traps. The host may keep the answer for as long as the config stays.
    ///
    /// # Errors
    ///
    /// What is wrong with the config beyond its types.
    fn plan(config: &Self::Config) -> Result<Plan, ConfigError>;

    /// Runs one probe. `Ok` says that the target is well.
    ///
    /// What was measured on the run is reported also when the check ends with an error.
    ///
    /// # Errors
    ///
    /// Why the target is not well, or why nothing can be said about it. The error of a
    /// capability becomes the right one of the two with `?`.
    fn check(config: &Self::Config, run: &mut Run) -> Result<(), Problem>;
}
