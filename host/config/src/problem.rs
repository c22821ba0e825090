//! What can be wrong with a configuration.

use probehost_model::lifecycle::PolicyError;
use probehost_model::{IdError, sanitize};

use crate::mask;

/// One thing that is wrong. The text says what; [`Problem::help`] says what to do.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Problem {
    /// The file can't be read.
    #[error("the configuration file can't be read: {0}")]
    Unreadable(#[source] std::io::Error),
    /// The file is over [`crate::MAX_FILE_BYTES`].
    #[error("the configuration file is over {} MiB", crate::MAX_FILE_BYTES >> 20)]
    TooBig,
    /// The file is no text.
    #[error("the file is not UTF-8 text: the first byte that is wrong is here")]
    NotUtf8,
    /// The TOML is broken.
    #[error("this is not TOML: {0}")]
    Syntax(String),
    /// Tables or lists within each other, or a key with very many dots.
    #[error("this is nested too deeply")]
    TooDeep,
    /// A key that nothing reads.
    #[error("unknown key `{key}`")]
    UnknownKey {
        /// As it stands in the file.
        key: String,
        /// Those that could stand here.
        known: Vec<String>,
    },
    /// A key that must be there.
    #[error("`{key}` is missing")]
    MissingKey {
        /// Its name.
        key: &'static str,
        /// A line to write.
        example: &'static str,
    },
    /// A value of another type.
    #[error("expected {expected}, found {found}")]
    WrongType {
        /// What it should be.
        expected: String,
        /// What it is.
        found: &'static str,
        /// What to do, when more can be said than the type.
        help: Option<&'static str>,
    },
    /// A number that has to be above zero (contract P10).
    #[error("{what} must be above zero")]
    NotPositive {
        /// What the number is.
        what: &'static str,
        /// What may stand there.
        range: &'static str,
    },
    /// A number outside of its range.
    #[error("{what} is out of range")]
    OutOfRange {
        /// What the number is.
        what: &'static str,
        /// What may stand there.
        range: &'static str,
    },
    /// A number that the host can't hold.
    #[error("this number can't be used: {0}")]
    BadNumber(&'static str),
    /// A text that is not one of a closed set.
    #[error("{given:?} is not a {what}")]
    NotOneOf {
        /// What stands there.
        given: String,
        /// What it should be.
        what: &'static str,
        /// Everything it could be.
        known: &'static [&'static str],
    },
    /// A text that can't be an id, a name or a kind.
    #[error("this {what} {source}")]
    BadId {
        /// What the text is.
        what: &'static str,
        /// What is wrong with it.
        source: IdError,
    },
    /// A text with nothing in it.
    #[error("{what} is empty")]
    Empty {
        /// What the text is.
        what: &'static str,
        /// What to do.
        help: &'static str,
    },
    /// Two of one name.
    #[error("the {what} `{name}` stands twice")]
    Duplicate {
        /// What has the name.
        what: &'static str,
        /// The name.
        name: String,
    },
    /// Two keys of which there may be one.
    #[error("`{one}` and `{other}` can't both be given")]
    BothGiven {
        /// The one.
        one: &'static str,
        /// And the other.
        other: &'static str,
    },
    /// A database's URL that is none.
    #[error("this is not the URL of a database that is known")]
    BadDatabaseUrl,
    /// A container engine's address that is none.
    #[error("this is not the address of a container engine")]
    BadEngine,
    /// A text that no program can be given.
    #[error("a program can't be given a text with a zero byte in it")]
    BadArgument,
    /// The name of an environment variable that is none.
    #[error("{0:?} is not the name of an environment variable")]
    BadVariable(String),
    /// A runtime that names nothing (contract L9).
    #[error("the runtime names neither a container nor a command")]
    NoRuntime,
    /// The name of a container that is none.
    #[error("{0:?} is not the name or the id of a container")]
    BadContainer(String),
    /// A restart command that `[commands]` does not have.
    #[error("[commands] has no `{given}`")]
    UnknownCommand {
        /// What stands there.
        given: String,
        /// Those that there are.
        known: Vec<String>,
    },
    /// A sink that `[notify.sinks]` does not have (contract E5).
    #[error("[notify.sinks] has no `{given}`")]
    UnknownSink {
        /// What stands there.
        given: String,
        /// Those that there are.
        known: Vec<String>,
    },
    /// The URL of a sink that is none. It may be secret, so it is not repeated.
    #[error("this is not a URL that such a sink can have")]
    BadSinkUrl {
        /// Whether mail goes there.
        email: bool,
    },
    /// A key of another kind of sink.
    #[error("a sink of the kind `{kind}` does not have this")]
    NotForSink {
        /// The kind that it has.
        kind: &'static str,
        /// The kind that has such a key.
        wanted: &'static str,
    },
    /// A mail address that is none.
    #[error("this is not a mail address")]
    BadMailAddress,
    /// A moment that is none, or that says no offset.
    #[error("this is not a date and time with its offset")]
    BadTime,
    /// A time of day that is none.
    #[error("this is not a time of day")]
    BadClock,
    /// A time zone that nobody knows.
    #[error("there is no time zone {0:?}")]
    BadZone(String),
    /// A window that ends before it begins.
    #[error("the window ends before it begins")]
    EndsFirst,
    /// A policy for a target that is never restarted.
    #[error("a target without a runtime is only watched, so this does nothing")]
    NotManaged,
    /// A managed target that nothing can find down.
    #[error("the target has a runtime and no liveness check, so it would never be restarted")]
    NoLiveness,
    /// A value of a policy that is out of its range.
    #[error("{0}")]
    Policy(#[source] PolicyError),
    /// Layers of a policy that don't go together (contract L10).
    #[error("the policy of `{target}` contradicts itself: {error}")]
    Contradiction {
        /// The target, or the first one.
        target: String,
        /// What is wrong.
        #[source]
        error: Box<PolicyError>,
        /// Where each of the two values comes from.
        origins: String,
    },
    /// A target without checks.
    #[error("the target has no checks")]
    NoChecks,
    /// An address that is none.
    #[error("this is not an address with a port")]
    BadAddress,
    /// A digest that is none.
    #[error("this is not a SHA-256 digest")]
    BadDigest,
    /// A grant that is none. Its text also says what would be right.
    #[error("{0}")]
    BadGrant(String),
    /// A plugin's table under a name that is a setting.
    #[error("`{0}` is a setting of [plugins], so no plugin can have that name")]
    TakenName(String),
    /// A check's config that the plugin's schema refuses.
    #[error("{message}")]
    Schema {
        /// What is wrong.
        message: String,
        /// What to do; empty when the message says it all.
        help: String,
    },
    /// A JSON Schema of a plugin that is none.
    #[error("the plugin `{kind}` brings a config schema that can't be used: {message}")]
    PluginSchema {
        /// The probe kind.
        kind: String,
        /// What is wrong with the schema.
        message: String,
    },
    /// What a plugin said about a check's config.
    #[error("{message}")]
    Plan {
        /// The probe kind.
        kind: String,
        /// What the plugin said.
        message: String,
    },
}

/// A text from the file, fit for an error message.
pub(crate) fn shown(text: &str) -> String {
    const LONGEST: usize = 64;
    let cut: String = text.chars().take(LONGEST).collect();
    let more = if cut.len() < text.len() { "…" } else { "" };
    sanitize(&mask::hide(&format!("{cut}{more}")))
}
