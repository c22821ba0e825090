//! Walking the parsed tree: every value is taken by its key, with its type, its range and
//! its place, and what nobody took is unknown. All errors are kept, none ends the walk.

use std::fmt;
use std::time::Duration;

use toml::Spanned;
use toml::de::{DeArray, DeInteger, DeTable, DeValue};

use crate::error::ConfigError;
use crate::problem::{Problem, shown};
use crate::source::Source;
use crate::span::Span;

/// Where in the tree something stands. Borrows its parents, so that the walk of a good file
/// builds no texts.
#[derive(Debug, Clone, Copy)]
pub(crate) enum KeyPath<'p> {
    Root,
    Key(&'p KeyPath<'p>, &'p str),
    Index(&'p KeyPath<'p>, usize),
}

impl fmt::Display for KeyPath<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Root => Ok(()),
            Self::Index(parent, index) => write!(f, "{parent}[{index}]"),
            Self::Key(parent, key) => {
                write!(f, "{parent}")?;
                if !matches!(parent, Self::Root) {
                    f.write_str(".")?;
                }
                write_key(f, key)
            }
        }
    }
}

/// A key as it is written in TOML: bare where it can be.
pub(crate) fn write_key(out: &mut impl fmt::Write, key: &str) -> fmt::Result {
    let bare = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    if !key.is_empty() && key.chars().all(bare) && key.len() <= 64 {
        out.write_str(key)
    } else {
        write!(out, "\"{}\"", shown(key))
    }
}

/// A value of the file and where it stands.
pub(crate) type Item<'i> = Spanned<DeValue<'i>>;

/// The items of a list, by value: the parser's own list only lends them.
pub(crate) fn items_of(mut list: DeArray<'_>) -> impl Iterator<Item = Item<'_>> {
    let items: Vec<_> = list
        .iter_mut()
        .map(|item| std::mem::replace(item, Spanned::new(0..0, DeValue::Boolean(false))))
        .collect();
    items.into_iter()
}

/// Collects errors on the way.
pub(crate) struct Reader<'s> {
    pub(crate) source: &'s Source,
    errors: Vec<ConfigError>,
}

impl<'s> Reader<'s> {
    pub(crate) const fn new(source: &'s Source) -> Self {
        Self { source, errors: Vec::new() }
    }

    pub(crate) fn report(&mut self, span: &Span, path: KeyPath<'_>, problem: Problem) {
        self.errors.push(self.source.error(span, path.to_string(), problem));
    }

    /// Two of one name: points at both.
    pub(crate) fn report_twice(
        &mut self,
        (span, path): (&Span, KeyPath<'_>),
        (first, first_path): (&Span, KeyPath<'_>),
        problem: Problem,
    ) {
        let location = self.source.location(first, first_path.to_string());
        let error = self.source.error(span, path.to_string(), problem);
        self.errors.push(error.with_first(location, self.source.excerpt(first)));
    }

    pub(crate) fn into_errors(self) -> Vec<ConfigError> {
        self.errors
    }

    pub(crate) fn wrong_type(
        &mut self,
        item: &Item<'_>,
        path: KeyPath<'_>,
        expected: &str,
        help: Option<&'static str>,
    ) {
        let problem =
            Problem::WrongType { expected: expected.into(), found: type_of(item.get_ref()), help };
        self.report(&item.span(), path, problem);
    }

    pub(crate) fn string(&mut self, item: &Item<'_>, path: KeyPath<'_>) -> Option<String> {
        let text = item.get_ref().as_str().map(str::to_owned);
        if text.is_none() {
            self.wrong_type(item, path, "a text in quotes", None);
        }
        text
    }

    pub(crate) fn table<'i>(
        &mut self,
        item: Item<'i>,
        path: KeyPath<'_>,
        help: Option<&'static str>,
    ) -> Option<DeTable<'i>> {
        if item.get_ref().is_table() {
            return match item.into_inner() {
                DeValue::Table(table) => Some(table),
                _ => None,
            };
        }
        self.wrong_type(&item, path, "a table", help);
        None
    }

    pub(crate) fn array<'i>(
        &mut self,
        item: Item<'i>,
        path: KeyPath<'_>,
        expected: &str,
        help: Option<&'static str>,
    ) -> Option<DeArray<'i>> {
        if item.get_ref().is_array() {
            return match item.into_inner() {
                DeValue::Array(array) => Some(array),
                _ => None,
            };
        }
        self.wrong_type(&item, path, expected, help);
        None
    }

    /// A whole number of at least 1: a threshold or a limit.
    pub(crate) fn count(
        &mut self,
        item: &Item<'_>,
        path: KeyPath<'_>,
        what: &'static str,
        most: u32,
        range: &'static str,
    ) -> Option<u32> {
        let number = self.whole(item, path)?;
        let problem = match u32::try_from(number) {
            Ok(count) if (1..=most).contains(&count) => return Some(count),
            _ if number <= 0 => Problem::NotPositive { what, range },
            _ => Problem::OutOfRange { what, range },
        };
        self.report(&item.span(), path, problem);
        None
    }

    pub(crate) fn whole(&mut self, item: &Item<'_>, path: KeyPath<'_>) -> Option<i64> {
        let DeValue::Integer(number) = item.get_ref() else {
            self.wrong_type(item, path, "a whole number", None);
            return None;
        };
        let number = integer(number);
        if number.is_none() {
            self.report(&item.span(), path, Problem::BadNumber("it does not fit into 64 bits"));
        }
        number
    }

    /// A number, whole or with a fraction; it may be infinite.
    pub(crate) fn number(
        &mut self,
        item: &Item<'_>,
        path: KeyPath<'_>,
        expected: &str,
    ) -> Option<f64> {
        let number = match item.get_ref() {
            #[expect(clippy::cast_precision_loss, reason = "what is lost is far out of range")]
            DeValue::Integer(_) => self.whole(item, path)? as f64,
            DeValue::Float(number) => number.as_str().parse().unwrap_or(f64::NAN),
            _ => {
                self.wrong_type(item, path, expected, None);
                return None;
            }
        };
        if number.is_nan() {
            self.report(&item.span(), path, Problem::BadNumber("it is not a number"));
            return None;
        }
        Some(number)
    }

    /// The deadline of a probe.
    pub(crate) fn timeout(&mut self, item: &Item<'_>, path: KeyPath<'_>) -> Option<Duration> {
        const RANGE: &str = "seconds from 0.001 to 3600, such as 10 or 2.5";
        self.seconds(item, path, "a timeout", 0.001, RANGE)
    }

    /// A time span in seconds, whole or with a fraction: from `low`, which is above 0, up to an
    /// hour.
    pub(crate) fn seconds(
        &mut self,
        item: &Item<'_>,
        path: KeyPath<'_>,
        what: &'static str,
        low: f64,
        range: &'static str,
    ) -> Option<Duration> {
        let seconds = self.number(item, path, "a number of seconds")?;
        let problem = if seconds <= 0.0 {
            Problem::NotPositive { what, range }
        } else if !(low..=3600.0).contains(&seconds) {
            Problem::OutOfRange { what, range }
        } else {
            return Duration::try_from_secs_f64(seconds).ok();
        };
        self.report(&item.span(), path, problem);
        None
    }

    /// A text that is one of a closed set.
    pub(crate) fn one_of<T: Copy>(
        &mut self,
        item: &Item<'_>,
        path: KeyPath<'_>,
        what: &'static str,
        known: &'static [&'static str],
        values: &[T],
    ) -> Option<T> {
        let text = self.string(item, path)?;
        let value = known.iter().zip(values).find(|(word, _)| **word == text).map(|(_, v)| *v);
        if value.is_none() {
            self.report(&item.span(), path, Problem::NotOneOf { given: shown(&text), what, known });
        }
        value
    }
}

impl Source {
    pub(crate) fn error(&self, span: &Span, key: String, problem: Problem) -> ConfigError {
        ConfigError::new(self.location(span, key), Some(self.excerpt(span)), problem)
    }
}

/// A table that is being read.
pub(crate) struct Section<'p, 'i> {
    pub(crate) path: KeyPath<'p>,
    table: DeTable<'i>,
    known: Vec<&'static str>,
}

impl<'p, 'i> Section<'p, 'i> {
    pub(crate) const fn new(path: KeyPath<'p>, table: DeTable<'i>) -> Self {
        Self { path, table, known: Vec::new() }
    }

    /// The value of that key, and that the key is known.
    pub(crate) fn take(&mut self, key: &'static str) -> Option<Item<'i>> {
        self.known.push(key);
        self.table.remove(key)
    }

    /// What nobody took is unknown.
    pub(crate) fn finish(self, reader: &mut Reader<'_>) {
        for key in self.table.keys() {
            let problem = Problem::UnknownKey {
                key: shown(key.get_ref()),
                known: self.known.iter().map(|known| (*known).to_owned()).collect(),
            };
            reader.report(&key.span(), KeyPath::Key(&self.path, key.get_ref()), problem);
        }
    }

    /// What nobody took, for a table where any key may stand.
    pub(crate) fn rest(self) -> DeTable<'i> {
        self.table
    }
}

/// Reads one of the tables at the top; nothing is there when it is missing or no table.
pub(crate) fn section<'i>(
    reader: &mut Reader<'_>,
    item: Option<Item<'i>>,
    name: &'static str,
) -> Section<'static, 'i> {
    let path = KeyPath::Key(&KeyPath::Root, name);
    let help = Some("write its name in brackets on a line, and its keys on the lines below");
    let table = item.and_then(|item| reader.table(item, path, help)).unwrap_or_default();
    Section::new(path, table)
}

/// None: does not fit.
pub(crate) fn integer(number: &DeInteger<'_>) -> Option<i64> {
    i64::from_str_radix(number.as_str(), number.radix()).ok()
}

/// The type of a value, for people.
pub(crate) const fn type_of(value: &DeValue<'_>) -> &'static str {
    match value {
        DeValue::String(_) => "a text",
        DeValue::Integer(_) => "a whole number",
        DeValue::Float(_) => "a number with a fraction",
        DeValue::Boolean(_) => "true or false",
        DeValue::Datetime(_) => "a date or time",
        DeValue::Array(_) => "a list",
        DeValue::Table(_) => "a table",
    }
}
