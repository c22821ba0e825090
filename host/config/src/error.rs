//! Everything that is wrong with a configuration, each thing at its place, and how it is shown.

use std::fmt;

use crate::problem::Problem;
use crate::source::{Excerpt, Location};

/// Most errors that are shown at once.
const SHOWN: usize = 20;

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
