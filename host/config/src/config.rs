//! The file: found, read, and every part of it checked.

use std::collections::{BTreeSet, HashMap};
use std::fmt;
use std::io::Read as _;
use std::ops::Deref;
use std::path::Path;

use probehost_model::CheckId;
use toml::de::DeTable;

use crate::error::{ConfigError, ConfigErrors};
use crate::problem::Problem;
use crate::settings::Settings;
use crate::source::{Location, Source};
use crate::span::Span;
use crate::targets::{self, RawTarget};
use crate::walk::{KeyPath, Reader, Section};
use crate::{MAX_FILE_BYTES, depth, json, lifecycle, mask, tables};

/// A configuration that is right as far as it can be judged without knowing the plugins;
/// [`Config::resolve`] judges the rest. Its [`Settings`] are read as if they were its own.
pub struct Config {
    settings: Settings,
    pub(crate) targets: Vec<RawTarget>,
    pub(crate) source: Source,
    checks: HashMap<CheckId, (usize, usize)>,
}

impl Deref for Config {
    type Target = Settings;

    fn deref(&self) -> &Settings {
        &self.settings
    }
}

/// Without the targets and the text of the file, which may hold secrets.
impl fmt::Debug for Config {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Config").field("settings", &self.settings).finish_non_exhaustive()
    }
}

impl Config {
    /// Reads the file with the environment of the process.
    ///
    /// # Errors
    /// Everything that is wrong, at once.
    pub fn load(path: &Path) -> Result<Self, ConfigErrors> {
        let fail = |problem| {
            let location = Source::new(path, "").whole();
            ConfigErrors::new(vec![ConfigError::new(location, None, problem)])
        };
        let mut bytes = Vec::new();
        std::fs::File::open(path)
            .and_then(|file| file.take(MAX_FILE_BYTES + 1).read_to_end(&mut bytes))
            .map_err(|error| fail(Problem::Unreadable(error)))?;
        let env = |name: &str| std::env::var_os(name).map(|v| v.to_string_lossy().into_owned());
        Self::parse_bytes(&bytes, path, &env)
    }

    /// Checks what a file holds. `path` is what errors name, and its folder is the one that
    /// relative paths start from; `env` answers for environment variables.
    ///
    /// # Errors
    /// Everything that is wrong, at once.
    pub fn parse(
        text: &str,
        path: &Path,
        env: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Self, ConfigErrors> {
        Self::parse_bytes(text.as_bytes(), path, env)
    }

    /// As [`Config::parse`], for what may not be text.
    ///
    /// # Errors
    /// Everything that is wrong, at once.
    pub fn parse_bytes(
        bytes: &[u8],
        path: &Path,
        env: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Self, ConfigErrors> {
        if bytes.len() as u64 > MAX_FILE_BYTES {
            let location = Source::new(path, "").whole();
            let error = ConfigError::new(location, None, Problem::TooBig);
            return Err(ConfigErrors::new(vec![error]));
        }
        let text = std::str::from_utf8(bytes).map_err(|error| {
            let at = error.valid_up_to();
            let source = Source::new(path, &String::from_utf8_lossy(bytes));
            let error = source.error(&(at..at + 1), String::new(), Problem::NotUtf8);
            ConfigErrors::new(vec![error])
        })?;
        let source = Source::new(path, text);
        if let Some(span) = depth::too_deep(text) {
            let error = source.error(&span, String::new(), Problem::TooDeep);
            return Err(ConfigErrors::new(vec![error]));
        }
        let (tree, broken) = DeTable::parse_recoverable(text);
        let mut secrets = Vec::new();
        mask::in_tree(tree.get_ref(), &mut secrets);
        mask::database_url(tree.get_ref(), &mut secrets);
        mask::sink_urls(tree.get_ref(), &mut secrets);
        source.tell_secrets(secrets);
        if !broken.is_empty() {
            // One slip can lead to very many errors, none of which helps.
            let errors = broken.into_iter().take(100).map(|error| {
                let span = error.span().unwrap_or(text.len()..text.len());
                let message = said_elsewhere(error.message());
                source.error(&span, String::new(), Problem::Syntax(message))
            });
            return Err(ConfigErrors::new(errors.collect()));
        }
        let (settings, targets) = read(&source, tree.into_inner(), path, env)?;
        Ok(Self::new(settings, targets, source))
    }

    /// The probe kinds that the checks name.
    #[must_use]
    pub fn kinds(&self) -> BTreeSet<&str> {
        self.targets.iter().flat_map(|target| &target.checks).map(|c| c.kind.as_str()).collect()
    }

    /// Where a part of a check's config stands. `path` leads into the config as plugins
    /// write it (`headers[0].name` or `/headers/0/name`); the nearest thing that is in the
    /// file is found when it leads further, and the whole file for a check that is not in it.
    #[must_use]
    pub fn locate(&self, check: &CheckId, path: &str) -> Location {
        self.place(check, path)
            .map_or_else(|| self.source.whole(), |(span, key, _)| self.source.location(&span, key))
    }

    /// What a plugin's plan found wrong with a check's config, at its place in the file.
    #[must_use]
    pub fn plan_error(&self, check: &CheckId, path: &str, message: &str) -> ConfigError {
        let message = said_elsewhere(message);
        match self.place(check, path) {
            Some((span, key, kind)) => {
                let kind = kind.to_owned();
                self.source.error(&span, key, Problem::Plan { kind, message })
            }
            None => {
                let problem = Problem::Plan { kind: String::new(), message };
                ConfigError::new(self.source.whole(), None, problem)
            }
        }
    }

    /// The same settings with other targets.
    pub(crate) fn with_targets(&self, targets: Vec<RawTarget>, source: Source) -> Self {
        let mut settings = self.settings.clone();
        lifecycle::forget_places(&mut settings);
        Self::new(settings, targets, source)
    }

    fn new(settings: Settings, targets: Vec<RawTarget>, source: Source) -> Self {
        let checks = targets::index(&targets);
        Self { settings, targets, source, checks }
    }

    fn place(&self, check: &CheckId, path: &str) -> Option<(Span, String, &str)> {
        let (target, check) = self.checks.get(check)?;
        let target = self.targets.get(*target)?;
        let check = target.checks.get(*check)?;
        let steps = json::parse_path(path);
        let key = format!("{}.config", targets::path_of(target, check));
        Some((check.config_node.find(&steps, false), json::join(key, &steps), &check.kind))
    }
}

/// What a parser or a plugin says can repeat what stands in the file, so it is made fit.
fn said_elsewhere(message: &str) -> String {
    probehost_model::sanitize(&mask::hide(message))
}

fn read(
    source: &Source,
    table: DeTable<'_>,
    file: &Path,
    env: &dyn Fn(&str) -> Option<String>,
) -> Result<(Settings, Vec<RawTarget>), ConfigErrors> {
    let folder = file.parent().unwrap_or(Path::new(""));
    let mut reader = Reader::new(source);
    let mut root = Section::new(KeyPath::Root, table);
    let settings = tables::read(&mut reader, &mut root, folder, env);
    let path = KeyPath::Key(&KeyPath::Root, "targets");
    let targets = root.take("targets").map(|item| targets::read(&mut reader, item, path));
    root.finish(&mut reader);
    let errors = reader.into_errors();
    if errors.is_empty() {
        Ok((settings, targets.unwrap_or_default()))
    } else {
        Err(ConfigErrors::new(errors))
    }
}
