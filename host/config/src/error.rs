//! What can be wrong with a configuration, and how it is shown.

use std::fmt;

use probehost_model::{IdError, sanitize};

use crate::mask;
use crate::source::{Excerpt, Location};

/// Most errors that are shown at once.
const SHOWN: usize = 20;

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
    /// A target without checks.
    #[error("the target has no checks")]
    NoChecks,
    /// An address that is none.
    #[error("this is not an address with a port")]
    BadAddress,
    /// An address that others could reach (contract E4).
    #[error("{0} can be reached from other machines, and there are no access tokens yet")]
    NotLoopback(std::net::SocketAddr),
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

impl Problem {
    /// What to do about it; empty when the text itself says so.
    #[must_use]
    pub fn help(&self) -> String {
        match self {
            Self::Unreadable(_) => "check the path and who may read it".into(),
            Self::TooBig => "take targets out, or run a second host for them".into(),
            Self::NotUtf8 => "save the file as UTF-8".into(),
            Self::Syntax(message) if message.contains("duplicate") => {
                "a key or [table] may stand once; write [[targets]] with two brackets for one more"
                    .into()
            }
            Self::Syntax(_) => "mend the line; texts need quotes, and tables a closing ]".into(),
            Self::TooDeep => "give the table a [header] of its own, or take levels out".into(),
            Self::UnknownKey { key, known } => suggest(key, known),
            Self::MissingKey { example, .. } => format!("add a line such as: {example}"),
            Self::WrongType { help: Some(help), .. } => (*help).into(),
            Self::WrongType { expected, .. } => format!("write {expected}"),
            Self::NotPositive { range, .. } | Self::OutOfRange { range, .. } => {
                format!("write {range}")
            }
            Self::BadNumber(_) => "write an ordinary number".into(),
            Self::NotOneOf { given, known, .. } => suggest(given, known),
            Self::BadId { .. } => "ids stand in URLs, metrics and logs just as they are".into(),
            Self::Empty { help, .. } => (*help).into(),
            Self::Duplicate { .. } => "rename one of the two".into(),
            Self::BothGiven { one, other } => format!("take out `{one}` or `{other}`"),
            Self::BadDatabaseUrl => {
                "write \"postgres://user@host:5432/database\", or `path` for an SQLite file".into()
            }
            Self::BadEngine => {
                "write one such as \"unix:///var/run/docker.sock\" or \"tcp://127.0.0.1:2375\""
                    .into()
            }
            Self::BadArgument => "take the \\u0000 out".into(),
            Self::BadVariable(_) => "write letters, digits and underscores".into(),
            Self::NoChecks => "add [[targets.checks]] with a kind below the target".into(),
            Self::BadAddress => "write one such as \"127.0.0.1:9640\" or \"[::1]:9640\"".into(),
            Self::NotLoopback(address) => format!(
                "listen on \"127.0.0.1:{}\", and let a proxy that knows its users stand before it",
                address.port()
            ),
            Self::BadDigest => "write the 64 hexadecimal digits that sha256sum prints".into(),
            Self::BadGrant(_) => String::new(),
            Self::TakenName(_) => "give the plugin's file another name".into(),
            Self::Schema { help, .. } => help.clone(),
            Self::PluginSchema { .. } => "tell the plugin's author, or take the plugin out".into(),
            Self::Plan { kind, .. } => format!("this is what the plugin `{kind}` answered"),
        }
    }
}

/// The nearest of the known words when one is near, and all of them otherwise.
pub(crate) fn suggest(given: &str, known: &[impl AsRef<str>]) -> String {
    let near = known
        .iter()
        .map(AsRef::as_ref)
        // A longer one is no slip of the pen, and would take long to compare.
        .filter(|_| given.len() <= 64)
        .map(|word| (strsim::damerau_levenshtein(&given.to_lowercase(), word), word))
        .filter(|(distance, word)| *distance <= (word.len() / 3).max(1))
        .min();
    match near {
        Some((_, word)) => format!("did you mean `{word}`?"),
        None => {
            let words: Vec<_> = known.iter().map(|word| format!("`{}`", word.as_ref())).collect();
            match words.as_slice() {
                [] => "nothing can stand here; take it out".into(),
                [only] => format!("only {only} can stand here"),
                _ => format!("known here: {}", words.join(", ")),
            }
        }
    }
}

/// One thing that is wrong, and where.
#[derive(Debug)]
pub struct ConfigError {
    location: Location,
    excerpt: Option<Excerpt>,
    problem: Problem,
    /// Another place that has to do with it, and what stands there.
    other: Option<(Location, Excerpt)>,
}

impl ConfigError {
    pub(crate) fn new(location: Location, excerpt: Option<Excerpt>, problem: Problem) -> Self {
        Self { location, excerpt, problem, other: None }
    }

    pub(crate) fn with_first(mut self, location: Location, excerpt: Excerpt) -> Self {
        self.other = Some((location, excerpt));
        self
    }

    /// Where it is.
    #[must_use]
    pub const fn location(&self) -> &Location {
        &self.location
    }

    /// What it is.
    #[must_use]
    pub const fn problem(&self) -> &Problem {
        &self.problem
    }

    /// For two of one name: where the first stands.
    #[must_use]
    pub fn first(&self) -> Option<&Location> {
        self.other.as_ref().map(|(location, _)| location)
    }
}

impl std::error::Error for ConfigError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        std::error::Error::source(&self.problem)
    }
}

/// A block of lines, each with its line end.
impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lines = [Some(&self.location), self.other.as_ref().map(|(location, _)| location)];
        let gutter = lines.into_iter().flatten().map(|at| at.line).max().unwrap_or(0);
        let gutter = gutter.to_string().len();
        write!(f, "error: ")?;
        if !self.location.key.is_empty() {
            write!(f, "{}: ", self.location.key)?;
        }
        writeln!(f, "{}", self.problem)?;
        writeln!(f, "{:gutter$}--> {}", "", self.location)?;
        if let Some(excerpt) = &self.excerpt {
            excerpt.show(f, self.location.line, gutter)?;
        }
        if let Some((location, excerpt)) = &self.other {
            writeln!(f, "{:gutter$}--> the first stands at {location}", "")?;
            excerpt.show(f, location.line, gutter)?;
        }
        match self.problem.help() {
            help if help.is_empty() => Ok(()),
            help => writeln!(f, "{:gutter$} = help: {help}", ""),
        }
    }
}

impl Excerpt {
    fn show(&self, f: &mut fmt::Formatter<'_>, line: usize, gutter: usize) -> fmt::Result {
        writeln!(f, "{:gutter$} |", "")?;
        writeln!(f, "{line:gutter$} | {}", self.text)?;
        writeln!(
            f,
            "{:gutter$} | {:indent$}{:^<width$}",
            "",
            "",
            "",
            indent = self.indent,
            width = self.width
        )
    }
}

/// Everything that is wrong, in the order of the file.
#[derive(Debug, Default)]
pub struct ConfigErrors(Vec<ConfigError>);

impl ConfigErrors {
    pub(crate) fn new(mut errors: Vec<ConfigError>) -> Self {
        errors.sort_by_key(|error| (error.location.line, error.location.column));
        Self(errors)
    }

    /// None: nothing is wrong.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// How many.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// One by one.
    pub fn iter(&self) -> std::slice::Iter<'_, ConfigError> {
        self.0.iter()
    }

    /// Adds what was found elsewhere, such as the errors of a plugin's plan.
    pub fn extend(&mut self, more: impl IntoIterator<Item = ConfigError>) {
        let mut all = std::mem::take(&mut self.0);
        all.extend(more);
        *self = Self::new(all);
    }
}

impl IntoIterator for ConfigErrors {
    type Item = ConfigError;
    type IntoIter = std::vec::IntoIter<ConfigError>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl<'a> IntoIterator for &'a ConfigErrors {
    type Item = &'a ConfigError;
    type IntoIter = std::slice::Iter<'a, ConfigError>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl std::error::Error for ConfigErrors {}

/// One block for each, at most twenty of them, and how many there are.
impl fmt::Display for ConfigErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for error in self.0.iter().take(SHOWN) {
            writeln!(f, "{error}")?;
        }
        if let Some(hidden) = self.0.len().checked_sub(SHOWN).filter(|hidden| *hidden > 0) {
            writeln!(f, "… and {hidden} more\n")?;
        }
        match self.0.len() {
            1 => write!(f, "1 error in the configuration"),
            count => write!(f, "{count} errors in the configuration"),
        }
    }
}

/// A text from the file, fit for an error message.
pub(crate) fn shown(text: &str) -> String {
    const LONGEST: usize = 64;
    let cut: String = text.chars().take(LONGEST).collect();
    let more = if cut.len() < text.len() { "…" } else { "" };
    sanitize(&mask::hide(&format!("{cut}{more}")))
}
