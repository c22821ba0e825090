//! `probehost plugin new NAME --lang LANG`: a project that builds as it is.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::{fs, io};

use clap::{Args, ValueEnum};
use probehost_builtin::BUILTIN;
use probehost_sandbox::{MAX_NAME_BYTES, is_name};

use crate::cli::fail;

/// Each file of a project: its place there, after the language, and its text.
const EMBEDDED: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/embedded.rs"));

/// Names that no crate can have, or none that is of use.
const NOT_IN_RUST: [&str; 45] = [
    "abstract",
    "alloc",
    "as",
    "async",
    "await",
    "become",
    "box",
    "break",
    "const",
    "continue",
    "core",
    "crate",
    "do",
    "dyn",
    "else",
    "enum",
    "extern",
    "false",
    "final",
    "fn",
    "for",
    "gen",
    "if",
    "impl",
    "in",
    "let",
    "loop",
    "macro",
    "match",
    "mod",
    "move",
    "mut",
    "override",
    "priv",
    "proc-macro",
    "pub",
    "ref",
    "return",
    "self",
    "static",
    "std",
    "struct",
    "super",
    "test",
    "trait",
];

#[derive(Debug, Args)]
pub(crate) struct NewArgs {
    /// The probe kind: lower-case words joined by hyphens.
    name: String,
    /// The language to write it in.
    #[arg(long, value_enum)]
    lang: Language,
    /// The project's folder, which must not be there yet. Without it, NAME here.
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
}

/// A language that plugins can be written in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Language {
    /// Rust, through the SDK.
    Rust,
    /// TypeScript, in QuickJS.
    #[value(alias = "typescript")]
    Ts,
    /// CPython.
    #[value(alias = "py")]
    Python,
}

impl Language {
    /// The folder of its templates.
    const fn folder(self) -> &'static str {
        match self {
            Self::Rust => "rust/",
            Self::Ts => "ts/",
            Self::Python => "python/",
        }
    }
}

pub(crate) fn new(args: &NewArgs) -> ExitCode {
    let dir = args.dir.clone().unwrap_or_else(|| PathBuf::from(&args.name));
    let made = usable(&args.name, args.lang).and_then(|()| {
        write(&dir, &args.name, args.lang).map_err(|error| match error.kind() {
            io::ErrorKind::AlreadyExists => format!(
                "{} is there already; name another folder with --dir, or remove it",
                dir.display()
            ),
            _ => format!("{} can't be written: {error}", dir.display()),
        })
    });
    if let Err(message) = made {
        return fail(&message);
    }
    let (dir, name) = (dir.display(), &args.name);
    println!(
        "{dir} is a project for the probe kind {name}. Next:\n  \
         probehost plugin build {dir}\n  \
         probehost plugin test {dir}/dist/{name}.wasm --config '{{\"url\": \"https://example.com\"}}'"
    );
    ExitCode::SUCCESS
}

/// Whether a plugin can have this name.
fn usable(name: &str, language: Language) -> Result<(), String> {
    if !is_name(name) {
        return Err(format!(
            "{name:?} can't be the name of a probe kind; use 1 to {MAX_NAME_BYTES} lower-case \
             letters, digits and single hyphens, beginning with a letter: page-has-word"
        ));
    }
    if BUILTIN.iter().any(|builtin| builtin.name == name) {
        return Err(format!("{name} is a built-in probe kind; choose another name"));
    }
    if ["directory", "cache"].contains(&name) {
        return Err(format!(
            "{name} is a key of [plugins] in the host's file; choose another name"
        ));
    }
    if language == Language::Rust
        && (NOT_IN_RUST.contains(&name) || name.starts_with("probehost-sdk"))
    {
        return Err(format!("{name} can't be the name of a Rust crate; choose another name"));
    }
    Ok(())
}

/// Writes the project into a folder that it makes.
fn write(dir: &Path, name: &str, language: Language) -> io::Result<()> {
    if let Some(above) = dir.parent() {
        fs::create_dir_all(above)?;
    }
    fs::create_dir(dir)?;
    for (place, text) in files(name, language) {
        let path = dir.join(place);
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder)?;
        }
        fs::write(path, text)?;
    }
    Ok(())
}

/// The files of a project, by their place in it.
pub(super) fn files(name: &str, language: Language) -> impl Iterator<Item = (String, String)> {
    EMBEDDED.iter().filter_map(move |(place, text)| {
        let place = place.strip_prefix(language.folder())?;
        // A template has names that no tool takes for a project's; the rest is as it is.
        let Some(place) = place.strip_suffix(".in") else {
            return Some((place.to_owned(), (*text).to_owned()));
        };
        let place = match place.strip_prefix("github/") {
            Some(below) => format!(".github/{below}"),
            None if place == "gitignore" => ".gitignore".to_owned(),
            None => place.to_owned(),
        };
        Some((place, text.replace("{{name}}", name)))
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn project(language: Language) -> BTreeMap<String, String> {
        files("a-probe", language).collect()
    }

    /// What a project is told to have, it has, and nothing of a template is left in it.
    #[test]
    fn projects_are_whole() {
        for (language, own) in [
            (Language::Rust, ["Cargo.toml", "src/lib.rs"]),
            (Language::Ts, ["package.json", "src/index.ts"]),
            (Language::Python, ["requirements.txt", "src/app.py"]),
        ] {
            let files = project(language);
            for place in own.iter().chain(&["README.md", ".gitignore", ".github/workflows/ci.yml"])
            {
                assert!(files.contains_key(*place), "{language:?}: {place} of {:?}", files.keys());
            }
            for (place, text) in &files {
                assert!(!text.contains("{{name}}") && !place.ends_with(".in"), "{place}");
            }
            assert!(files["README.md"].contains("dist/a-probe.wasm"));
        }
    }

    /// No drift: the contract and the SDK in a project are those of this workspace, whole.
    #[test]
    fn the_contract_and_the_sdk_are_those_of_this_workspace() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap();
        for (language, place, folder) in [
            (Language::Rust, "vendor/probehost/wit/v1/", "wit/v1"),
            (Language::Rust, "vendor/probehost/sdk/src/", "sdk/src"),
            (Language::Rust, "vendor/probehost/sdk/macros/src/", "sdk/macros/src"),
            (Language::Ts, "vendor/probehost/wit/", "wit/v1"),
            (Language::Python, "vendor/probehost/wit/", "wit/v1"),
        ] {
            let files = project(language);
            for entry in fs::read_dir(root.join(folder)).unwrap() {
                let entry = entry.unwrap();
                if entry.file_type().unwrap().is_file() {
                    let name = format!("{place}{}", entry.file_name().to_str().unwrap());
                    let text = fs::read_to_string(entry.path()).unwrap();
                    assert_eq!(files.get(&name), Some(&text), "{name}");
                }
            }
        }
    }

    /// The declarations hold every interface of the contract, and every function of each.
    #[test]
    fn the_declarations_are_of_the_whole_contract() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap();
        let declared = &project(Language::Ts)["vendor/probehost/contract.d.ts"];
        for entry in fs::read_dir(root.join("wit/v1")).unwrap() {
            let text = fs::read_to_string(entry.unwrap().path()).unwrap();
            for line in text.lines().map(str::trim) {
                if let Some(name) = line.strip_prefix("interface ") {
                    let module = format!("\"probehost:plugin/{}@", name.trim_end_matches(" {"));
                    assert!(declared.contains(&module), "{module}");
                }
                if let Some((name, _)) = line.split_once(": func(") {
                    let mut words = name.split('-');
                    let mut camel = words.next().unwrap().to_owned();
                    for word in words {
                        camel.push_str(&word[..1].to_uppercase());
                        camel.push_str(&word[1..]);
                    }
                    assert!(declared.contains(&format!("{camel}(")), "{name}");
                }
            }
        }
    }

    #[test]
    fn names_that_cannot_be() {
        for name in ["", "A", "a_b", "a--b", "1a", "a-", "../a", "http-head", "cache"] {
            assert!(usable(name, Language::Ts).is_err(), "{name}");
        }
        assert!(usable("match", Language::Rust).is_err() && usable("match", Language::Ts).is_ok());
        assert!(usable("a-probe-2", Language::Rust).is_ok());
    }
}
