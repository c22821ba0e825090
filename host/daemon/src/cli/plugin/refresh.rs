//! `probehost plugin refresh [DIR]`: brings the contract and the SDK in a project up to this binary.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::{fs, io};

use clap::Args;

use super::new::{Language, files};
use crate::cli::fail;

/// What a project has from probehost, and nothing else.
const FOLDER: &str = "vendor/probehost";

#[derive(Debug, Args)]
pub(crate) struct RefreshArgs {
    /// The project's folder.
    #[arg(value_name = "DIR", default_value = ".")]
    dir: PathBuf,
}

pub(crate) fn refresh(args: &RefreshArgs) -> ExitCode {
    let dir = args.dir.display();
    let Some(language) = language(&args.dir) else {
        return fail(&format!(
            "{dir} is no project of `probehost plugin new`: it has no {FOLDER} with a Cargo.toml, package.json or requirements.txt beside it; name its folder"
        ));
    };
    match replace(&args.dir, language) {
        Ok(changed) if changed.is_empty() => println!("{dir}: {FOLDER} is up to date"),
        Ok(changed) => {
            for line in changed {
                println!("{line}");
            }
            println!("Next: probehost plugin build {dir}, and look at what changed");
        }
        Err(error) => return fail(&format!("{dir}/{FOLDER} can't be written: {error}")),
    }
    ExitCode::SUCCESS
}

/// The language of a project.
fn language(dir: &Path) -> Option<Language> {
    if !dir.join(FOLDER).is_dir() {
        return None;
    }
    let own = [
        ("Cargo.toml", Language::Rust),
        ("package.json", Language::Ts),
        ("requirements.txt", Language::Python),
    ];
    own.into_iter().find(|(file, _)| dir.join(file).is_file()).map(|(_, language)| language)
}

/// Makes the folder what this binary has. Gives what changed, one line each.
fn replace(dir: &Path, language: Language) -> io::Result<Vec<String>> {
    let mut changed = Vec::new();
    let mut kept = BTreeSet::new();
    // No file of the folder has the plugin's name in it.
    for (place, text) in files("", language).filter(|(place, _)| place.starts_with(FOLDER)) {
        let path = dir.join(&place);
        kept.insert(path.clone());
        let word = match fs::read_to_string(&path) {
            Ok(before) if before == text => continue,
            Ok(_) => "changed",
            Err(error) if error.kind() == io::ErrorKind::NotFound => "added",
            Err(error) => return Err(error),
        };
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder)?;
        }
        fs::write(path, text)?;
        changed.push(format!("{word:<8} {place}"));
    }
    remove_others(&dir.join(FOLDER), dir, &kept, &mut changed)?;
    Ok(changed)
}

/// What an older version had and this one has not.
fn remove_others(
    folder: &Path,
    dir: &Path,
    kept: &BTreeSet<PathBuf>,
    changed: &mut Vec<String>,
) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let (path, kind) = (entry.path(), entry.file_type()?);
        // What building left there is no part of it.
        let is_built =
            ["target", "__pycache__", "node_modules"].map(Into::into).contains(&entry.file_name());
        if kind.is_dir() && !is_built {
            remove_others(&path, dir, kept, changed)?;
        } else if kind.is_file() && !kept.contains(&path) && entry.file_name() != "Cargo.lock" {
            fs::remove_file(&path)?;
            let place = path.strip_prefix(dir).unwrap_or(&path).display().to_string();
            changed.push(format!("{:<8} {place}", "removed"));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn project(language: Language, own: &str) -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        for (place, text) in files("a-probe", language) {
            let path = dir.path().join(place);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        assert!(dir.path().join(own).is_file());
        dir
    }

    /// The contract in a project follows the binary; the author's own files are left alone.
    #[test]
    fn a_project_follows_the_binary() {
        for (language, own) in [
            (Language::Rust, "Cargo.toml"),
            (Language::Ts, "package.json"),
            (Language::Python, "requirements.txt"),
        ] {
            let project = project(language, own);
            let dir = project.path();
            assert_eq!(super::language(dir), Some(language));
            assert_eq!(replace(dir, language).unwrap(), [""; 0], "{language:?}");
            let wit = files("", language)
                .map(|(place, _)| place)
                .find(|place| place.ends_with("types.wit"))
                .unwrap();
            fs::write(dir.join(&wit), "older").unwrap();
            fs::write(dir.join(FOLDER).join("gone.txt"), "older").unwrap();
            fs::write(dir.join(own), "mine").unwrap();
            let changed = replace(dir, language).unwrap();
            assert_eq!(changed, [format!("changed  {wit}"), format!("removed  {FOLDER}/gone.txt")]);
            assert_eq!(replace(dir, language).unwrap(), [""; 0]);
            assert_eq!(fs::read_to_string(dir.join(own)).unwrap(), "mine");
        }
        assert_eq!(language(tempfile::tempdir().unwrap().path()), None);
    }
}
