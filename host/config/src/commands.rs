//! `[commands]`: programs that the operator names, for plugins to talk to.

use std::collections::BTreeMap;
use std::path::Path;

use probehost_model::check_id_text;

use crate::problem::{Problem, shown};
use crate::settings::{Command, EnvValue};
use crate::walk::{Item, KeyPath, Reader, Section, section};

const AS_A_LIST: &str = "write the program and each of its arguments as a text of its own: \
                         [\"npx\", \"-y\", \"some-server\"]";

pub(crate) fn read(
    reader: &mut Reader<'_>,
    item: Option<Item<'_>>,
    folder: &Path,
) -> BTreeMap<String, Command> {
    let section = section(reader, item, "commands");
    let parent = section.path;
    let mut commands = BTreeMap::new();
    for (key, item) in section.rest() {
        let name = key.get_ref();
        let path = KeyPath::Key(&parent, name);
        if let Err(source) = check_id_text(name) {
            reader.report(&key.span(), path, Problem::BadId { what: "command name", source });
        } else if let Some(command) = command(reader, item, path, folder) {
            commands.insert(name.to_string(), command);
        }
    }
    commands
}

/// A list, or a table with more than that.
fn command(
    reader: &mut Reader<'_>,
    item: Item<'_>,
    path: KeyPath<'_>,
    folder: &Path,
) -> Option<Command> {
    if item.get_ref().is_array() {
        let argv = argv(reader, item, path)?;
        return Some(Command { argv, env: Vec::new(), cwd: None });
    }
    let span = item.span();
    let help = Some(AS_A_LIST);
    let mut section = Section::new(path, reader.table(item, path, help)?);
    let argv_item = section.take("argv");
    if argv_item.is_none() {
        let example = "argv = [\"npx\", \"-y\", \"some-server\"]";
        reader.report(&span, path, Problem::MissingKey { key: "argv", example });
    }
    let argv = argv_item.and_then(|item| argv(reader, item, KeyPath::Key(&path, "argv")));
    let env = section.take("env").map(|item| environment(reader, item, KeyPath::Key(&path, "env")));
    let cwd = section.take("cwd").and_then(|item| {
        let path = KeyPath::Key(&path, "cwd");
        let text = reader.string(&item, path)?;
        if text.trim().is_empty() {
            let help =
                "write a folder; one that does not begin with / starts at this file's folder";
            reader.report(&item.span(), path, Problem::Empty { what: "the path", help });
            return None;
        }
        Some(folder.join(text))
    });
    section.finish(reader);
    Some(Command { argv: argv?, env: env.unwrap_or_default(), cwd })
}

fn argv(reader: &mut Reader<'_>, item: Item<'_>, path: KeyPath<'_>) -> Option<Vec<String>> {
    let span = item.span();
    let items = reader.array(item, path, "a list of texts", Some(AS_A_LIST))?;
    let mut argv = Vec::with_capacity(items.len());
    for (index, item) in items.iter().enumerate() {
        let path = KeyPath::Index(&path, index);
        let text = reader.string(item, path)?;
        if text.contains('\0') {
            reader.report(&item.span(), path, Problem::BadArgument);
            return None;
        }
        argv.push(text);
    }
    if argv.first().is_none_or(|program| program.trim().is_empty()) {
        let problem = Problem::Empty { what: "the command", help: AS_A_LIST };
        reader.report(&span, path, problem);
        return None;
    }
    Some(argv)
}

fn environment(
    reader: &mut Reader<'_>,
    item: Item<'_>,
    path: KeyPath<'_>,
) -> Vec<(String, EnvValue)> {
    let help =
        Some("write a table of variables: { MODE = \"read\", API_KEY = { secret = \"name\" } }");
    let mut env = Vec::new();
    for (key, item) in reader.table(item, path, help).into_iter().flatten() {
        let name = key.get_ref();
        let path = KeyPath::Key(&path, name);
        if name.is_empty() || name.contains(['=', '\0']) {
            reader.report(&key.span(), path, Problem::BadVariable(shown(name)));
            continue;
        }
        if let Some(value) = value(reader, item, path) {
            env.push((name.to_string(), value));
        }
    }
    env
}

fn value(reader: &mut Reader<'_>, item: Item<'_>, path: KeyPath<'_>) -> Option<EnvValue> {
    if !item.get_ref().is_table() {
        let text = reader.string(&item, path)?;
        if text.contains('\0') {
            reader.report(&item.span(), path, Problem::BadArgument);
            return None;
        }
        return Some(EnvValue::Text(text));
    }
    secret(reader, item, path).map(EnvValue::Secret)
}

/// The name of a secret: `{ secret = "name" }`.
pub(crate) fn secret(reader: &mut Reader<'_>, item: Item<'_>, path: KeyPath<'_>) -> Option<String> {
    let span = item.span();
    let mut section = Section::new(path, reader.table(item, path, None)?);
    let secret = section.take("secret");
    if secret.is_none() {
        let example = "{ secret = \"name\" }";
        reader.report(&span, path, Problem::MissingKey { key: "secret", example });
    }
    let secret = secret.and_then(|item| reader.string(&item, KeyPath::Key(&path, "secret")));
    section.finish(reader);
    secret
}
